"""Pulsar's commands, messages and enums as text and JSON, and how frames carry them.

Theory. The tables that decode a frame also describe it: layouts.py makes rows of a table into lines and JSON, frames.py
what stands around and behind a command, pages.py knows which pages there are. guide.json has what no table needs for
decoding.
"""

from dissectors.pulsar.guide.pages import GUIDE

__all__ = ["GUIDE"]
