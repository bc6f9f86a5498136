"""Configuration files: where they are looked for, what they may say, and one sentence for each way to be wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from analyzer import config
from analyzer.config import ColorRule, Config, find, load
from analyzer.config.model import list_built_in_colors
from analyzer.errors import UserError
from analyzer.messages.decode_as import PortRange

WHOLE = """
[list]
time-format = "delta"
names = false

[columns]
kafka-latency = ["number", "time", "operation", "latency", "kafka.topic"]
kafka = ["number"]

[ports]
19092 = "kafka"
"8000-8010" = "pulsar"
2181 = "none"

[filters]
slow = "latency > 100ms"

[[colors]]
name = "mine"
filter = "$slow"
style = "bold on red"

[[colors]]
name = "error"
filter = "error.code == 3"
style = "red"
"""


def file(tmp_path: Path, text: str | bytes) -> str:
    path = tmp_path / "config.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_everything(tmp_path: Path) -> None:
    path = file(tmp_path, WHOLE)
    found = load(path)
    mine, error = ColorRule("mine", "$slow", "bold on red"), ColorRule("error", "error.code == 3", "red")
    assert found == Config(
        path,
        {"kafka-latency": ("number", "time", "operation", "latency", "kafka.topic"), "kafka": ("number",)},
        (mine, error),
        {19092: "kafka", PortRange(8000, 8010): "pulsar", 2181: "none"},
        {"slow": "latency > 100ms"},
        "delta",
        names=False,
    )
    built_in = [rule for rule in list_built_in_colors() if rule.name != "error"]
    assert list(found.colors) == [mine, error, *built_in]


@pytest.mark.parametrize("text", ["", "# nothing\n", "[list]\n[columns]\n[ports]\n[filters]\n"])
def test_what_says_nothing_changes_nothing(tmp_path: Path, text: str) -> None:
    path = file(tmp_path, text)
    assert load(path) == Config(path)


def test_without_a_file_everything_has_its_default(tmp_path: Path) -> None:
    assert load(None) == load(str(tmp_path / "none.toml")) == load(str(tmp_path / "none" / "at.all")) == Config()
    assert load(os.devnull, named=True) == Config(os.devnull)
    assert Config().colors == tuple(list_built_in_colors())


WRONG: list[tuple[str, str]] = [
    ("[colums]\nx = 1", "line 1: There is no table 'colums'. Did you mean columns or colors?"),
    ("\nzzz = 1", "line 2: There is no table 'zzz'. Use columns, colors, ports, filters, list, tls."),
    ("list = 3", "line 1: list is 3. It must be a table, [list]."),
    ("colors = 'red'", "line 1: colors is the text 'red'. It must be a list of tables, [[colors]]."),
    ("[colors]\nred = 1", "line 1: colors is a table of 1. It must be a list of tables, [[colors]]."),
    ('[list]\ntimeformat = "delta"', "line 2: There is no key list.timeformat. Did you mean time-format?"),
    (
        '[list]\ntime-format = "deltas"',
        "line 2: list.time-format is the text 'deltas'. It must be one of iso, relative, delta, epoch.",
    ),
    ("[list]\n\nnames = 0", "line 3: list.names is 0. It must be true or false."),
    (
        '[columns]\nx = "number"',
        'line 2: columns.x is the text \'number\'. It must be a list of fields, such as ["number", "time"].',
    ),
    ("[columns]\nx = []", "line 2: columns.x is an empty list. It must be a list of fields"),
    ("[columns]\nx = [1]", "line 2: columns.x is a list of 1. It must be a list of fields"),
    ("[columns]\n'a b' = ['number']", "line 2: columns.'a b' is not a name. Use letters, digits, - and _."),
    ("[filters]\n# slow = 1\nslow = 3", "line 3: filters.slow is 3. It must be a text."),
    ("[filters]\nslow = ' '", "line 2: filters.slow is an empty text. It must be a text."),
    ("[filters]\n'$x' = 'error'", "line 2: filters.'$x' is not a name."),
    ("[ports]\n70000 = 'kafka'", "line 2: ports.'70000' is not a port. Give a port from 1 to 65535, or a range"),
    ("[ports]\n'stream==1' = 'kafka'", "line 2: ports.'stream==1' is not a port."),
    ("[ports]\n9092 = 'kafke'", "line 2: ports.9092: There is no protocol 'kafke'. Give one of kafka, "),
    ("[ports]\n9092 = true", "line 2: ports.9092 is true. It must be a text."),
    (
        "[[colors]]\nname = 'a'\nfilter = 'error'\nstyle = 'red'\n[[colors]]\nname = 'b'\nfiltre = 'error'",
        "line 7: There is no key colors.filtre. Did you mean filter?",
    ),
    (
        "[[colors]]\nname = 'a'\nfilter = 'error'",
        "line 1: The colour rule has no style. It needs name, filter and style.",
    ),
    (
        "[[colors]]\nname = 'a'\nfilter = 'e'\nstyle = 'r'\n" * 2,
        "line 6: There are two colour rules with the name 'a'. Rename one.",
    ),
    ("[list\n", "line 1, column 6: this is not TOML: expected ']' at the end of a table declaration"),
    ("x = ", "last line: this is not TOML: invalid value"),
    ("[list]\nnames = true\nnames = true\n", "line 3, column 13: this is not TOML: cannot overwrite a value"),
]


@pytest.mark.parametrize(("text", "said"), WRONG, ids=[said for _, said in WRONG])
def test_what_is_wrong_is_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    path = file(tmp_path, text)
    with pytest.raises(UserError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}, {said}")
    assert "\n" not in str(caught.value)


def test_a_file_that_can_not_be_a_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"line 2: byte 8 is not UTF-8"):
        load(file(tmp_path, b"# hello\n\xff"))
    with pytest.raises(UserError, match=": Is a directory"):
        load(str(tmp_path))
    with pytest.raises(UserError, match=": embedded null byte"):
        load("a\0b")
    with pytest.raises(UserError, match=r"There is no configuration file .*none\.toml: No such file"):
        load(str(tmp_path / "none.toml"), named=True)
    with pytest.raises(UserError, match="nested too deeply"):
        load(file(tmp_path, "x = " + "[" * 10_000))
    monkeypatch.setattr(config, "LARGEST", 10)
    with pytest.raises(UserError, match="has more than 10 bytes"):
        load(file(tmp_path, WHOLE))


def test_what_nobody_named_and_nobody_may_see_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file(tmp_path, WHOLE)

    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refused)
    with pytest.raises(UserError, match=r": Permission denied\. Give another one with --config"):
        load(path)
    hidden = str(tmp_path / "not" / "there")
    assert load(hidden) == Config()
    with pytest.raises(UserError, match="Permission denied"):
        load(hidden, named=True)


def test_a_line_is_left_out_rather_than_wrong(tmp_path: Path) -> None:
    path = file(tmp_path, "list = {names = 3}")
    with pytest.raises(UserError) as caught:
        load(path)
    assert str(caught.value) == f"{path}: list.names is 3. It must be true or false."


# ---- where the configuration file is looked for


HOME = {"HOME": "/people/me"}


@pytest.mark.parametrize(
    ("environment", "told", "path", "named"),
    [
        (HOME, None, "/people/me/.config/wireanalyze/config.toml", False),
        ({**HOME, "XDG_CONFIG_HOME": "/etc/mine"}, None, "/etc/mine/wireanalyze/config.toml", False),
        ({**HOME, "XDG_CONFIG_HOME": "mine"}, None, "/people/me/.config/wireanalyze/config.toml", False),
        ({**HOME, "XDG_CONFIG_HOME": ""}, None, "/people/me/.config/wireanalyze/config.toml", False),
        ({**HOME, "WIREANALYZE_CONFIG": "a.toml", "XDG_CONFIG_HOME": "/etc"}, None, "a.toml", True),
        ({**HOME, "WIREANALYZE_CONFIG": ""}, None, "/people/me/.config/wireanalyze/config.toml", False),
        ({**HOME, "WIREANALYZE_CONFIG": "a.toml"}, "b.toml", "b.toml", True),
    ],
)
def test_find(environment: dict[str, str], told: str | None, path: str, named: bool) -> None:
    assert find(environment, told) == (path, named)
