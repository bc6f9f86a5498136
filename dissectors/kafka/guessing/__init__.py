"""Answers whose requests are not known: weighing.py prices layouts for their bytes, guess.py decides."""
