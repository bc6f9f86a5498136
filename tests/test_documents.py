"""What the documents show can be typed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from analyzer.config import load
from analyzer.query.filter import compiled

ROOT = Path(__file__).parents[1]
PATH = (ROOT / "docs" / "internals" / "path-of-a-byte.md").read_text()
FILTERS = (ROOT / "docs" / "reference" / "filters.md").read_text()
EXAMPLES = re.findall(r"^\| `([^`]+)` \| [^|]+\|$", FILTERS.partition("## Fields")[0], re.MULTILINE)
SHOWN = re.findall(
    r"-Y '([^']+)'",
    "".join(
        (ROOT / name).read_text() for name in ("README.md", "docs/reference/filters.md", "docs/reference/output.md")
    ),
)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) > 20
    assert len(SHOWN) > 3


@pytest.mark.parametrize("text", sorted({*EXAMPLES, *SHOWN}))
def test_a_filter_in_the_documents_is_one(text: str) -> None:
    assert compiled(text.replace("\\|", "|"), {"slow": "latency > 100ms"}).fields


def test_the_configuration_in_the_documents_is_one(tmp_path: Path) -> None:
    lines = FILTERS.partition("## Configuration")[2].partition("## Unlike")[0].splitlines()
    path = tmp_path / "config.toml"
    path.write_text("\n".join(line[4:] for line in lines if line.startswith("    ")))

    config = load(str(path))

    assert config.filters == {"slow": "latency > 100ms"}
    assert config.columns["mine"][-1] == "kafka.topic"
    assert config.time_format == "relative"
    assert not config.names
    assert [rule.name for rule in config.own_colors] == ["slow"]


def test_the_path_of_a_byte_is_five_files_that_hold_it() -> None:
    """Each file is there, and has what is said to be in it."""
    steps = re.findall(r"^[0-9]\. \*\*([\w/.]+)\*\*:(.*?)(?=^[0-9]\. |\Z)", PATH, re.MULTILINE | re.DOTALL)
    assert len(steps) == 5
    for name, text in steps:
        source = "".join((ROOT / each).read_text() for each in (name, *re.findall(r"\((\w+/[\w/.]+\.py)\)", text)))
        own = re.findall(r"`(\w+)`", text.partition("From there on")[0])
        assert own
        assert [each for each in own if not re.search(rf"\b{each}\b", source)] == [], name
