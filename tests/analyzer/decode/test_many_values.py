"""What many rows say together is what each of them says decoded for itself, in the fields that reports read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyzer.decode import template_decoder
from analyzer.decode.content import read_context, read_messages
from analyzer.decode.many_values import ManyValues
from analyzer.insight.reports import list_reports
from analyzer.messages import defects
from analyzer.session import Session
from dissectors.api import Context, Dissector
from dissectors.message import Path as FieldPath

ROOT = Path(__file__).parents[3]
CAPTURES = ("kafka-4.4", "pulsar", "rocketmq", "zookeeper")


def pick_path(value: Any, path: FieldPath) -> Any:
    """What stands at a path; of a list what stands there in each of its structs."""
    if isinstance(value, list) and path:
        return [pick_path(each, path) for each in value]
    return pick_path(value.get(path[0]), path[1:]) if isinstance(value, dict) and path else value


@pytest.mark.parametrize("name", CAPTURES)
def test_recorded_captures(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_decoder, "WORTH", 2)
    with Session([ROOT / "captures" / f"{name}.pcap.zst"]).load() as session:
        known, _ = list_reports(session)

        def list_paths(dissector: Dissector, context: Context) -> frozenset[FieldPath]:
            what = dissector.name, context.code, context.role
            return frozenset(path for each in known.values() if what in each.on for path in each.on[what].paths)

        rows = np.arange(len(session.rows))
        found = ManyValues(session, list_paths).read_rows(rows)
        assert sum(each is not None for each in found) > len(rows) // 4
        for row, each, message in zip(rows.tolist(), found, read_messages(session, rows), strict=True):
            if each is not None:
                context = read_context(session, row)
                dissector = session.engine.dissector(session.rows.cell("protocol", row))
                assert dissector is not None
                body = defects.decode_values(dissector, message, context)
                for path in list_paths(dissector, context):
                    assert pick_path(each[0], path) == pick_path(body.values, path)
                assert each[1] == body.error
