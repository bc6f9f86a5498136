"""The configuration file: options that a user sets once instead of with each command.

model.py defines the options, reading.py parses the file, and writing.py writes it. A front end gets a Config and never
opens the file; without a file, all options have their defaults. plugin_files.py loads dissectors from files that a user
names.

The module that parses TOML is imported only if there is a file: most users have none.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from analyzer.config.model import ColorRule, Config
from analyzer.errors import UserError

__all__ = ["ColorRule", "Config", "find", "load"]


LARGEST = 1 << 20
"""Maximum size in bytes; a larger file is not a configuration file."""


def load(path: str | None, *, named: bool = False) -> Config:
    """Returns the configuration in a file; the defaults for None, and if there is no file. Raises UserError.

    named: a user named this file, so it must exist.
    """
    data = None if path is None else _bytes(path, named)
    if path is None or data is None:
        return Config()
    if not data:
        return Config(path)
    from analyzer.config.reading import read_config  # too slow for every start

    return read_config(path, data)


def _bytes(path: str, named: bool) -> bytes | None:
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        if named:
            raise UserError(f"There is no configuration file {path}: {error.strerror}.") from None
        return None
    except PermissionError as error:
        if named or os.path.lexists(path):
            raise _unreadable(path, error.strerror) from None
        return None  # the home of another user, as under sudo; whether the file exists is unknown
    except (OSError, ValueError) as error:
        raise _unreadable(path, error.strerror if isinstance(error, OSError) else str(error)) from None
    if len(data) > LARGEST:
        raise UserError(f"{path} is too large for a configuration file: it has more than {LARGEST:,} bytes.")
    return data


def _unreadable(path: str, reason: str | None) -> UserError:
    return UserError(f"Cannot read the configuration file {path}: {reason}. Give another one with --config.")


VARIABLE = "WIREANALYZE_CONFIG"
FOLDER, NAME = "wireanalyze", "config.toml"


def find(environment: Mapping[str, str], path: str | None = None) -> tuple[str, bool]:
    """Returns the file's path, and whether the user named it, so that it must exist.

    path: from the command line; it precedes the environment's VARIABLE, which precedes the usual place. A relative
    XDG_CONFIG_HOME is ignored, as the specification requires.
    """
    named = path or environment.get(VARIABLE)
    if named:
        return named, True
    home = environment.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(home):
        home = os.path.join(environment.get("HOME") or os.path.expanduser("~"), ".config")
    return os.path.join(home, FOLDER, NAME), False
