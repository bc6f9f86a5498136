"""Kafka's layouts as text: all versions of an API in one table, or one version as its protocol guide writes it.

Theory. The tables that decode a message also describe it. entries.py makes rows of a table into entries, for all
versions or for one, and writes these as lines and as JSON; pages.py lists the pages.
"""

from dissectors.kafka.guide.pages import GUIDE

__all__ = ["GUIDE"]
