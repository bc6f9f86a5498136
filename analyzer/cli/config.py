"""`wireanalyze config`: the path of the configuration file, and the effective settings."""

from __future__ import annotations

import os

import click

from analyzer.cli.errors import sentence
from analyzer.cli.settings import config_path, settings
from analyzer.query.presets import load_presets


@click.group("config")
def command() -> None:
    """Print the configuration or the path of its file.

    Examples:

    \b
      wireanalyze config show
      wireanalyze config path

    The file is optional. `wireanalyze --config FILE COMMAND` reads another file.
    """


@command.command("path")
def path() -> None:
    """Print the path of the configuration file, whether the file exists or not."""
    found, _ = config_path()
    click.echo(found)
    if not os.path.exists(found):
        click.echo(sentence("There is no such file, so all settings have their defaults."), err=True)


@command.command("show")
def show() -> None:
    """Print the effective configuration as TOML, and where each part of it comes from."""
    from analyzer.config.writing import format_config

    click.echo(format_config(settings(), load_presets()), nl=False)
