"""All layouts, three frames each, against what Kafka's own classes read from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dissectors.api import Role, State
from dissectors.kafka import Kafka
from dissectors.kafka.labels import error_name
from dissectors.wire.message import fold_tree
from tests.dissectors.kafka.truth import GOLDEN, SHARED, Frame, difference, faults, frames, printed
from tests.dissectors.trees import assert_tiles

KAFKA = Kafka()


@pytest.fixture(scope="module", params=[GOLDEN, SHARED], ids=["golden", "shared"])
def truth(request: pytest.FixtureRequest) -> list[Frame]:
    path: Path = request.param
    if not path.exists():
        pytest.skip(f"{path.parent.name}/{path.name} is not beside this checkout")
    return list(frames(path))


def test_there_are_three_of_each_of_the_736_layouts(truth: list[Frame]) -> None:
    layouts = {(frame.context.role, frame.context.code, frame.context.version) for frame in truth}
    assert (len(truth), len(layouts)) == (2208, 736)


def test_values(truth: list[Frame]) -> None:
    differences = []
    for frame in truth:
        body = KAFKA.values(frame.data, frame.context)
        found = difference(frame.row["fields"], printed(body.values))
        error = frame.row.get("error")
        if body.error != (error and (error["code"], error["name"])):
            found = f"error {error} is {body.error}"
        if found or faults(body.findings):
            differences.append(f"{frame.name}: {found} {body.findings}")
    assert differences == []


def test_trees(truth: list[Frame]) -> None:
    for frame in truth:
        tree = KAFKA.tree(frame.data, frame.context)
        assert_tiles(tree)
        assert fold_tree(tree, error_name) == KAFKA.values(frame.data, frame.context), frame.name


def test_headers(truth: list[Frame]) -> None:
    for frame in truth:
        header = KAFKA.header(frame.data[:512], frame.context.role is Role.REQUEST)
        assert header.correlation == frame.row["correlation"]
        if frame.context.role is Role.RESPONSE:
            assert (header.role, header.state) == (Role.RESPONSE, State.GUESSED)
            continue
        assert (header.operation, header.code, header.version) == (
            frame.row["operation"],
            frame.context.code,
            frame.context.version,
        )
        assert (header.client, header.state) == (frame.row["client"], State.COMPLETE)
        assert header.role is (Role.ONEWAY if frame.row.get("acks") == 0 else Role.REQUEST)


def test_every_request_is_known_for_what_it_is(truth: list[Frame]) -> None:
    for frame in truth:
        if frame.context.role is Role.REQUEST:
            assert KAFKA.probe(frame.data, True) >= 80, frame.name
            assert KAFKA.plausible(frame.data, True), frame.name


def test_a_line_for_each(truth: list[Frame]) -> None:
    for frame in truth:
        line = KAFKA.info(KAFKA.values(frame.data, frame.context), frame.context)
        assert "\n" not in line
        assert "Secret" not in line
