"""Defects of dissectors cost a line; our own are shown, and end the program if it cannot go on or the user says so."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Coroutine, Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest
from textual.message_pump import MessagePump

from dissectors.field import FieldSpec
from dissectors.kafka.dissector import Kafka
from tests.tui.driving import Drive, drive, driven
from tui import __path__, app, crash_guard
from tui.commands import navigation
from tui.crash_guard import TOO_MANY, CrashGuard, DefectCounter
from tui.screens.bug import BugScreen
from tui.screens.chooser import Chooser
from tui.screens.detail_view import DetailView
from tui.screens.help import HelpScreen
from tui.screens.input_line import TextLine
from tui.screens.main import MainScreen
from tui.widgets.detail_panes import HexPane


def test_a_dissector_that_fails_is_shown_as_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("topic")

    monkeypatch.delenv("WIREANALYZE_DEBUG", raising=False)

    async def test(found: Drive) -> None:
        monkeypatch.setattr(Kafka, "tree", broken)  # not before: recognising a protocol reads values too
        monkeypatch.setattr(Kafka, "values", broken)
        await found.press("v", "G")
        assert "error bug: the dissector kafka failed" in found.text("tree")
        line = next(line for line in found.text("list").splitlines() if " 648 " in line)
        assert line.startswith("!")
        await found.press("k", "tab", "G", "tab", "G")
        assert found.text("hex").startswith("0")

    drive(test)


def test_a_label_that_fails_costs_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> str:
        raise ZeroDivisionError

    monkeypatch.delenv("WIREANALYZE_DEBUG", raising=False)

    async def test(found: Drive) -> None:
        pane = found.main.tree_pane
        field = found.main.view.detail.tree.fields[0]  # type: ignore[union-attr]
        field.spec = FieldSpec("size", "int32", broken)
        pane.invalidate()
        await found.settle()
        assert "size: bug: its label failed" in found.text("tree")

    drive(test)


SECRET = "hunter2"


def broken(*_: object, **__: object) -> None:
    password = SECRET
    raise LookupError(password)


async def shown(found: Drive) -> None:
    """Until a defect is shown, of which nothing says what was in its variables."""
    found.expects_defects = True
    await found.until(lambda: isinstance(found.window.screen, BugScreen))
    await found.settle()
    text = "\n".join(found.lines())
    assert "This is a defect of the program, not of your capture." in text
    assert "error:   LookupError" in text
    assert SECRET not in text


def key(found: Drive, patch: pytest.MonkeyPatch) -> None:
    """A key whose action fails."""
    patch.setattr(HexPane, "go_to_byte", broken)
    found.main.hex_pane.focus()


def command(found: Drive, patch: pytest.MonkeyPatch) -> None:
    """A command that fails."""
    patch.setattr(navigation, "go_to_partner", broken)


def message(found: Drive, patch: pytest.MonkeyPatch) -> None:
    """A handler of what a pane says."""
    patch.setattr(DetailView, "_show_row", broken)


def worker(found: Drive, patch: pytest.MonkeyPatch) -> None:
    """Work in a thread."""
    patch.setattr(navigation, "go_to_partner", lambda main: main.background.submit("it", broken, print))


def timer(found: Drive, patch: pytest.MonkeyPatch) -> None:
    """What is called by a timer."""
    patch.setattr(navigation, "go_to_partner", lambda main: main.set_timer(0.01, broken))


def paint(found: Drive, patch: pytest.MonkeyPatch) -> None:
    """A line that cannot be painted."""
    patch.setattr(HexPane, "get_spans", broken)


CASES = {
    "key": (key, "l"), "command": (command, "p"), "message": (message, "down"), "worker": (worker, "p"),
    "timer": (timer, "p"), "paint": (paint, "down"),
}  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", CASES)
@driven()
async def test_a_defect_is_shown_and_the_program_goes_on(
    found: Drive, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found.expects_defects = True
    arrange, pressed = CASES[case]
    with monkeypatch.context() as patch:
        arrange(found, patch)
        await found.settle()
        await found.press(pressed)
        await shown(found)
    await found.press("c")
    assert found.window.screen is found.main
    assert len(found.window.shown_defects) in (1, 2)  # a line may be painted twice before anybody sees it
    found.main.timeline.focus()
    await found.press("g", "down", "down")
    assert found.row == 1
    assert "kafka ApiVersions v5 response" in found.text("tree-head")
    assert found.text("hex").startswith("0000")
    await found.press("slash", *"kafka.Fetch", "enter")
    await found.filtered()
    assert found.main.filter.in_force is not None


def ended(window: app.TuiApp) -> None:
    assert isinstance(window.defect, LookupError)
    assert window.return_code == 1


def crash(test: Callable[[Drive], Coroutine[Any, Any, None]], capsys: pytest.CaptureFixture[str]) -> None:
    """Runs a test that ends with a defect, which is kept for who started the program, and nothing printed."""
    windows: list[app.TuiApp] = []

    async def whole(found: Drive) -> None:
        windows.append(found.window)
        found.expects_defects = True
        await test(found)

    with pytest.raises(LookupError):
        drive(whole)
    ended(windows[0])
    assert SECRET not in "".join(capsys.readouterr())


@driven()
async def test_a_line_that_fails_lives_on(found: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is Textual's, and what fails in it is no reason to end either."""
    found.expects_defects = True
    with monkeypatch.context() as patch:
        patch.setattr(TextLine, "insert_text_at_cursor", broken)
        await found.press("ctrl+p", "q")
        await shown(found)
    await found.press("c", *"mark")
    assert found.window.screen.query_one(TextLine).value == "mark"


def pumps(of: type[MessagePump] = MessagePump) -> Iterator[type[MessagePump]]:
    for each in of.__subclasses__():
        yield each
        yield from pumps(each)


def test_all_of_ours_are_fenced() -> None:
    for module in walk_packages(__path__, "tui."):
        import_module(module.name)
    ours = [each for each in pumps() if each.__module__.startswith("tui.")]
    assert MainScreen in ours
    assert [each for each in ours if not issubclass(each, CrashGuard)] == []


def test_it_ends_the_program_when_the_user_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def test(found: Drive) -> None:
        key(found, monkeypatch)
        await found.settle()
        await found.press("l")
        await shown(found)
        await found.pilot.press("q")
        await found.ended()

    crash(test, capsys)


@pytest.mark.parametrize("case", ["key", "worker"])
def test_the_third_within_a_moment_ends_the_program(
    case: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def test(found: Drive) -> None:
        arrange, pressed = CASES[case]
        arrange(found, monkeypatch)
        await found.settle()
        for _ in range(TOO_MANY - 1):
            await found.press(pressed)
            await shown(found)
            await found.press("c")
        await found.pilot.press(pressed)
        await found.ended()

    crash(test, capsys)


def test_what_cannot_be_painted_at_all_does_not_go_round(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def test(found: Drive) -> None:
        paint(found, monkeypatch)
        for _ in range(1000):
            if found.window.defect is not None:
                break
            await found.pilot.press("down", "c")
            await found.pilot.pause(0.05)

    crash(test, capsys)


def test_what_fails_while_it_is_put_together_ends_the_program(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def test(found: Drive) -> None:
        monkeypatch.setattr(HelpScreen, "compose", broken)
        await found.pilot.press("question_mark")
        await found.ended()

    crash(test, capsys)


def test_rare_ones_are_no_reason_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crash_guard, "WITHIN", 10.0)
    often = DefectCounter()
    assert not any(often.count_defect(at) for at in (0.0, 1.0, 10.5, 12.0, 21.0, 22.5))
    assert often.count_defect(23.0)


def test_the_report_is_copied_and_saved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    async def test(found: Drive) -> None:
        found.expects_defects = True
        key(found, monkeypatch)
        await found.settle()
        await found.press("l")
        await shown(found)
        await found.press("y", "s")
        path = tmp_path / "wireanalyze" / "bug-report.txt"
        text = path.read_text()
        assert text == found.window.clipboard + "\n"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert re.search(r"^  place:   .*\bin broken$", text, re.MULTILINE)
        assert SECRET not in text
        assert str(path) in "\n".join(found.lines())

    drive(test, size=(200, 40))


def test_the_report_of_a_dissectors_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WIREANALYZE_DEBUG", raising=False)

    async def test(found: Drive) -> None:
        await found.press("ctrl+p", *"dissector's bug", "enter")
        assert found.status() == "no dissector failed at the selected message"
        monkeypatch.setattr(Kafka, "tree", broken)
        monkeypatch.setattr(Kafka, "values", broken)
        await found.press("v", "G", "enter", "down", "x")
        await found.until(lambda: isinstance(found.window.screen, Chooser))
        await found.press(*"report of this bug", "enter")
        screen = found.window.screen
        assert isinstance(screen, BugScreen)
        await found.press("y")
        report = found.window.clipboard
        assert "the dissector kafka failed at test_defects.py" in report
        assert re.search(r"message: kafka \w+ v\d+ (request|response)", report)
        assert SECRET not in report
        await found.press("c")
        assert found.window.screen is found.main
        assert found.window.shown_defects == []

    drive(test)
