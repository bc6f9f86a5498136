"""Loads dissectors from a Python file, for the option --plugin and for programs."""

from __future__ import annotations

import inspect
import os
import sys
from importlib.util import module_from_spec, spec_from_file_location
from os import PathLike
from types import ModuleType

from analyzer.errors import UserError
from dissectors import registry
from dissectors.api import Dissector

_LOADED: list[str] = []


def list_plugin_files() -> tuple[str, ...]:
    """Returns the paths of the files that were loaded."""
    return tuple(_LOADED)


def load_plugin_file(path: str | PathLike[str]) -> tuple[Dissector, ...]:
    """Runs a Python file and registers the dissectors that it defines.

    Raises UserError if the file cannot be read, fails, defines no dissector, or defines one whose name is taken.
    """
    name = os.fspath(path)
    module = _run_file(name)
    kinds = [
        kind
        for kind in vars(module).values()
        if inspect.isclass(kind) and issubclass(kind, Dissector) and kind.__module__ == module.__name__
    ]
    found = []
    for kind in kinds:
        if not inspect.isabstract(kind):
            try:
                found.append(registry.register(kind))
            except Exception as error:  # unknown code may fail in any way
                raise UserError(f"{name}: The dissector {kind.__name__} cannot be used: {_say(error)}.") from error
    if not found:
        raise UserError(f"{name} defines no dissector. It needs a class derived from dissectors.api.Dissector.")
    _LOADED.append(os.path.abspath(name))
    return tuple(found)


def _run_file(name: str) -> ModuleType:
    """Returns the module of a file; it is in sys.modules, because pickled states need it."""
    title = f"wireanalyze_plugin_{os.path.splitext(os.path.basename(name))[0]}"
    spec = spec_from_file_location(title, name) if os.path.isfile(name) else None
    if spec is None or spec.loader is None:
        reason = "It is not a Python file (.py)" if os.path.exists(name) else "No such file or directory"
        raise UserError(f"Cannot load the plug-in {name}: {reason}. Give a file such as my_protocol.py.")
    module = sys.modules[title] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # as above
        del sys.modules[title]
        raise UserError(f"Cannot load the plug-in {name}: {type(error).__name__}: {_say(error)}.") from error
    return module


def _say(error: Exception) -> str:
    return (" ".join(str(error).split()) or type(error).__name__).rstrip(".")
