"""Configuration of the running command: reads the configuration file once, when it is first needed."""

from __future__ import annotations

import os

import click

from analyzer.config import Config, find, load

_PATH, _CONFIG, _NO_NAMES, _VERBOSE = (f"{__name__}.{name}" for name in ("path", "config", "no_names", "verbose"))


def tell_path(context: click.Context, _: click.Parameter, path: str | None) -> None:
    """Stores the path of the configuration file that `--config` names."""
    if path is not None:
        context.meta[_PATH] = path


def tell_no_names(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Stores that `-n` was given: addresses and ports are shown without names."""
    if wanted:
        context.meta[_NO_NAMES] = True


def tell_verbose(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Stores that `-v` was given: similar findings are printed one by one."""
    if wanted:
        context.meta[_VERBOSE] = True


def is_verbose() -> bool:
    """Returns whether to print every finding, including similar ones."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_VERBOSE, False))


def config_path() -> tuple[str, bool]:
    """Returns the configuration file of the running command, and whether the user named it."""
    context = click.get_current_context(silent=True)
    return find(os.environ, None if context is None else context.meta.get(_PATH))


def settings() -> Config:
    """Returns the configuration of the running command. Raises UserError if the file is wrong."""
    context = click.get_current_context(silent=True)
    known = None if context is None else context.meta.get(_CONFIG)
    if isinstance(known, Config):
        return known
    path, named = config_path()
    read = load(path, named=named)
    if context is not None:
        context.meta[_CONFIG] = read
    return read


def with_names() -> bool:
    """Returns whether addresses get names: true unless -n or the configuration says otherwise."""
    context = click.get_current_context(silent=True)
    return settings().names and not (context is not None and context.meta.get(_NO_NAMES, False))
