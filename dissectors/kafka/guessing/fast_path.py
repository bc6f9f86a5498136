"""Guesses the layouts of many answers without requests at once: the fast path of guess.candidates.

Theory. The tree of layouts is descended once for all messages that still fit, so a step takes a few columns instead of
a call for each message (weighing/fast_path.py). Messages with the same body are weighed once.

Most answers of an operation have the same length and differ in few bytes, such as offsets. What such messages have in
common is weighed once (CommonScales), and columns are needed only where they differ.

Reference: guess.guess; tests/dissectors/kafka/guessing/test_fast_path.py compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dissectors.kafka.guessing.guess import (
    BODY,
    HOPELESS,
    UNFIT,
    Candidate,
    Edge,
    Guess,
    Node,
    choose_believed,
    decide,
    descend,
    guess,
    has_secrets,
    is_whole,
    root,
)
from dissectors.kafka.guessing.shared_bytes import CommonScales, Differ
from dissectors.kafka.guessing.weighing.fast_path import ColumnScales, count_before
from dissectors.wire.fast_path import Column

ALIKE, MANY, MOST_KINDS = 256, 2048, 8
"""Messages of one length from which on their common bytes are weighed once. MANY of them are divided by the first byte
in which they differ, if it has at most MOST_KINDS values.
"""

LONGEST = 1 << 16
"""Bytes of a message beyond which it goes alone from the beginning."""

TOGETHER_BYTES = 4 << 20
"""Bytes of messages that are weighed at one time."""


def guess_many(messages: Sequence[bytes]) -> list[Guess | None]:
    """Guesses what each of n answers may be whose requests nobody saw, as guess() does; None where that gives None."""
    numbers: dict[bytes, int] = {}
    whose = [numbers.setdefault(message[BODY:], len(numbers)) if is_whole(message) else -1 for message in messages]
    firsts: list[bytes] = [b""] * len(numbers)
    for number, message in zip(reversed(whose), reversed(messages), strict=True):
        if number >= 0:
            firsts[number] = message
    found = [each for part in _split_messages(firsts) for each in _guess_together(part)]
    return [None if number < 0 else found[number] for number in whose]


def _split_messages(messages: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """Yields runs of messages that are not too many bytes; a long one stands alone."""
    part: list[bytes] = []
    size = 0
    for message in messages:
        if part and (size + len(message) > TOGETHER_BYTES or len(message) > LONGEST or len(part[-1]) > LONGEST):
            yield part
            part, size = [], 0
        part.append(message)
        size += len(message)
    if part:
        yield part


def _guess_together(messages: Sequence[bytes]) -> list[Guess | None]:
    if len(messages) < ColumnScales.few:
        return [guess(message) for message in messages]
    found = LayoutSearch(messages).list_candidates()
    known: dict[tuple[int, int], Guess | None] = {}
    return [_decide_with(known, each, fits) for each, fits in zip(messages, found, strict=True)]


def _decide_with(known: dict[tuple[int, int], Guess | None], message: bytes, fits: Sequence[Candidate]) -> Guess | None:
    """Decides; `known` keeps what does not depend on the message: the guess of a lone layout that holds no secrets."""
    if len(fits) != 1:
        return decide(message, choose_believed(fits))
    key = fits[0].key, fits[0].version
    if key in known:
        return known[key]
    found = decide(message, choose_believed(fits))
    if not has_secrets(*key):
        known[key] = found
    return found


class LayoutSearch:
    """Searches the layouts that take each of n messages to its end. Reference: guess.descend."""

    def __init__(self, messages: Sequence[bytes]) -> None:
        self._scales = ColumnScales(messages)
        self._found: list[list[Candidate]] = [[] for _ in messages]

    def list_candidates(self) -> list[list[Candidate]]:
        """Returns for each message the layouts that take it to its end."""
        scales, every = self._scales, np.arange(len(self._found))
        others, length = np.ones(len(every), bool), scales.end - scales.begin
        for rows in _split_by(length, every):
            there = scales.read_bodies(rows, BODY, int(length[rows[0]]) - BODY)
            for mine, differing in _split_alike(there, np.arange(len(rows))):
                alike = rows[mine]
                others[alike] = False
                before = [*[0] * BODY, *count_before(differing).tolist()]
                common = CommonScales(scales.messages[alike[0]], before)
                self._descend_alike(root(), common, alike, np.zeros(len(alike)), BODY)
        rows = np.flatnonzero(others)
        self._descend(root(), rows, np.zeros(len(rows)), scales.begin[rows] + BODY)
        return self._found

    def _descend_alike(self, node: Node, common: CommonScales, rows: Column, bits: Column, at: int) -> None:
        """See _descend; for messages of one length that have all been read up to `at`."""
        scales, offset = self._scales, self._scales.begin[rows] + at
        if len(rows) < scales.few:
            self._descend_alone(node, rows, bits, offset)
            return
        self._add_ended(node, rows, bits, offset)

        def price_many(kind: str, code: str, place: int) -> Column:
            return scales.take_fixed(kind, code, rows, scales.begin[rows] + place)[1]

        spent, room = 0, int(scales.left[rows].min())
        for edge in node.edges:
            if not edge.room.least <= len(common.data) - at <= edge.room.most:
                continue
            common.left, common.price_many = room - spent, price_many
            try:
                price, stop = common.one(edge.piece, at)
            except (Differ, *UNFIT) as reason:
                if common.left >= 0 and not isinstance(reason, Differ):
                    spent = room - common.left
                    continue
                scales.left[rows] -= spent
                self._follow(edge, rows, bits, offset, common)
            else:
                spent, total = room - common.left, bits + price
                good = self._select_believed(edge.behind, rows, total, len(common.data) - stop)
                if not len(good):
                    continue
                scales.left[rows] -= spent
                self._descend_alike(edge.behind, common, rows[good], total[good], stop)
            spent, room = 0, int(scales.left[rows].min())
        scales.left[rows] -= spent

    def _descend(self, node: Node, rows: Column, bits: Column, at: Column) -> None:
        """Finds the layouts behind a node for messages whose bytes before `at` took `bits`; see guess.descend."""
        if len(rows) < self._scales.few:
            self._descend_alone(node, rows, bits, at)
            return
        self._add_ended(node, rows, bits, at)
        left = self._scales.end[rows] - at
        for edge in node.edges:
            fitting = np.flatnonzero((left >= edge.room.least) & (left <= edge.room.most))
            if len(fitting):
                self._follow(edge, rows[fitting], bits[fitting], at[fitting])

    def _follow(self, edge: Edge, rows: Column, bits: Column, at: Column, common: CommonScales | None = None) -> None:
        """Weighs the piece of an edge, and descends. common: what weighs messages of one length that are alike."""
        scales = self._scales
        some, price, stop = scales.take(edge.piece, rows, at)
        rows, bits = rows[some], bits[some] + price
        good = self._select_believed(edge.behind, rows, bits, scales.end[rows] - stop)
        if not len(good):
            return
        rows, bits, stop = rows[good], bits[good], stop[good]
        places = stop - scales.begin[rows]
        if common is not None and (places == places[0]).all():
            self._descend_alike(edge.behind, common, rows, bits, int(places[0]))
        else:
            self._descend(edge.behind, rows, bits, stop)

    def _select_believed(self, node: Node, rows: Column, bits: Column, rest: Column | int) -> Column:
        """Returns which messages may go on with a node, by their bits so far and the rest of their bytes."""
        good = bits + node.rare < self._scales.limit[rows]
        return np.flatnonzero(good & (rest >= node.room.least) & (rest <= node.room.most))

    def _add_ended(self, node: Node, rows: Column, bits: Column, at: Column) -> None:
        """Adds the layouts that end at a node, for messages that end there, too."""
        limits = self._scales.limit
        ended = np.flatnonzero(at == self._scales.end[rows]) if node.ends else rows[:0]
        for row, price in zip(rows[ended].tolist(), bits[ended].tolist(), strict=True):
            limit = limits[row]
            for key, version, rare in node.ends:
                if price + rare < limit:
                    self._found[row].append(Candidate(price + rare, key, version))
                    limit = min(limit, price + rare + HOPELESS)
            limits[row] = limit

    def _descend_alone(self, node: Node, rows: Column, bits: Column, at: Column) -> None:
        every = self._scales
        for row, price, place in zip(rows.tolist(), bits.tolist(), (at - every.begin[rows]).tolist(), strict=True):
            scales = every.open_scales(row)
            descend(node, scales, price, place, self._found[row])
            every.left[row], every.limit[row] = scales.left, scales.limit


def _split_by(values: Column, rows: Column) -> Iterator[Column]:
    """Yields the rows of each value that many rows have."""
    order = rows[np.argsort(values[rows], kind="stable")]
    for alike in np.split(order, np.flatnonzero(np.diff(values[order])) + 1):
        if len(alike) >= ALIKE:
            yield alike


def _split_alike(there: Column, rows: Column) -> Iterator[tuple[Column, Column]]:
    """Yields rows of `there` (n, width) that are alike in their first bytes, with the columns in which they differ."""
    differing = (there[rows] != there[rows[0]]).any(axis=0)
    first = there[:, int(differing.argmax())]
    if len(rows) < MANY or not differing.any() or len(np.unique(first[rows])) > MOST_KINDS:
        yield rows, differing
        return
    for alike in _split_by(first, rows):
        yield from _split_alike(there, alike)
