"""`wireanalyze completion SHELL`: the script that makes a shell complete commands and options."""

from __future__ import annotations

import click

from analyzer.cli.values import OneOf


@click.command("completion")
@click.argument("shell", type=OneOf(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    bash:  eval "$(wireanalyze completion bash)"        in ~/.bashrc
    zsh:   eval "$(wireanalyze completion zsh)"         in ~/.zshrc
    fish:  wireanalyze completion fish | source         in ~/.config/fish/config.fish
    """
    from analyzer.cli.manual import build_completion  # it imports the commands by name, so not at the top

    click.echo(build_completion(shell))
