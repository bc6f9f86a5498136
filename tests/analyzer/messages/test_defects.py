"""A dissector's defect costs its row and nothing else, and is called a defect."""

from __future__ import annotations

import json

import pytest

from analyzer.cli.program import run
from analyzer.decode.jsonable import Limits
from analyzer.messages import defects
from analyzer.render.lines import strip_styles
from analyzer.render.tree_json import make_node_object
from analyzer.render.tree_text import format_node
from dissectors import registry
from dissectors.api import Body, Context, Role
from dissectors.field import Field, FieldSpec, Tree
from dissectors.kafka import Kafka

CONTEXT = Context(Role.REQUEST, 3, 1)
MESSAGE = bytes.fromhex("00000012 0003 0001 00000007 0004 74657374 ffffffff".replace(" ", ""))


class Broken(Kafka):
    """Fails at everything that is decoded."""

    def values(self, message: bytes, context: Context) -> Body:
        return {}[len(message)]

    def tree(self, message: bytes, context: Context) -> Tree:
        raise ZeroDivisionError("no tree")

    def info(self, body: Body, context: Context) -> str:
        raise RecursionError


def test_a_defect_is_a_finding() -> None:
    body = defects.decode_values(Broken(), MESSAGE, CONTEXT)
    assert (body.values, body.error, [finding.code for finding in body.findings]) == ({}, None, ["bug"])
    assert "with KeyError; please report it" in body.findings[0].text
    assert "22" not in body.findings[0].text.partition("with")[2], "what an exception quotes may be a password"
    tree = defects.decode_tree(Broken(), MESSAGE, CONTEXT)
    assert [(node.offset, node.length) for node in tree.fields] == [(0, len(MESSAGE))]
    assert "with ZeroDivisionError;" in tree.findings[0].text
    assert "RecursionError" in defects.format_info(Broken(), body, CONTEXT)


def test_what_works_is_left_alone() -> None:
    assert defects.decode_values(Kafka(), MESSAGE, CONTEXT) == Kafka().values(MESSAGE, CONTEXT)
    assert defects.decode_tree(Kafka(), MESSAGE, CONTEXT).findings == []


def test_who_looks_for_it_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(defects.DEBUG, "1")
    with pytest.raises(KeyError):
        defects.decode_values(Broken(), MESSAGE, CONTEXT)


def test_decode_goes_on_behind_a_defect(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(registry, "by_name", lambda name: Broken())
    assert run(["decode", "-p", "kafka", "--json", (MESSAGE * 3).hex()]) == 0
    text = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert [[finding["code"] for finding in each["findings"]] for each in text] == [["bug", "bug"]] * 3


def test_a_label_that_fails_costs_its_node_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Field(FieldSpec("size", "int32", lambda value: value.no_such_thing), 7, 0, 4)
    text = "bug: its label failed with AttributeError"
    assert strip_styles(format_node(node, Limits(), hidden=False)) == f"size: {text}"
    assert (make_node_object(node)["value"], make_node_object(node)["text"]) == (7, text)
    monkeypatch.setenv(defects.DEBUG, "1")
    with pytest.raises(AttributeError):
        make_node_object(node)
