"""The documents are true: examples print what is shown, links lead somewhere, names are names of the code."""

from __future__ import annotations

import json
import re
import shlex
from functools import cache
from importlib import import_module
from itertools import takewhile
from pathlib import Path

import click
import pytest

from analyzer.cli.program import COMMANDS
from analyzer.config import load
from analyzer.query.filter import compile_filter
from benchmarks.screen import Screen
from tests.documents import (
    DOCUMENTS,
    PAGES,
    ROOT,
    anchors,
    matches,
    name_of,
    read_code_spans,
    read_commands,
    read_examples,
    read_links,
    run_example,
)

PATH = (ROOT / "docs" / "internals" / "path-of-a-byte.md").read_text()
FILTERS = (ROOT / "docs" / "reference" / "filters.md").read_text()
TABLE = re.findall(r"^\| `([^`]+)` \| [^|]+\|$", FILTERS.partition("## Fields")[0], re.MULTILINE)
SHOWN = re.findall(r"-Y '([^']+)'", "".join(path.read_text() for path in DOCUMENTS))
WITH_EXAMPLES = [path for path in DOCUMENTS if list(read_examples(path))]


def test_there_are_examples() -> None:
    assert len(TABLE) > 20
    assert len(SHOWN) > 10
    assert sum(len(list(read_examples(path))) for path in WITH_EXAMPLES) > 5


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=name_of)
def test_examples_print_what_is_shown(path: Path, tmp_path: Path) -> None:
    for command, shown in read_examples(path):
        printed = run_example(command, tmp_path)
        assert matches(printed, shown), f"$ {command}\n{printed}"


@cache
def command_options(name: str) -> set[str]:
    """All options of a command."""
    command: click.Command = import_module(f"analyzer.cli.{name}").command
    return {option for each in command.params for option in (*each.opts, *each.secondary_opts)} | {"-h", "--help"}


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_commands_have_the_options_that_are_shown(path: Path) -> None:
    for line in read_commands(path):
        words = list(takewhile(lambda word: word not in ("|", ">", "2>"), shlex.split(line)))[1:]
        if words[0] not in COMMANDS:
            assert words[0].startswith("-") or "." in words[0] or words[0] == "FILE", line
            continue
        options = [word.partition("=")[0] for word in words[1:] if re.match(r"--?[a-zA-Z]", word)]
        assert [option for option in options if option not in command_options(words[0])] == [], line


@pytest.mark.parametrize("text", sorted({*TABLE, *SHOWN}))
def test_a_filter_in_the_documents_is_one(text: str) -> None:
    assert compile_filter(text.replace("\\|", "|"), {"slow": "latency > 100ms"}).fields


def test_the_configuration_in_the_documents_is_one(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "reference" / "configuration.md").read_text()
    example, _ = re.findall(r"^```toml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    path = tmp_path / "config.toml"
    path.write_text(example)

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


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(path: Path) -> None:
    for link in read_links(path):
        target, _, anchor = link.removeprefix("https://github.com/wireanalyze/wireanalyze/blob/main/").partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        page = path if not target else (ROOT if link.startswith("https://") else path.parent) / target
        assert page.exists(), link
        assert not anchor or anchor in anchors(page), link


CODE = "".join(
    path.read_text()
    for folder in ("analyzer", "dissectors", "tui", "wireanalyze", "tests", "benchmarks", "docs")
    for pattern in ("*.py", "*.json", "*.tcss")
    for path in (ROOT / folder).rglob(pattern)
    if "golden" not in path.parts
)
WORDS = set(re.findall(r"\w+", CODE)) | set(re.findall(r"[\w-]+", (ROOT / "pyproject.toml").read_text()))
OF_THE_CODE = [
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "docs" / "how-to" / "dissector.md",
    *(path for path in PAGES if "internals" in path.parts),
]


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_paths_that_are_named_exist(path: Path) -> None:
    text = path.read_text() if path.name != "CHANGELOG.md" else ""
    named = re.findall(r"(?<![\w./-])((?:analyzer|dissectors|tui|tests|benchmarks|captures|docs)/[\w./*-]*\w)", text)
    removed = [each for each in named if not re.search("PROTOCOL|NAME|dns", each) and not list(ROOT.glob(each))]
    assert removed == []


@pytest.mark.parametrize("path", OF_THE_CODE, ids=name_of)
def test_names_that_are_named_exist(path: Path) -> None:
    """Each word of an identifier in backticks is a word of the code."""
    spans = [each for each in read_code_spans(path) if re.fullmatch(r"[A-Za-z_][\w.]*(\(\))?", each)]
    removed = [each for each in spans if not set(re.findall(r"\w+", each)) <= WORDS]
    assert removed == []


def test_pages_are_short_enough_to_be_read() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120
    assert (ROOT / "ARCHITECTURE.md").stat().st_size <= 10 * 1024


def test_the_glossary_is_small() -> None:
    terms = re.findall(r"^\| \*\*([^*]+)\*\* \|", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)
    assert 30 <= len(terms) <= 60
    assert terms == sorted(terms, key=str.lower)


def test_the_site_lists_every_page() -> None:
    listed = re.findall(r":? ([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == [path.relative_to(ROOT / "docs").as_posix() for path in PAGES]


OLD_WORDS = re.compile(
    r"\b(twins?|holes?|stencils?|shorts|lessons?|teachers?|roads?|rooms?|house|peace|skim|sieve|curtain|bulk|portions?)\b",
    re.IGNORECASE,
)


@pytest.mark.parametrize("path", [each for each in DOCUMENTS if each.name != "CHANGELOG.md"], ids=name_of)
def test_documents_use_the_words_of_the_glossary(path: Path) -> None:
    """Metaphors that the project once used do not come back."""
    prose = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert OLD_WORDS.findall(re.sub(r"`[^`\n]+`", "", prose)) == []


def test_the_recording_shows_the_pages_of_the_terminal_ui() -> None:
    header, *lines = (ROOT / "docs" / "open.cast").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    screen = Screen(json.loads(header)["width"], json.loads(header)["height"])
    titles = []
    for _, _, text in events:
        screen.feed(text.encode())
        titles.append(screen.line(0).strip())
    assert [time for time, _, _ in events] == sorted(time for time, _, _ in events)
    assert all(any(title.startswith(page) for title in titles) for page in ("Findings", "Graphs", "Service map"))
