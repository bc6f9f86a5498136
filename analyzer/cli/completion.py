"""`wireanalyze completion SHELL`: the script that makes a shell complete commands and options."""

from __future__ import annotations

import click

from analyzer.cli.parameters import OneOf, SectionedCommand


@click.command("completion", cls=SectionedCommand)
@click.argument("shell", type=OneOf(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a script that completes commands in your shell.

    Examples:

    \b
      eval "$(wireanalyze completion bash)"
      eval "$(wireanalyze completion zsh)"
      wireanalyze completion fish | source

    Add the line of your shell to the file that it reads when it starts: ~/.bashrc, ~/.zshrc, or
    ~/.config/fish/config.fish.
    """
    from analyzer.cli.manual import build_completion  # it imports all commands by name

    click.echo(build_completion(shell))
