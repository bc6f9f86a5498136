"""Dissectors in a Python file: that of docs/how-to/dissector.md, loaded by the option --plugin and in Python."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import wireanalyze as wa
from analyzer.config import plugin_files
from dissectors import registry
from dissectors.api import Dissector
from tests import program
from tests.documents import ROOT

CODE = (ROOT / "docs" / "how-to" / "dissector.md").read_text().split("```python\n")[1].split("```")[0]
QUERY = "001d00070100000100000000000007" + b"example\x03org\0\0\1\0\1".hex()


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is registered is forgotten again."""
    monkeypatch.setattr(registry, "_REGISTERED", {})
    monkeypatch.setattr(plugin_files, "_LOADED", [])
    yield
    monkeypatch.undo()
    registry.forget_plugins()


def test_the_option_loads_a_file(tmp_path: Path) -> None:
    file = tmp_path / "my_protocol.py"
    file.write_text(CODE)
    done = program.run("--plugin", str(file), "decode", "-p", "dns", QUERY)
    assert (done.returncode, done.stdout.decode().splitlines()[0]) == (0, "dns QUERY request  31 bytes, correlation 7")
    assert b"dns" in program.run("--plugin", str(file), "protocols").stdout
    assert b"dns" not in program.run("protocols").stdout
    done = program.run("--plugin", str(file), "pipeline", str(file), "-o", str(tmp_path / "tables"))
    assert (done.returncode, done.stderr[:37]) == (2, b"wireanalyze: --plugin is not for pipe")


def test_python_loads_a_file_or_a_class(tmp_path: Path) -> None:
    file = tmp_path / "other_protocol.py"
    file.write_text(CODE)
    assert wa.register(file) == ("dns",)
    message = wa.decode(QUERY, protocol="dns")
    assert (message.protocol, message.operation, message.correlation) == ("dns", "QUERY", 7)
    with pytest.raises(wa.UsageError, match="the name dns is already taken"):
        wa.register(type(registry.by_name("dns")))
    registry._REGISTERED.clear()
    registry.forget_plugins()
    assert wa.register(type(message._dissector)) == ("dns",)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (None, "No such file or directory. Give a file such as my_protocol.py."),
        ("1 / 0", "ZeroDivisionError: division by zero."),
        ("import nothing_at_all", "ModuleNotFoundError: No module named 'nothing_at_all'."),
        ("from dissectors.api import Dissector", "defines no dissector. It needs a class derived from"),
        (CODE.replace('"dns"', '"kafka"'), "The dissector Dns cannot be used: the name kafka is already taken."),
    ],
)
def test_mistakes(code: str | None, said: str, tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    if code is not None:
        file.write_text(code)
    done = program.run("--plugin", str(file), "protocols")
    assert done.returncode == 2
    assert said in done.stderr.decode()
    with pytest.raises(wa.UsageError, match=r"wrong\.py"):
        wa.register(str(file))


def test_what_is_no_dissector() -> None:
    with pytest.raises(wa.UsageError, match="cannot be registered"):
        wa.register(Dissector)
    with pytest.raises(wa.UsageError, match=r"not a dissectors\.api\.Dissector"):
        wa.register(int)  # type: ignore[type-var]
