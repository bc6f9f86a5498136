"""Makes the JSON objects of an overview and other statistics: the keys of docs/reference/output.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from analyzer.columns.values import format_iso_time
from analyzer.decode.rows import RowReader
from analyzer.insight.overview import Overview
from analyzer.insight.percentiles import EDGES
from analyzer.insight.statistics import GroupStatistics, Statistics
from analyzer.insight.traffic import Conversation

Json = dict[str, Any]


def make_overview_object(found: Overview, reader: RowReader) -> Json:
    """Makes the JSON object of an overview; its lists have the most frequent entry first."""
    return {
        "packets": found.packets,
        "tcp_packets": found.tcp_packets,
        "packet_bytes": found.packet_bytes,
        "streams": found.streams,
        "messages": found.total.messages,
        "message_bytes": found.total.bytes,
        **_make_span(found.first, found.last),
        "total": asdict(found.total),
        "protocols": [{"protocol": group.key[0], **asdict(group.metrics)} for group in found.protocols],
        "operations": [
            {
                "protocol": each.protocol,
                "operation": each.operation,
                **asdict(each.metrics),
                "versions": list(each.versions),
                "latencies": _make_distribution(each.latencies),
            }
            for each in found.operations
        ],
        "clients": _make_groups(found.clients),
        "connections": [make_conversation_object(each) for each in found.connections],
        "interval_ns": found.interval,
        "over_time": list(found.over_time),
        "errors_over_time": None if found.failures_over_time is None else list(found.failures_over_time),
        "subjects": [
            {
                "name": each.name,
                "looked_at": each.looked_at,
                "of": each.of,
                "values": [{"value": value, "requests": many} for value, many in each.counts],
            }
            for each in found.subjects
        ],
        "errors": [asdict(each) for each in found.failures],
        "unanswered": {
            "operations": [
                {"protocol": protocol, "operation": operation, "requests": many}
                for protocol, operation, many in found.waiting
            ],
            "oldest": _make_oldest(found, reader),
        },
        "findings": [{"severity": severity, "code": code, "count": many} for severity, code, many in found.findings],
        "network": asdict(found.network),
    }


def make_conversation_object(each: Conversation) -> Json:
    """Makes the JSON object of a connection in the overview."""
    return {**asdict(each), "began": format_iso_time(each.began)}


def make_statistics_object(found: Statistics, groups: Sequence[GroupStatistics]) -> Json:
    """Makes the JSON object of statistics with their groups."""
    return {
        "by": list(found.by),
        **_make_span(found.first, found.last),
        "interval_ns": found.interval,
        "total": asdict(found.total),
        "groups": _make_groups(found, groups),
        "groups_in_all": len(found.groups),
    }


def _make_groups(found: Statistics, groups: Sequence[GroupStatistics] | None = None) -> list[Json]:
    return [make_group_object(found.by, group) for group in (found.groups if groups is None else groups)]


def make_group_object(by: Sequence[str], group: GroupStatistics) -> Json:
    """Makes the JSON object of a group: its common values and its metrics."""
    return {**dict(zip(by, make_key_values(by, group.key), strict=True)), **asdict(group.metrics)}


def make_key_values(by: Sequence[str], key: Sequence[Any]) -> list[Any]:
    """Returns the values of a group's keys for programs: a time is ISO 8601."""
    return [
        format_iso_time(value) if name == "time" and value is not None else value
        for name, value in zip(by, key, strict=True)
    ]


def _make_span(first: int | None, last: int | None) -> Mapping[str, Any]:
    if first is None or last is None:
        return {"first": None, "last": None, "span_ns": 0}
    return {"first": format_iso_time(first), "last": format_iso_time(last), "span_ns": last - first}


def _make_distribution(counts: Sequence[int]) -> list[Json]:
    """Returns the buckets that are not empty: each from `ns` up to the next edge."""
    return [{"ns": int(EDGES[place]), "answers": many} for place, many in enumerate(counts) if many]


def _make_oldest(found: Overview, reader: RowReader) -> list[Json]:
    rows = np.array([each.row for each in found.oldest], np.int64)
    objects = reader.read_objects(("number", "id", "time", "protocol", "operation"), rows)
    return [
        {**cells, "waited_ns": each.waited, "before_end_ns": each.before_end}
        for each, cells in zip(found.oldest, objects, strict=True)
    ]
