"""Texts of many alike messages at once: the fast path beside decoding each for itself.

Theory. Of the rows of one operation, version and direction one is read with symbolic values (dissectors.symbolic), and
what is to be printed is made of it once, with marks. The template is laid over the others (analyzer.decode.templates);
those that match it get their text with columns in the places of the marks. What is like nothing is left to the caller,
who decodes it row by row; tests/analyzer/decode/test_template_decoder.py holds the two equal.

A template compares only what the dissector's readers compared: every use of a symbolic value is a condition.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import numpy as np

from analyzer.columns.arrays import Ints, iterate_groups, make_group_keys
from analyzer.columns.values import Values
from analyzer.decode.content import (
    find_dissector,
    find_orphans,
    guess_hints,
    make_context,
    read_context,
    read_message,
    read_messages,
)
from analyzer.decode.request_fields import are_short, find_request_rows, list_request_fields
from analyzer.decode.rows import RowReader, split_rows
from analyzer.decode.templates import ByteSource, ConcatenatedMessages, Template, TemplateMatch
from analyzer.messages.row_findings import ALONE, decode_findings
from dissectors.api import Body, Context, Dissector, Role, State
from dissectors.finding import Finding
from dissectors.slotted import replace
from dissectors.symbolic import TemplateBuilder
from dissectors.symbolic_values import BEGIN, END, Marked
from dissectors.wire.fast_path import NULL

TOGETHER, TOGETHER_BYTES = 98_304, 24 << 20
"""Rows, and bytes of their messages, to be given at one time: the more, the more are alike."""

WORTH = 24
"""Rows below which a template costs more than decoding them. Long ones count more, by WORTH_BYTES."""

WORTH_BYTES = 2048

MANY, FEW = 512, 8
"""Rows of a kind from which on all known templates are matched with them, and more are made, or templates up to
which that is: of fewer rows, as they come live, only what will be worth it is tried.
"""

GUESSED, GUESSED_BYTES = 32_768, 4 << 20
"""Rows, and bytes of their messages, that are guessed at one time: an interrupt waits for no more."""

LONGEST = 4 << 20
"""Bytes of a message beyond which it is decoded for itself."""

REQUEST_BUDGET = 24 << 20
"""Bytes of requests that are read beside the answers of one call."""

_ONE, _SEVERAL, _PAIR = range(3)
"""How a message lies: in one piece, in several, or read with the request that it answers."""

MOST_TEMPLATES, MOST_OF_A_KIND = 2048, 128
"""Templates in memory, in all and for messages of one kind; a large one counts as many."""

MOST_TRIED = 1024
"""A template is worth its cost if at least one in so many rows matches: each is matched with all rows left."""

POOR_IN_A_ROW, MOST_POOR = 4, 64
"""Templates that were not worth their cost after which no more are made: for these rows, and in all."""

_MARK = re.compile(f"{BEGIN}([0-9]+){END}")

BodyTexts = Mapping[str, str]
"""The texts of a row's body, by slot: with marks."""

MakeBodyTexts = Callable[[Body, Dissector, Context], BodyTexts]


class TemplateGroup(NamedTuple):
    """Rows that have the same text but for what differs; `tried`: their places, and those of rows that fell out."""

    tried: Ints
    match: TemplateMatch

    @property
    def places(self) -> Ints:
        """Indexes of the rows in their chunk."""
        return self.tried[self.match.rows]


@dataclass(slots=True)
class MessageTemplates:
    """The templates for one operation, version and direction. `poor`: how many were of no use."""

    templates: list[Template] = field(default_factory=list)
    poor: int = 0


class TemplateCache:
    """The templates found so far, by kinds of messages; `count`: their cost, as MOST_TEMPLATES limits it."""

    def __init__(self) -> None:
        self.kinds: OrderedDict[Hashable, MessageTemplates] = OrderedDict()
        self.count = 0

    def find_or_add(self, key: Hashable) -> MessageTemplates:
        """Returns the templates of a kind of messages; makes an empty entry if needed."""
        kind = self.kinds.setdefault(key, MessageTemplates())
        self.kinds.move_to_end(key)
        return kind

    def trim(self) -> None:
        """Forgets the kinds that were met longest ago, if there is too much."""
        while self.count > MOST_TEMPLATES:
            self.count -= sum(template.cost for template in self.kinds.popitem(last=False)[1].templates)


class TemplateDecoder:
    """Decodes many similar rows with templates, and keeps the templates. `say` makes the texts of a decoded body.

    cache: templates of another decoder, also of another analysis, whose `say` makes the same texts. needs_requests:
    whether one of the texts is the summary line, for which an answer may need its request. Then both messages match a
    template, or neither.
    """

    def __init__(
        self, reader: RowReader, say: MakeBodyTexts, cache: TemplateCache | None = None, *, needs_requests: bool = True
    ) -> None:
        self._reader, self._session, self._say, self._needs_requests = reader, reader.session, say, needs_requests
        self._templates = TemplateCache() if cache is None else cache
        self._hints: list[Mapping[str, str]] = []
        """What orphans of these rows are read as; in a key of a kind, -2 stands for the first."""

    def find_groups(self, rows: Ints) -> list[TemplateGroup]:
        """Groups of places in `rows`; what is in none is like nothing."""
        found: list[TemplateGroup] = []
        for key, places in self._find_alike(rows):
            kind = self._templates.find_or_add(self._make_key(key))
            if kind.templates or kind.poor < MOST_POOR:
                found += self._group_alike(kind, rows, places, key)
        self._templates.trim()
        _read_nested([group.match for group in found])
        return [group for group in found if len(group.match.rows)]

    def _make_key(self, key: tuple[int, ...]) -> Hashable:
        """The same without what is only this analysis's number of something."""
        *numbers, extra, protocol, lies, finding_flags = key
        engine = self._session.engine
        extras = self._read_extra(extra)
        return *numbers, extras and tuple(sorted(extras.items())), engine.dissector(protocol), lies, finding_flags

    def _read_extra(self, number: int) -> Mapping[str, str] | None:
        """Returns the extra context of a kind, by its number in the index or in `_hints`."""
        if number == NULL:
            return None
        return self._hints[-2 - number] if number < 0 else self._session.engine.extras[number]

    def _number_hints(self, rows: Ints, extra: Ints) -> None:
        """Writes what orphans are read as into their extra contexts, so that those that are read alike are a kind."""
        known: dict[tuple[tuple[str, str], ...], int] = {}
        orphans = find_orphans(self._session, rows)
        begin = 0
        for part in split_rows(self._session, rows[orphans], GUESSED, GUESSED_BYTES):
            hints = guess_hints(self._session, part, read_messages(self._session, part))
            for place, each in hints.items():
                extra[orphans[begin + place]] = -2 - known.setdefault(tuple(sorted(each.items())), len(known))
            begin += len(part)
        self._hints = [dict(items) for items in known]

    def _find_alike(self, rows: Ints) -> Iterator[tuple[tuple[int, ...], Ints]]:
        """Places of whole rows of the same kind, if there are enough of them to make a template."""
        table = self._session.rows
        columns = [table.column(name)[rows] for name in ("code", "version", "role", "extra", "protocol")]
        if len(rows) >= WORTH:
            self._number_hints(rows, columns[3])
        columns.append(np.where(table.column("count")[rows] > 1, _SEVERAL, _ONE).astype(np.int8))
        finding_flags = self._reader.flag_findings(rows)
        columns.append(finding_flags)
        orphan = (columns[0] == NULL) & (columns[2] == Role.RESPONSE)
        good = table.column("state")[rows] == np.where(orphan, State.GUESSED, State.COMPLETE)
        good &= (table.column("length")[rows] <= LONGEST) & (columns[2] != Role.RAW) & (columns[4] >= 0)
        good &= finding_flags & ALONE == 0
        places = np.flatnonzero(good)
        if not len(places):
            return
        length = table.column("length")[rows]
        kinds, keys = make_group_keys([column[places] for column in columns])
        budget = REQUEST_BUDGET
        for key, alike in iterate_groups(keys):
            *kind, lies, finding_bits = (int(column[key]) for column in kinds)
            those = {lies: places[alike]}
            if self._needs_requests and self._list_request_fields(*kind):
                those, budget = self._join_requests(rows, places[alike], lies, budget)
            for how, some in those.items():
                if _estimate_worth(length[some]) >= WORTH:
                    yield (*kind, how, finding_bits), some

    def _join_requests(self, rows: Ints, places: Ints, lies: int, budget: int) -> tuple[dict[int, Ints], int]:
        """Answers that need their request, by how they lie: beside it, as far as there is room for so many bytes.

        Where the request is unknown, nothing of it is said, and the answer is alike to others of that sort. Gives also
        the room that is left.
        """
        requests = find_request_rows(self._session, rows[places])
        known = np.flatnonzero(requests >= 0)
        short = known[are_short(self._session, requests[known])]
        taken = np.cumsum(self._session.rows.column("length")[requests[short]], dtype=np.int64)
        fitting = int(np.searchsorted(taken, budget, "right"))
        left = budget - (int(taken[fitting - 1]) if fitting else 0)
        return {lies: places[requests < 0], _PAIR: places[short[:fitting]]}, left

    def _list_request_fields(self, code: int, version: int, role: int, extra: int, protocol: int) -> bool:
        if extra < 0 and extra != NULL:
            return False
        context = make_context(self._session, role, code, version, extra)
        return bool(list_request_fields(self._session.engine.dissector(protocol), context))

    def _group_alike(
        self, kind: MessageTemplates, rows: Ints, places: Ints, key: tuple[int, ...]
    ) -> Iterator[TemplateGroup]:
        *_, extra, _, lies, finding_bits = key
        source, at, length = self._locate_bytes(rows[places], lies)
        kind.templates.sort(key=lambda template: -template.hits)
        self._templates.count -= sum(template.cost for template in kind.templates[MOST_OF_A_KIND:])
        del kind.templates[MOST_OF_A_KIND:]
        many, poor = len(places) >= MANY or len(kind.templates) < FEW, 0
        for template in sorted(kind.templates, key=lambda template: not template.is_likely(len(places))):
            if not len(places) or not (template.is_likely(len(places)) or (many and _estimate_worth(length) >= WORTH)):
                break
            match = TemplateMatch(template, source, at, length)
            template.hits, template.tried = template.hits + len(match.rows), template.tried + len(places)
            if len(match.rows):
                yield TemplateGroup(places, match)
                places, at, length = (np.delete(column, match.rows) for column in (places, at, length))
        if not many:
            return
        while _estimate_worth(length) >= WORTH and poor < POOR_IN_A_ROW and kind.poor < MOST_POOR:
            done = np.array([_find_likeliest(length)])
            made = self._make_template(int(rows[places[done[0]]]), lies, decode_findings(finding_bits), extra)
            if made is not None:
                match = TemplateMatch(made, source, at, length)
                enough = len(match.rows) > len(places) // MOST_TRIED
                if enough and _estimate_worth(length[match.rows]) >= WORTH // 4:
                    poor, done = 0, match.rows
                    kind.templates.append(made)
                    self._templates.count += made.cost
                    yield TemplateGroup(places, match)
                    made.hits += len(done)
                    made.tried += len(places)
            if len(done) == 1:
                poor += 1
                kind.poor += 1
            if made is None:  # so it is of most others of this length, and they must not use up all attempts
                done = np.flatnonzero(length == length[done[0]])
            places, at, length = (np.delete(column, done) for column in (places, at, length))

    def _locate_bytes(self, rows: Ints, lies: int) -> tuple[ByteSource, Ints, Ints]:
        """Where the bytes of rows can be read, all in one piece: places and lengths."""
        table, session = self._session.rows, self._session
        first, length = table.column("pieces")[rows], table.column("length")[rows]
        if lies == _ONE:
            return session.source.store, session.engine.pieces.column("at")[first], length
        if lies == _PAIR:
            requests = table.column("partner")[rows]
            length = length.astype(np.int64) + table.column("length")[requests]
            pairs = zip(read_messages(session, rows), read_messages(session, requests), strict=True)
            return ConcatenatedMessages([part for pair in pairs for part in pair]), np.cumsum(length) - length, length
        return ConcatenatedMessages(read_messages(session, rows)), np.cumsum(length) - length, length

    def _make_template(self, row: int, lies: int, row_findings: tuple[Finding, ...], extra: int) -> Template | None:
        session = self._session
        dissector, context = find_dissector(session, row), read_context(session, row)
        context = replace(context, extra=self._read_extra(extra))
        if dissector is None or dissector.template is None:
            return None
        try:
            if lies == _PAIR:
                requests = session.rows.cell("partner", row)
                request = read_message(session, requests), read_context(session, requests)
                made = dissector.template(read_message(session, row), context, request)
                if made is not None:
                    made = made._replace(body=made.body._replace(request_code=request[1].code))
            else:
                made = dissector.template(read_message(session, row), context, None)
            if made is not None and row_findings:
                made = made._replace(body=made.body._replace(findings=(*row_findings, *made.body.findings)))
            body_texts = {} if made is None else self._say(made.body, dissector, context)
        except Exception:  # of whatever kind: the row's own decoding meets it again, and tells
            return None
        if made is None:
            return None
        texts = {slot: _cut_text(text, made.builder) for slot, text in body_texts.items()}
        # What is not plain would have to be escaped for a terminal, and is a text that no reader left open.
        if not all(_is_plain(part) for text in texts.values() for part in text if type(part) is bytes):
            return None
        return Template(made.builder, texts)


def _estimate_worth(length: Ints) -> int:
    """What decoding messages of these lengths one by one costs, in short ones."""
    return len(length) + int(length.sum()) // WORTH_BYTES


def _find_likeliest(length: Ints) -> int:
    """The first message of the length that most have: more are like it than like most others."""
    _, first, count = np.unique(length, return_index=True, return_counts=True)
    return int(first[count.argmax()])


def _is_plain(part: bytes) -> bool:
    return part.isascii() and part.decode().isprintable()


def _read_nested(match: Sequence[TemplateMatch]) -> None:
    """Reads what has a value of its own in all messages together, for each call costs as much as many."""
    requests = [(each, *question) for each in match for question in each.list_nested()]
    values: dict[int, dict[int, Values]] = {id(each): {} for each, *_ in requests}
    for read in dict.fromkeys(nested.read for _, nested, *_ in requests):
        mine = [question for question in requests if question[1].read is read]
        found = iter(
            read([content for *_, contents, _ in mine for content in contents], [n for *_, ns in mine for n in ns])
        )
        for each, nested, contents, _ in mine:
            values[id(each)][id(nested)] = list(islice(found, len(contents)))
    for each in match:
        if id(each) in values:
            each.set_nested_values(values[id(each)])


def _cut_text(text: str, builder: TemplateBuilder) -> list[bytes | Marked]:
    """A text at its marks."""
    parts: list[bytes | Marked] = []
    for index, part in enumerate(_MARK.split(text)):
        if index % 2:
            parts.append(builder.marks[int(part)])
        elif part:
            parts.append(part.encode())
    return parts
