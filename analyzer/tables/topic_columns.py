"""What messages are about, as columns: topics, groups of consumers, paths of nodes.

Theory. What a message says itself comes with its body (topic_values.py), which is decoded once for all columns; only
rows whose body nobody has read are decoded here. Half of all messages say nothing themselves, but the other half of
their exchange does. Few different lists occur, so a row keeps the number of what it is about, four bytes, and each of
these is kept once.

Topics that have only an id stay ids here: who told their names may be read somewhere else (topic_names.py,
analyzer.pipeline.finish).
What a connection has counted for itself, producers and consumers, is resolved, for that is told within the connection.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from analyzer.columns.arrays import Ints, iterate_groups, make_group_keys
from analyzer.decode.jsonable import Limits
from analyzer.decode.name_resolver import NameResolver
from analyzer.decode.request_fields import find_own_request_rows
from analyzer.decode.rows import RowReader, split_rows
from analyzer.decode.template_decoder import TOGETHER, TOGETHER_BYTES
from analyzer.query.fields.getting import ScopedNumber
from analyzer.query.fields.sessions import follow_sessions
from analyzer.session import Analysis
from analyzer.tables.bodies import TOPICS, BodyColumns, BodyReader, DecoderMemory
from analyzer.tables.topic_values import ALIASES, NO_TOPICS, TopicItem, TopicValues, list_aliases
from dissectors.wire.fast_path import NULL

MOST_NAMES = 1000
"""Things that one message is about, beyond which the others are not told."""

MOST_CACHED = 32 << 20
"""Bytes of what is kept, beyond which it is read anew when it is asked for again."""

EACH = 256
"""Bytes that a list takes besides the characters in it."""

_UNREAD = -1
_NOTHING: tuple[str, ...] = ()
_NOWHERE = [False] * len(ALIASES)

NamedLists = dict[str, pa.Array]
"""By column: for each row a list of texts, an empty one where there are none."""


class TopicColumns:
    """Reads what rows of an analysis are about, which was read to its end."""

    def __init__(self, session: Analysis) -> None:
        self._session, self._reader = session, RowReader(session)
        aliases = [list_aliases(dissector) for dissector in session.engine.known.dissectors]
        self._aliases = dict(zip((each.name for each in session.engine.known.dissectors), aliases, strict=True))
        self._learned = DecoderMemory((TOPICS,), Limits())
        self._resolver: NameResolver | None = None
        self._clear()

    def _clear(self) -> None:
        self._of_row = np.full(len(self._session.rows), _UNREAD, np.int32)
        self._pools = [_ListPool() for _ in ALIASES]
        self._kinds: dict[tuple[int, ...], int] = {}

    def columns(self, rows: Ints) -> NamedLists:
        """Returns the topics, groups and paths of rows (n, in any order).

        A row that names none has those of its partner.

        Each name is there once, in the order of the message, at most MOST_NAMES.
        """
        self._read_rows(rows)
        own = self._find_numbers(rows)
        partner = self._session.rows.column("partner")[rows].astype(np.int64)
        paired = np.flatnonzero(partner != NULL)
        getters, keys = self._learned.topics.find_row_getters(self._session, partner[paired])
        naming = np.array([list(map(bool, each)) or _NOWHERE for each in getters], bool).reshape(-1, len(ALIASES))
        useful = (naming[keys] & (own[paired] == 0)).any(axis=1)
        paired = paired[useful]
        self._read_rows(partner[paired])
        found = own.copy()
        found[paired] = np.where(own[paired] == 0, self._find_numbers(partner[paired]), own[paired])
        lists = {column: self._pools[at].build_lists(found[:, at]) for at, column in enumerate(ALIASES)}
        if sum(pool.size for pool in self._pools) > MOST_CACHED:
            self._clear()
        return lists

    def _find_numbers(self, rows: Ints) -> Ints:
        return np.array(list(self._kinds), np.int64).reshape(-1, len(ALIASES))[self._of_row[rows]]

    def _read_rows(self, rows: Ints) -> None:
        """Decodes rows that were not read yet, if their messages may name anything."""
        missing = np.unique(rows[self._of_row[rows] == _UNREAD])
        if not len(missing):
            return
        getters, keys = self._learned.topics.find_row_getters(self._session, missing)
        naming = np.array(list(map(bool, getters)))[keys]
        self._add_numbers(missing[~naming], np.zeros(np.count_nonzero(~naming), np.int64), [NO_TOPICS])
        for part in split_rows(self._session, missing[naming], TOGETHER, TOGETHER_BYTES):
            self.add_bodies(BodyReader(self._reader, self._learned).read_bodies(part))

    def add_bodies(self, body_columns: BodyColumns) -> None:
        """Takes what rows name from bodies that were read for other columns, too."""
        self._add_numbers(body_columns.rows, body_columns.numbers[TOPICS], body_columns.topics.values)

    def _add_numbers(self, rows: Ints, numbers: Ints, values: Sequence[TopicValues]) -> None:
        found = self._number_lists(rows, numbers, values)
        self._add_sessions(rows, found)
        kinds, keys = make_group_keys(list(found.T))
        named = [
            self._kinds.setdefault(kind, len(self._kinds))
            for kind in zip(*(each.tolist() for each in kinds), strict=True)
        ]
        self._of_row[rows] = np.array(named, np.int32)[keys]

    def _number_lists(self, rows: Ints, numbers: Ints, values: Sequence[TopicValues]) -> Ints:
        """Returns the numbers of lists in the pools (n rows, a column for each of ALIASES)."""
        fixed = np.zeros((len(values), len(ALIASES)), np.int64)
        scoped = np.zeros(len(values), bool)
        for place, value in enumerate(values):
            for column, items in enumerate(value.columns):
                if any(type(item) is ScopedNumber for item in items):
                    scoped[place] = True
                elif items:
                    fixed[place, column] = self._number_texts(value.protocol, column, items)
        found = fixed[numbers]
        left = np.flatnonzero(scoped[numbers])
        if len(left):
            kinds, keys = make_group_keys([numbers[left], self._reader.take_cells("stream", rows[left])])
            for key, places in iterate_groups(keys):
                self._number_scoped(rows, left[places], values[int(kinds[0][key])], found)
        return found

    def _number_scoped(self, rows: Ints, places: Ints, value: TopicValues, found: Ints) -> None:
        """Numbers the lists of rows of a connection, with the names of what it has numbered, into `found`."""
        for column, items in enumerate(value.columns):
            resolved = [self._resolve_item(value.protocol, column, item, rows[places]) for item in items]
            if resolved:
                which, keys = make_group_keys([numbers for _, numbers in resolved])
                lists = [
                    [names[number] for (names, _), number in zip(resolved, kind, strict=True)]
                    for kind in zip(*(each.tolist() for each in which), strict=True)
                ]
                mine = [self._number_texts(value.protocol, column, texts) for texts in lists]
                found[places, column] = np.array(mine, np.int64)[keys]

    def _resolve_item(self, protocol: str, column: int, item: TopicItem, rows: Ints) -> tuple[list[str | None], Ints]:
        """Returns texts, and for each row the number of the one that an item stands for; None where it is unknown."""
        alias = self._aliases[protocol][column]
        if alias is None or type(item) is not ScopedNumber:
            return [str(item)], np.zeros(len(rows), np.int64)
        if self._resolver is None:
            # Who made what a connection numbers says it of its topic, and of its subscription.
            every = (each for aliases in self._aliases.values() for each in aliases if each is not None)
            self._resolver = NameResolver(self._session, {each.kind for each in every if each.kind is not None})
            self._resolver.learn(len(self._session.rows))
        return self._resolver.find_scoped(str(alias.kind), str(item.number), item.scope, rows)

    def _number_texts(self, protocol: str, column: int, items: Sequence[TopicItem | None]) -> int:
        """Returns the number of a list of texts; what stands for nothing is left out."""
        alias = self._aliases[protocol][column]
        nothing = frozenset() if alias is None else alias.nothing
        texts = [item for item in items if isinstance(item, str) and item and item not in nothing]
        return self._pools[column][texts[0] if len(texts) == 1 else tuple(texts)] if texts else 0

    def _add_sessions(self, rows: Ints, found: Ints) -> None:
        """Adds what rows name by the session that they belong to."""
        protocols = self._reader.take_cells("protocol", rows)
        for number, aliases in enumerate(self._aliases.values()):
            for column, alias in enumerate(aliases):
                mine = np.flatnonzero(protocols == number) if alias is not None and alias.session is not None else ()
                if alias is None or alias.session is None or not len(mine):
                    continue
                requests = find_own_request_rows(self._session, rows[mine])
                reach = follow_sessions(self._session).find_reach(alias.session, requests, len(self._session.rows))
                # A name that is no text, as a damaged message has it, is none here.
                lists = [
                    tuple(islice((name for name in each if isinstance(name, str)), MOST_NAMES)) for each in reach.lists
                ]
                (own, in_session), keys = make_group_keys([found[mine, column], reach.numbers])
                both = zip(own.tolist(), in_session.tolist(), strict=True)
                pool = self._pools[column]
                found[mine, column] = np.array([pool.with_more(one, lists[more]) for one, more in both], np.int64)[keys]


class _ListPool(dict[Any, int]):
    """Numbers of different lists; the key of one with a single text is the text. Number 0 is the empty one."""

    def __init__(self) -> None:
        super().__init__()
        self._lists: list[tuple[str, ...]] = [_NOTHING]
        self.size = 0

    def __missing__(self, key: str | tuple[str, ...]) -> int:
        texts = (key,) if isinstance(key, str) else tuple(islice(dict.fromkeys(key), MOST_NAMES))
        self.size += EACH + sum(map(len, texts))
        number = self[key] = len(self._lists)
        self._lists.append(tuple(text.encode("utf-8", "backslashreplace").decode() for text in texts))
        return number

    def with_more(self, number: int, more: tuple[str, ...]) -> int:
        """The number of a list with more texts behind it."""
        return self[(*self._lists[number], *more)] if more else number

    def build_lists(self, numbers: Ints) -> pa.Array:
        """The lists of these numbers."""
        used, back = np.unique(numbers, return_inverse=True)
        different = pa.array([self._lists[number] for number in used.tolist()], pa.list_(pa.string()))
        return different.take(pa.array(back))
