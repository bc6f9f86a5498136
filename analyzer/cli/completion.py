"""`wireanalyze completion SHELL`: the script that makes a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from analyzer.cli.values import OneOf
from analyzer.render.bug_report import PROGRAM


@click.command("completion")
@click.argument("shell", type=OneOf(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    bash:  eval "$(wireanalyze completion bash)"        in ~/.bashrc
    zsh:   eval "$(wireanalyze completion zsh)"         in ~/.zshrc
    fish:  wireanalyze completion fish | source         in ~/.config/fish/config.fish
    """
    from analyzer.cli.program import COMPLETE_VARIABLE, program  # it imports the commands by name, so not at the top

    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"click knows no completion for {shell}")
    click.echo(found(program, {}, PROGRAM, COMPLETE_VARIABLE).source())
