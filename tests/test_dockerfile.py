"""The image for Kubernetes: what a linter would say of its file, and that it fits this project."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "Dockerfile").read_text()
KNOWN = {"ARG", "FROM", "RUN", "COPY", "ENV", "WORKDIR", "USER", "ENTRYPOINT"}


def read_instructions() -> Iterator[tuple[str, str]]:
    """Each instruction and its arguments, with continued lines joined."""
    lines = [line for line in TEXT.splitlines() if line.strip() and not line.startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        name, _, rest = line.partition(" ")
        yield name, " ".join(rest.split())


INSTRUCTIONS = list(read_instructions())


def arguments(name: str) -> list[str]:
    return [rest for each, rest in INSTRUCTIONS if each == name]


def test_what_a_linter_would_say() -> None:
    assert {name for name, _ in INSTRUCTIONS} <= KNOWN
    assert all(re.fullmatch(r"[\w./-]+:[\w.${}-]+( AS \w+)?", each) for each in arguments("FROM"))
    assert ":latest" not in TEXT
    for command in arguments("RUN"):
        if "apt-get install" in command:
            assert "apt-get update && " in command
            assert "-y --no-install-recommends" in command
            assert command.endswith("rm -rf /var/lib/apt/lists/*")
        assert "pip install" not in command or "--no-cache-dir" in command
        assert "sudo" not in command
    assert all(each.startswith("/") for each in arguments("WORKDIR"))
    assert arguments("USER")[-1] not in ("0", "root")
    assert re.fullmatch(r'\["[^"]+"\]', arguments("ENTRYPOINT")[0])


def test_it_fits_the_project() -> None:
    sources = [each.split() for each in arguments("COPY")]
    stages = {each.split(" AS ")[1] for each in arguments("FROM") if " AS " in each}
    for source in sources:
        if source[0].startswith("--from="):
            assert source[0].removeprefix("--from=") in stages
        else:
            assert all((ROOT / name).exists() for name in source[:-1])
    copied = {name for source in sources for name in source[:-1]}
    assert copied >= {"dissectors", "analyzer", "tui", "wireanalyze"}
    lock = (ROOT / "requirements" / "pipeline.lock").read_text()
    assert f"pyspark=={arguments('ARG')[0].partition('=')[2]} " in lock
