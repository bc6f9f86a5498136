"""The configuration file: options that a user sets once instead of with each command.

model.py says what can be configured, place.py where the file is; loading.py and reading.py read it, writing.py writes
it. A front end asks for a Config and never for the file; without one everything has its default. plugin_files.py loads
dissectors from files that a user names.
"""

from analyzer.config.loading import find, load
from analyzer.config.model import ColorRule, Config

__all__ = ["ColorRule", "Config", "find", "load"]
