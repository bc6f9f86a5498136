"""The configuration file: options that a user sets once instead of with each command.

model.py defines the options. place.py finds the file, loading.py and reading.py read it, and writing.py writes it. A
front end gets a Config and never opens the file; without a file, all options have their defaults. plugin_files.py loads
dissectors from files that a user names.
"""

from analyzer.config.loading import find, load
from analyzer.config.model import ColorRule, Config

__all__ = ["ColorRule", "Config", "find", "load"]
