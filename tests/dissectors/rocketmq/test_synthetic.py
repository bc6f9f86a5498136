"""Every header class in both serializations, against what RocketMQ's own classes read from them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzer.decode.jsonable import JsonWriter, Limits
from dissectors.api import Role
from dissectors.rocketmq import RocketMQ
from dissectors.rocketmq.message import fold_tree
from tests.dissectors.rocketmq.truth import GOLDEN, SHARED, SYNTHETIC, Synthetic, synthetic
from tests.dissectors.trees import assert_tiles
from tests.golden.truth import differing

ROCKETMQ = RocketMQ()
COMPLETE = JsonWriter(Limits(None, None, show_secrets=True))


@pytest.fixture(scope="module", params=[GOLDEN, SHARED], ids=["golden", "shared"])
def frames(request: pytest.FixtureRequest) -> list[Synthetic]:
    path: Path = request.param / SYNTHETIC
    if not path.exists():
        pytest.skip(f"{path.parent.name}/{path.name} is not beside this checkout")
    return list(synthetic(path))


def test_headers(frames: list[Synthetic]) -> None:
    assert len(frames) == 266
    for frame in frames:
        header = ROCKETMQ.header(frame.data, frame.context.role is Role.REQUEST)
        assert (header.role, header.correlation) == (frame.context.role, frame.row["correlation"]), frame.name
        if header.role is Role.REQUEST:
            assert (header.operation, header.code) == (frame.row["operation"], frame.row["code"])


def test_values(frames: list[Synthetic]) -> None:
    """Bodies are random bytes. An empty text in the binary form is one, though Java's reader makes it null."""
    for frame in frames:
        truth = {key: frame.row[key] for key in ("flag", "language", "version", "serialize", "remark", "extFields")}
        truth |= {"header": frame.row["fields"], "body": frame.row["body"]}
        if frame.row["serialize"] == "ROCKETMQ":
            truth["extFields"] = {key: text or "" for key, text in truth["extFields"].items()}
        own = json.loads(COMPLETE.format_line(ROCKETMQ.values(frame.data, frame.context).values))
        assert list(differing(own, truth)) == [], frame.name


def test_trees(frames: list[Synthetic]) -> None:
    for frame in frames:
        tree = ROCKETMQ.tree(frame.data, frame.context)
        assert_tiles(tree)
        assert fold_tree(tree, frame.context) == ROCKETMQ.values(frame.data, frame.context), frame.name


def test_all_are_known_for_what_they_are(frames: list[Synthetic]) -> None:
    for frame in frames:
        assert ROCKETMQ.probe(frame.data[:512], None) >= 80
        assert ROCKETMQ.plausible(frame.data[:512], True)
