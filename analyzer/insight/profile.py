"""Profile of captures for a comparison: columns and counts by operation, and settings of clients.

Theory. A profile outlives its session, so two captures need not be open at the same time. It keeps latencies and
lengths as sorted columns, for percentiles and their tests. Settings are in bodies (Dissector.settings lists them), so
they are read from a sample: some messages of each operation, version and client, evenly distributed and not random.
Clients rarely change a setting, so a few messages of each are enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from analyzer.columns.arrays import Ints, find_runs, iterate_groups, make_group_keys, rank_in_runs
from analyzer.decode.rows import RowReader
from analyzer.insight.metrics import Metrics
from analyzer.insight.statistics import Study
from analyzer.query.fields import FieldPath, FieldReader, find_field
from analyzer.query.response_errors import Looked
from analyzer.session import Analysis
from analyzer.tcp.network import UNMEASURED
from analyzer.tcp.streams import UNKNOWN_SIDE
from dissectors.api import Dissector, Role
from dissectors.slotted import make_slotted
from dissectors.wire.fast_path import NULL, distinct
from dissectors.wire.secret import Secret

OF_EACH, SAMPLE = 64, 4096
"""Maximum number of messages that are read for a setting: of an operation, version and client, and in total."""

VALUES, NAMED = 16, 8
"""Number of values that a setting may have, and number of clients that are kept with one."""

LONGEST = 200
"""Length of a value in characters."""

OperationKey: TypeAlias = tuple[str, str | None]
"""A protocol and an operation; None for messages without one."""


@make_slotted
class OperationProfile:
    """Metrics of the messages of one operation, for comparisons.

    versions: requests by version. latencies (ns), request_sizes, response_sizes (bytes): sorted. errors: messages by
    error, without errors that only say "nothing new".
    """

    metrics: Metrics
    versions: Mapping[int, int]
    latencies: Ints
    request_sizes: Ints
    response_sizes: Ints
    errors: Mapping[str, int]


@make_slotted
class SettingValue:
    """The number of sampled messages with one value of a setting, and some of the clients that sent them."""

    messages: int
    clients: Sequence[str]


@make_slotted
class Setting:
    """The values of a setting in a sample of messages; complete: the sample has all messages with the setting."""

    values: Mapping[str, SettingValue]
    messages: int
    complete: bool


@make_slotted
class NetworkProfile:
    """Network metrics of some connections (analyzer.tcp.network).

    round_trips: ns, sorted, of the connections with a measured one. The others count events; resets, connections.
    """

    connections: int
    round_trips: Ints
    retransmissions: int
    zero_windows: int
    resets: int


@dataclass(frozen=True, slots=True)
class Profile:
    """Metrics of the messages of one or more captures. span: ns from the first message to the last.

    clients: by protocol, messages by client name. software: by protocol, the same for client software. settings: by
    protocol and name of a field.
    """

    total: Metrics
    span: int
    network: NetworkProfile
    operations: Mapping[OperationKey, OperationProfile]
    clients: Mapping[str, Mapping[str, int]]
    software: Mapping[str, Mapping[str, int]]
    settings: Mapping[tuple[str, str], Setting]


def make_profile(
    reader: RowReader,
    rows: Ints | None = None,
    *,
    with_errors: bool = True,
    looked: Looked = lambda done, total: None,
) -> Profile:
    """Computes the Profile of a loaded session, or of some of its rows. looked: reports progress."""
    study = Study(reader, rows, with_errors=with_errors, looked=looked)
    operations = dict(_profile_operations(study))
    counted = _count_clients(study)
    clients: dict[str, Mapping[str, int]] = {}
    software: dict[str, Mapping[str, int]] = {}
    settings: dict[tuple[str, str], Setting] = {}
    for dissector, mine in _split_protocols(study):
        sample, name = _Sample(reader, mine, named=dissector.client != "session"), dissector.name
        for field in dissector.settings:
            found = sample.read_setting((f"{name}.{field}",))
            if 0 < len(found.values) <= VALUES:
                settings[name, field] = found
        if dissector.client == "id":
            clients[name] = counted.get(name, {})
        if dissector.software:
            setting = sample.read_setting([f"{name}.{field}" for field in dissector.software])
            software[name] = {text: value.messages for text, value in setting.values.items()}
        elif dissector.client == "software":
            software[name] = counted.get(name, {})
    network = _make_network_profile(reader.session, study.rows)
    return Profile(study.total, study.facts.span, network, operations, clients, software, settings)


def _make_network_profile(session: Analysis, rows: Ints) -> NetworkProfile:
    """Computes the NetworkProfile of the connections of some rows."""
    streams = np.flatnonzero(np.bincount(session.rows.column("stream")[rows])) if len(rows) else np.zeros(0, np.int64)
    found = session.engine.network.find_metrics(streams)
    return NetworkProfile(
        len(streams),
        np.sort(found.rtt[found.rtt != UNMEASURED]),
        int(found.retransmissions.sum()),
        int(found.zero_windows.sum()),
        int((found.resetter != UNKNOWN_SIDE).sum()),
    )


def _profile_operations(study: Study) -> Iterator[tuple[OperationKey, OperationProfile]]:
    grouped = study.group_rows(("protocol", "operation"))
    metrics, facts = study.measure_groups(grouped), study.facts
    version = study.reader.take_cells("version", study.rows)
    failed = _count_errors(study, grouped.keys)
    timed = facts.timed  # sorted by latency; the stable sort by groups keeps that order
    latencies = _split_by_key(grouped.keys[timed], facts.latency[timed], len(grouped.labels))
    sizes = [np.flatnonzero(facts.role == role) for role in (Role.REQUEST, Role.RESPONSE)]
    request_sizes, answered = (_split_by_key(grouped.keys[those], facts.length[those], len(metrics)) for those in sizes)
    requests = sizes[0]
    for number, (protocol, operation) in enumerate(grouped.labels):
        if metrics[number].messages:
            used, keys = distinct(version[requests[grouped.keys[requests] == number]])
            counts = np.bincount(keys, minlength=len(used)).tolist()
            versions = {each: count for each, count in zip(used.tolist(), counts, strict=True) if each != NULL}
            columns = (latencies[number], np.sort(request_sizes[number]), np.sort(answered[number]))
            yield (protocol, operation), OperationProfile(metrics[number], versions, *columns, failed.get(number, {}))


def _split_by_key(keys: Ints, values: Ints, size: int) -> list[Ints]:
    """Returns the values of each of the keys 0 .. size - 1, in their order."""
    order = np.argsort(keys, kind="stable")
    return np.split(values[order], np.cumsum(np.bincount(keys, minlength=size))[:-1])


def _count_errors(study: Study, keys: Ints) -> Mapping[int, Mapping[str, int]]:
    """Returns, by the key of its operation, each error and how many messages report it."""
    reported, failed = study.reported, study.facts.failed
    if reported is None or failed is None or not len(reported.places):
        return {}
    mine = failed[reported.places]
    counted = Counter(zip(keys[reported.places[mine]].tolist(), reported.numbers[mine].tolist(), strict=True))
    found: dict[int, dict[str, int]] = {}
    for (key, number), count in counted.items():
        errors = found.setdefault(key, {})
        name = reported.kinds[number][1]
        errors[name] = errors.get(name, 0) + count
    return found


def _split_protocols(study: Study) -> Iterator[tuple[Dissector, Ints]]:
    """Yields each protocol in the rows, with its rows."""
    (protocols,), keys = make_group_keys([study.reader.take_cells("protocol", study.rows)])
    for key, places in iterate_groups(keys) if len(keys) else ():
        dissector = study.reader.session.engine.dissector(int(protocols[key]))
        if dissector is not None:
            yield dissector, study.rows[places]


def _count_clients(study: Study) -> Mapping[str, Mapping[str, int]]:
    """Returns, by protocol, the clients and their numbers of messages."""
    found: dict[str, dict[str, int]] = {}
    grouped = study.group_rows(("protocol", "client"))
    for (protocol, client), metrics in zip(grouped.labels, study.measure_groups(grouped), strict=True):
        if client is not None and metrics.messages:
            found.setdefault(protocol, {})[str(client)] = metrics.messages
    return found


class _Sample:
    """Some requests of one protocol, and their settings."""

    def __init__(self, reader: RowReader, rows: Ints, *, named: bool) -> None:
        role = reader.take_cells("role", rows)
        requests = rows[(role == Role.REQUEST) | (role == Role.ONEWAY)]
        self._named = NAMED if named else 0
        self._reader, self._rows = reader, _choose_evenly(reader, requests)
        self._whole = len(self._rows) == len(requests)

    def read_setting(self, names: Sequence[str]) -> Setting:
        """Returns the values of fields of the same messages, each joined to one text, and the clients that sent it."""
        fields = [find_field(name) for name in names]
        reading = FieldReader(self._reader, fields)
        those = self._rows[reading.find_candidates(fields[0], self._rows)]
        rows = those[:: max(-(-len(those) // SAMPLE), 1)]
        texts = [self._read_texts(reading, field, rows) for field in fields]
        found: dict[str, tuple[int, dict[str, None]]] = {}
        for client, *parts in zip(self._reader.read_column("client", rows).values(), *texts, strict=True):
            for text in parts[0] if len(parts) == 1 else [" ".join(value for each in parts for value in each)]:
                if text:
                    count, named = found.get(text, (0, {}))
                    if client is not None and len(named) < self._named:
                        named[str(client)] = None
                    found[text] = count + 1, named
        values = {text: SettingValue(count, tuple(named)) for text, (count, named) in found.items()}
        return Setting(values, len(rows), self._whole and len(rows) == len(those))

    @staticmethod
    def _read_texts(reading: FieldReader, field: FieldPath, rows: Ints) -> list[list[str]]:
        """Returns the distinct values in each row."""
        found = reading.read_by_row(field, rows)
        reading.forget()
        return [list(dict.fromkeys(_format_value(field, value) for value in values)) for values in found]


def _format_value(field: FieldPath, value: Any) -> str:
    if isinstance(value, Secret):
        return "(secret)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return (field.label and field.label(value)) or str(value)
    return str(value)[:LONGEST]


def _choose_evenly(reader: RowReader, rows: Ints) -> Ints:
    """Returns at most OF_EACH rows of each protocol, operation, version and client, ascending."""
    if not len(rows):
        return rows
    columns = [reader.take_cells(name, rows) for name in ("protocol", "operation", "version", "client")]
    _, keys = make_group_keys(columns)
    order = np.argsort(keys, kind="stable")
    begin, end = find_runs(keys[order])
    count = end - begin
    step = np.repeat(-(-count // OF_EACH), count)
    return np.sort(rows[order[rank_in_runs(count) % step == 0]])
