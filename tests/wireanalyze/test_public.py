"""What is public does not change by accident: names and signatures are those of public.txt.

A name that goes, or an argument that changes, is a breaking change. To write the file anew: python -m
tests.wireanalyze.test_public, and a line in CHANGELOG.md.
"""

from __future__ import annotations

from pathlib import Path

from docs.python_reference import describe_public

FILE = Path(__file__).with_name("public.txt")


def list_public() -> str:
    """A line for each public name, and for each member of a class."""
    lines = []
    for title, _, members in describe_public():
        lines += [title, *(f"    {member}" for member, _ in members)]
    return "\n".join(lines) + "\n"


def test_public_names_and_signatures_are_as_before() -> None:
    assert list_public() == FILE.read_text()


if __name__ == "__main__":
    FILE.write_text(list_public())
