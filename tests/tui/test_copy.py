"""Copying: what each kind gives, where it goes, and that no secret is among it."""

from __future__ import annotations

import base64
import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from analyzer.cli.list import command as list_command
from analyzer.cli.show import command as show_command
from analyzer.decode.bodies import decode_tree
from analyzer.decode.content import read_message
from analyzer.decode.jsonable import Limits
from analyzer.decode.rows import RowReader
from analyzer.query.filter import compile_filter
from analyzer.session import Session
from dissectors.field import Field
from dissectors.wire.secret import Secret
from tests.tui.driving import GOLDEN, KAFKA, Drive, drive, driven
from tui.commands import copying
from tui.model.copies import COPY_FORMATS, CopySubject, list_copy_formats
from tui.model.detail import read_detail
from tui.screens.chooser import Chooser

FETCH = 47
SASL = GOLDEN / "k24_sasl_v0.pcap.zst"


@pytest.fixture(autouse=True)
def copied(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "wireanalyze" / "copied.txt"


def subject(session: Session, row: int, *names: str, limits: Limits | None = None) -> CopySubject:
    """A row, and a field of it by the names on the way."""
    limits = limits or Limits()
    detail = read_detail(session, row, limits)
    path: list[Field] = []
    nodes = detail.tree.fields
    for name in names:
        path.append(next(node for node in nodes if node.spec.name == name))
        nodes = path[-1].children
    return CopySubject(session, limits, detail, path)


def made(found: CopySubject) -> dict[str, str | None]:
    return {name: COPY_FORMATS[name].make(found) for name in list_copy_formats(found)}


def test_of_a_field() -> None:
    with Session([KAFKA]).load() as session:
        client = made(subject(session, FETCH - 1, "header", "clientId"))
        assert client["value"] == "RangeAssignor-0"
        assert client["hex"] == "000f" + b"RangeAssignor-0".hex()
        assert client["dump"] is not None
        assert client["dump"].startswith(
            "0000000c  00 0f 52 61 6e 67 65 41  73 73 69 67 6e 6f 72 2d  |..RangeAssignor-|\n"
        )
        assert client["path"] == "kafka.client_id"
        assert client["filter"] == 'client == "RangeAssignor-0"'
        assert json.loads(client["json"] or "")["value"] == "RangeAssignor-0"
        assert "text" not in client
        topic = made(subject(session, FETCH - 1, "header", "requestApiKey"))
        assert (topic["value"], topic["name"], topic["filter"]) == ("1", "Fetch", "kafka.Fetch")
        whole = subject(session, FETCH - 1, "body")
        assert "value" not in list_copy_formats(whole)
        assert "  [0]  struct" in (made(whole)["field"] or "")


def test_of_a_message_it_is_what_the_commands_print() -> None:
    with Session([KAFKA]).load() as session:
        found = made(subject(session, FETCH))
    number = FETCH + 1
    requested = [str(KAFKA), "-Y", f"number == {number}"]
    listed = CliRunner().invoke(list_command, requested, standalone_mode=False).stdout
    assert listed.splitlines()[1] == found["row"]
    line = (
        CliRunner().invoke(list_command, [*requested, "--format", "ndjson", "--fields"], standalone_mode=False).stdout
    )
    assert json.loads(line) == json.loads(found["object"] or "")
    shown = CliRunner().invoke(show_command, [str(KAFKA), str(number)], standalone_mode=False).stdout
    assert shown.rstrip("\n") == found["tree"]
    assert set(found) == {"hex", "dump", "filter", "row", "object", "tree", "message", "command"}


@pytest.mark.parametrize("row", [0, 1, FETCH - 1, FETCH, 120, 333])
def test_the_command_decodes_to_the_same_tree(row: int) -> None:
    from analyzer.cli.decode import command

    with Session([KAFKA]).load() as session:
        found = subject(session, row)
        text = COPY_FORMATS["command"].make(found) or ""
        program, name, *arguments = text.split()
        assert (program, name) == ("wireanalyze", "decode")
        output = CliRunner().invoke(command, arguments, standalone_mode=False).stdout
        names = [node.spec.name for node in found.detail.tree.fields]
        assert all(re.search(rf"^\d+\+\d+ +{name}\b", output, re.MULTILINE) for name in names)
        assert "undecoded" not in output
        assert COPY_FORMATS["message"].make(found) == read_message(session, row).hex()


def forms(secret: bytes) -> list[str]:
    spelled = [secret.hex(), secret.hex(" "), secret.hex(":"), ", ".join(f"0x{byte:02x}" for byte in secret)]
    return [*spelled, base64.b64encode(secret).decode(), secret.decode("latin1")]


def secrets(nodes: list[Field]) -> Iterator[bytes]:
    for node in nodes:
        if isinstance(node.value, Secret) and len(node.value) > 4:
            content = node.value.reveal()
            yield content.encode() if isinstance(content, str) else content
        yield from secrets(node.children)


def paths_of(nodes: list[Field], before: tuple[Field, ...] = ()) -> Iterator[tuple[Field, ...]]:
    yield ()
    for node in nodes:
        yield (*before, node)
        yield from (path for path in paths_of(node.children, (*before, node)) if path)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["kafka/k24_sasl_v0", "kafka/k4_sasl_java", "pulsar/auth4_cpp", "zookeeper/sasl_395"])
def test_no_secret_is_in_any_kind(name: str) -> None:
    """Passwords, tokens and proofs, at each field of their messages, in each kind; with --show-secrets they are."""
    with Session([GOLDEN.parent / f"{name}.pcap.zst"]).load() as session:
        rows = [row for row in range(len(session.rows)) if list(secrets(decode_tree(session, row).fields))]
        assert rows
        shown = 0
        for row in rows[:4]:
            for limits in (Limits(), Limits(show_secrets=True)):
                detail = read_detail(session, row, limits)
                hidden = [form for secret in secrets(detail.tree.fields) for form in forms(secret)]
                for path in paths_of(detail.tree.fields):
                    found = CopySubject(session, limits, detail, path)
                    for kind in list_copy_formats(found):
                        text = (COPY_FORMATS[kind].make(found) or "").replace("\n", "")
                        leaked = [form for form in hidden if form in text]
                        assert limits.show_secrets or not leaked, (kind, [node.spec.name for node in path])
                        shown += bool(leaked)
        assert shown > 3


def test_masked_bytes_keep_their_places() -> None:
    with Session([SASL]).load() as session:
        row = next(row for row in range(len(session.rows)) if read_detail(session, row, Limits()).masks)
        found = subject(session, row)
        whole = COPY_FORMATS["message"].make(found) or ""
        assert len(whole) == 2 * len(read_message(session, row))
        assert "2a2a2a" in whole
        assert "**" in (COPY_FORMATS["hex"].make(found) or "")


async def choose(found: Drive, *words: str) -> None:
    """Copies by the words of a kind."""
    found.main.show_message("")  # what was said of the copy before
    await found.press("y")
    assert isinstance(found.window.screen, Chooser)
    await found.press(*" ".join(words), "enter")
    await found.until(lambda: re.search("(?<!has been )copied|too many", found.status()) is not None)


@driven(size=(200, 40))
async def test_it_goes_to_the_clipboard_and_to_a_file_of_the_users_own(found: Drive, copied: Path) -> None:
    await found.press("ctrl+g", *"47", "enter", "enter", "down", "down", "down")
    written: list[str] = []
    driver = found.window._driver
    assert driver is not None
    driver.write = written.append  # type: ignore[method-assign]
    await found.press("down", "right", "down")
    await found.press("y")
    await found.press(*"the value", "enter")
    await found.until(lambda: "copied" in found.status())
    text = copied.read_text()
    assert f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\a" in written
    assert stat.S_IMODE(os.stat(copied).st_mode) == 0o600
    assert f"copied the value, {len(text)} bytes, to the clipboard and {copied}" in found.status()


@driven()
async def test_y_repeats_the_last_kind(found: Drive, copied: Path) -> None:
    await found.press("Y")
    assert found.status() == "nothing has been copied yet: press y to choose what to copy"
    await choose(found, "filter")
    assert copied.read_text() == "number == 1"
    await found.press("down", "Y")
    await found.until(lambda: copied.read_text() == "number == 2")
    await found.press("up", "up", "y")
    assert found.status() == "no message is selected"


@driven()
async def test_in_the_tree_it_is_of_the_field_and_the_filter_holds_for_the_row(found: Drive, copied: Path) -> None:
    await found.press("ctrl+g", *"47", "enter", "enter", "=", "G", "up", "up")
    await choose(found, "filter")
    text = copied.read_text()
    session = found.main.session
    assert FETCH - 1 in compile_filter(text).select_rows(RowReader(session), range(len(session.rows)))
    assert text.startswith("kafka.Fetch.request")


def test_what_is_longer_than_terminals_take_goes_to_the_file(monkeypatch: pytest.MonkeyPatch, copied: Path) -> None:
    monkeypatch.setattr(copying, "LONGEST", 10)

    async def test(found: Drive) -> None:
        await choose(found, "as a dump")
        assert "too long for a terminal's clipboard" in found.status()
        assert found.window.clipboard == ""
        assert copied.read_text().startswith("00000000  00 00 00 36")
        monkeypatch.setattr(copying, "LARGEST", 20)
        await choose(found, "as a dump")
        assert "are too many to copy. Press w to export them." in found.status()

    drive(test, size=(200, 40))


def test_without_a_file_the_clipboard_still_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", os.devnull)

    async def test(found: Drive) -> None:
        await choose(found, "filter")
        assert found.window.clipboard == "number == 1"
        assert "cannot be written" in found.status()

    drive(test, size=(200, 40))


@driven(size=(200, 40))
async def test_what_is_no_text_is_reported(found: Drive, copied: Path) -> None:
    for text, size, output in (("a\x1b[31mb\x9bc", 10, "2 control characters as they are"), ("\ud800!", 7, "")):
        copying.copy_text(found.main, "it", lambda text=text: text)  # type: ignore[misc]
        await found.until(lambda size=size: f"copied it, {size} bytes" in found.status())
        assert output in found.status()
    assert copied.read_bytes() == b"\\ud800!"
