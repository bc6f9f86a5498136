"""One door: built-in dissectors and plug-ins, by name and by port."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from dissectors import registry
from dissectors.kafka import Kafka

GOOD = "from dissectors.kafka import Kafka\nclass Parrot(Kafka):\n    name = 'parrot'\n    ports = (9092, 7777)\n"


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    registry.forget_plugins()
    yield
    registry.forget_plugins()


@pytest.fixture
def plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with entry points as it would be installed: one that works, and all the ways in which one may not."""
    (tmp_path / "parrots.py").write_text(GOOD + "number = 3\ndef fails():\n    pass\n")
    (tmp_path / "broken_parrots.py").write_text("1 / 0\n")
    info = tmp_path / "parrots-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: parrots\nVersion: 1.0\n")
    points = {
        "parrot": "parrots:Parrot",
        "kafka": "parrots:Parrot",
        "missing": "no_such_module:Parrot",
        "absent": "parrots:Absent",
        "number": "parrots:number",
        "raises": "broken_parrots:Parrot",
        "misnamed": "parrots:Parrot",
    }
    lines = [f"{name} = {target}\n" for name, target in points.items()]
    (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{''.join(lines)}")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_built_in_ones_need_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_entry_points", lambda: pytest.fail("searched for plug-ins"))
    assert isinstance(registry.by_name("kafka"), Kafka)
    assert registry.by_name("kafka") is registry.by_name("kafka")


def test_an_unknown_name_is_a_sentence() -> None:
    with pytest.raises(KeyError, match=r"There is no protocol 'kafak'\. Give one of kafka, "):
        registry.by_name("kafak")


@pytest.mark.usefixtures("plug_in")
def test_a_plug_in_is_found_and_a_broken_one_costs_a_sentence() -> None:
    assert [dissector.name for dissector in registry.dissectors()] == [*registry.BUILT_IN, "parrot"]
    assert registry.by_name("parrot").ports == (9092, 7777)
    assert registry.names() == (*registry.BUILT_IN, "parrot")
    problems = {text.split("'")[1]: text for text in registry.problems()}
    assert set(problems) == {"kafka", "missing", "absent", "number", "raises", "misnamed"}
    assert all("of package parrots is left out: " in text and "\n" not in text for text in problems.values())
    assert "division by zero" in problems["raises"]
    assert "calls itself 'parrot'" in problems["misnamed"]


@pytest.mark.usefixtures("plug_in")
def test_ports() -> None:
    ports = registry.Ports({1234: "kafka", 9092: "parrot"})
    assert ports.find_by_port(1234) is registry.by_name("kafka")
    assert ports.find_by_port(7777) is None
    assert ports.by_port(7777) is registry.by_name("parrot")
    assert ports.by_port(9092) is registry.by_name("parrot")
    assert registry.Ports().by_port(9092) is registry.by_name("kafka")
    assert ports.by_port(1) is None
    assert {dissector.name for dissector in ports.dissectors} == {*registry.BUILT_IN, "parrot"}
    with pytest.raises(KeyError):
        registry.Ports({1: "nothing"})


def test_operations_of_kafka() -> None:
    operations = registry.by_name("kafka").operations()
    assert operations[3].name == "Metadata"
    assert operations[3].versions.low == 0


def test_a_plug_in_without_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("lonely", "nowhere:Lonely", registry.GROUP)
    monkeypatch.setattr(registry, "_may_have_plugins", lambda: True)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: EntryPoints([point]))
    assert "of package unknown" in registry.problems()[0]


@pytest.mark.parametrize(("content", "found"), [("[console_scripts]\n", False), (f"[{registry.GROUP}]\n", True)])
def test_entry_points_are_only_requested_where_a_file_names_the_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, found: bool
) -> None:
    (tmp_path / "other-1.0.dist-info").mkdir()
    (tmp_path / "other-1.0.dist-info" / "entry_points.txt").write_text(content)
    (tmp_path / "lonely-1.0.egg-info").write_text("Name: lonely\n")
    monkeypatch.setattr("sys.path", [str(tmp_path), str(tmp_path / "missing")])
    requested: list[str] = []
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: requested.append(group) or EntryPoints([]))
    assert registry.problems() == ()
    assert requested == [registry.GROUP] * found
