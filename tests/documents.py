"""What the Markdown documents hold: examples with their output, commands, links, and names of the code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
DOCUMENTS = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")] + PAGES
ELIDED = "..."
PATIENCE = 120


class Example(NamedTuple):
    """A command of a `console` block, and the lines that the document shows below it."""

    command: str
    shown: list[str]


def name_of(path: Path) -> str:
    """The path from the root of the project, for the id of a test."""
    return path.relative_to(ROOT).as_posix()


def read_blocks(path: Path, language: str) -> list[str]:
    """The fenced blocks of a language in a document."""
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE)


def read_examples(path: Path) -> Iterator[Example]:
    """The commands of all `console` blocks. A line that begins with `# ` is a comment, one with `> ` goes on."""
    for block in read_blocks(path, "console"):
        found: Example | None = None
        for line in block.splitlines():
            if line.startswith(("$ ", "# ")):
                if found:
                    yield found
                found = Example(line[2:], []) if line.startswith("$ ") else None
            elif found and line.startswith("> ") and not found.shown:
                found = Example(f"{found.command.removesuffix(chr(92))}{line[2:]}", [])
            elif found:
                found.shown.append(line)
        if found:
            yield found


def matches(printed: str, shown: list[str]) -> bool:
    """Whether a document shows what was printed. `...` alone is any lines, within a line any text."""
    while shown and not shown[-1]:
        shown = shown[:-1]
    parts = [
        r"(?:[^\n]*\n)*?" if line == ELIDED else re.escape(line).replace(re.escape(ELIDED), "[^\n]*") + "[ ]*\n"
        for line in shown
    ]
    whole = printed if not printed or printed.endswith("\n") else f"{printed}\n"
    return re.fullmatch("".join(parts), whole) is not None


def run_example(command: str, folder: Path) -> str:
    """What a command prints where captures/ and tests/ are and `wireanalyze` is this checkout's program."""
    tools = folder / ".tools"
    if not tools.is_dir():
        tools.mkdir()
        (folder / "captures").symlink_to(ROOT / "captures")
        (folder / "tests").symlink_to(ROOT / "tests")
        program = tools / "wireanalyze"
        program.write_text(f"#!{sys.executable}\nimport sys\nfrom analyzer.cli import main\nsys.exit(main())\n")
        program.chmod(0o755)
    remaining = {
        key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR", "WIREANALYZE_CONFIG")
    }
    places = {"PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(tools)}
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=remaining | places | {"LANG": "C.UTF-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    return done.stdout


def read_commands(path: Path) -> Iterator[str]:
    """Each command line of wireanalyze in the blocks of a document, up to a pipe."""
    for block in re.findall(r"^```(?:console|sh|shell)\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE):
        for line in re.sub(r"\\\n(?:> )?\s*", "", block).splitlines():
            text = line.removeprefix("$ ").partition(" #")[0]
            for inner, outer in re.findall(r"\$\((wireanalyze [^)]*)\)|(?:^|\s)(wireanalyze .*)", text):
                if not line.startswith("# "):
                    yield inner or outer


def read_code_spans(path: Path) -> list[str]:
    """Texts between single backticks, outside of fenced blocks."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"`([^`\n]+)`", text)


def read_links(path: Path) -> list[str]:
    """Targets of links and pictures, outside of fenced blocks."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]+`", "", text))


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as its site and GitHub make them."""
    prose = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}
