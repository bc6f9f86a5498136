"""Names of what messages call by an id alone, as a table: who told them, and when.

Theory. Any message of a capture may have explained the id in any other one, and of many processes each has read some of
them. So each tells what it has learned, and what counts is decided when all is known: of an id the name that was told
first, of several at one time the first by its letters. That does not depend on who has read what.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa

from analyzer.decode.binding_sources import BindingSourceFinder
from analyzer.decode.name_resolver import LONGEST, MOST, NameResolver
from analyzer.decode.resolved_names import TOPIC
from analyzer.decode.rows import RowReader
from analyzer.session import Analysis
from analyzer.tables.arrow_columns import ColumnValues, count_days

TopicNames = Mapping[str, Mapping[str, str]]
"""By capture: names of topics by id."""

NO_NAMES: TopicNames = {}

NAMES = "names"

NAME_KEY = ("capture", "kind", "id")


def build_name_columns(session: Analysis) -> ColumnValues | None:
    """The columns of `names` but `capture`: of each id of a topic the name that was told first in this analysis.

    None where nothing was told. Of an analysis that was read to its end.
    """
    source_rows = BindingSourceFinder(session, (TOPIC,)).find_rows(0, len(session.rows))
    time = session.rows.column("time")
    source_rows = source_rows[np.argsort(time[source_rows], kind="stable")]
    first: dict[str, tuple[int, str, int]] = {}
    for row, binding in NameResolver(session, (TOPIC,)).name_bindings(source_rows):
        if binding.kind != TOPIC or binding.scope is not None or max(len(binding.key), len(binding.value)) > LONGEST:
            continue
        found, known = (int(time[row]), binding.value, row), first.get(binding.key)
        if known is not None or len(first) < MOST:
            first[binding.key] = found if known is None else min(known, found)
    if not first:
        return None
    times, names, rows = zip(*first.values(), strict=True)
    when = np.array(times, np.int64)
    (protocol,) = RowReader(session).read_columns(["protocol"], np.array(rows, np.int64))
    name_columns = {"kind": TOPIC, "id": list(first), "name": list(names), "protocol": protocol}
    return {**name_columns, "time_ns": when, "date": count_days(when)}


def select_first_names(batches: Iterable[pa.RecordBatch], known: TopicNames = NO_NAMES) -> Iterator[pa.RecordBatch]:
    """Rows of `names` from wherever they were learned: of each capture, kind and id the row that counts, in order.

    known: names that earlier runs have written; their ids are left out.
    """
    found = [batch for batch in batches if len(batch)]
    if not found:
        return
    rows = pa.Table.from_batches(found)
    rows = rows.sort_by([(key, "ascending") for key in (*NAME_KEY, "time_ns", "name")])
    new, last = [], None
    for place, key in enumerate(zip(*(rows.column(name).to_pylist() for name in NAME_KEY), strict=True)):
        capture, _, what = key
        if key != last and what not in known.get(capture, {}):
            new.append(place)
        last = key
    yield from rows.take(pa.array(new, pa.int64())).to_batches()


def index_names(batches: Iterable[pa.RecordBatch]) -> TopicNames:
    """Returns the names as a dict by capture and id."""
    found: dict[str, dict[str, str]] = {}
    for batch in select_first_names(batches):
        for capture, key, name in zip(
            *(batch.column(each).to_pylist() for each in ("capture", "id", "name")), strict=True
        ):
            found.setdefault(capture, {})[key] = name
    return found


def merge_names(one: TopicNames, other: TopicNames) -> TopicNames:
    """Returns the names of both; those of `one` count."""
    return {capture: {**other.get(capture, {}), **one.get(capture, {})} for capture in {**one, **other}}
