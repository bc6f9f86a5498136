"""Answers whose requests are not known: weighing prices layouts for their bytes, guess.py decides."""
