"""Makes the texts of many similar messages at once; this is the fast path beside decoding them one by one.

Theory. Of the rows with the same operation, version and direction, one is decoded with symbolic values
(dissectors.symbolic). Its text is made once, with marks where symbolic values are printed. This template is matched
with the other rows (analyzer.decode.templates). Rows that match get the same text, with columns of their own values in
place of the marks. Rows that match no template are left to the caller, who decodes them one by one;
tests/analyzer/decode/test_template_decoder.py compares both.

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
from analyzer.decode.byte_source import ByteSource, ConcatenatedMessages
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
from analyzer.decode.templates import Template, TemplateMatch
from analyzer.messages.row_findings import ALONE, decode_findings
from dissectors.api import Body, Context, Dissector, Role, State
from dissectors.finding import Finding
from dissectors.slotted import replace
from dissectors.symbolic import TemplateBuilder
from dissectors.symbolic_values import BEGIN, END, Marked
from dissectors.wire.fast_path import NULL

TOGETHER, TOGETHER_BYTES = 98_304, 24 << 20
"""Rows, and bytes of their messages, that callers should pass in one call: larger batches have more similar rows."""

WORTH = 24
"""Number of rows below which a new template costs more than decoding them. Each WORTH_BYTES count as one more row.

It is a fourth for a template that exists.
"""

WORTH_BYTES = 2048

MANY, FEW = 512, 8
"""With at least MANY rows of a kind, or fewer than FEW templates, all templates are tried and new ones are made.

Otherwise (few rows at a time, as in a live capture) only templates that are likely to match are tried.
"""

GUESSED, GUESSED_BYTES = 32_768, 4 << 20
"""Rows, and bytes of their messages, that are guessed in one call. An interrupt waits for one call at most."""

LONGEST = 4 << 20
"""Length in bytes above which a message is decoded alone."""

REQUEST_BUDGET = 24 << 20
"""Bytes of requests that are read together with the responses of one call."""

_ONE, _SEVERAL, _PAIR = range(3)
"""Where the bytes of a message are: in one piece, in several, or (pair) followed by those of the request it answers."""

MOST_TEMPLATES, MOST_OF_A_KIND = 2048, 128
"""Largest number of templates in memory, in all and for one kind of messages; a large template counts as several."""

MOST_TRIED = 1024
"""A template is kept if more than one row in MOST_TRIED matches, because each is matched with all remaining rows."""

POOR_IN_A_ROW, MOST_POOR = 4, 64
"""Number of useless templates after which no more are made: for these rows, and for this kind of messages."""

_MARK = re.compile(f"{BEGIN}([0-9]+){END}")

BodyTexts = Mapping[str, str]
"""The texts of a row's body by slot, with marks."""

MakeBodyTexts = Callable[[Body, Dissector, Context], BodyTexts]


class TemplateGroup(NamedTuple):
    """Holds rows that match one template. `tried`: indexes of all rows that were compared with it."""

    tried: Ints
    match: TemplateMatch

    @property
    def places(self) -> Ints:
        """Indexes of the rows in their chunk."""
        return self.tried[self.match.rows]


@dataclass(slots=True)
class MessageTemplates:
    """Holds the templates for one operation, version and direction. `poor`: number of useless ones.

    left: earlier messages that matched none and were too few for a new one, at most WORTH.
    """

    templates: list[Template] = field(default_factory=list)
    poor: int = 0
    left: int = 0


class TemplateCache:
    """Holds the templates by kind of messages. `count`: their total cost, limited by MOST_TEMPLATES."""

    def __init__(self) -> None:
        self.kinds: OrderedDict[Hashable, MessageTemplates] = OrderedDict()
        self.count = 0

    def find_or_add(self, key: Hashable) -> MessageTemplates:
        """Returns the templates of a kind of messages; makes an empty entry if needed."""
        kind = self.kinds.setdefault(key, MessageTemplates())
        self.kinds.move_to_end(key)
        return kind

    def trim(self) -> None:
        """Drops the least recently used kinds while the total cost is above the limit."""
        while self.count > MOST_TEMPLATES:
            self.count -= sum(template.cost for template in self.kinds.popitem(last=False)[1].templates)


class TemplateDecoder:
    """Decodes many similar rows with templates, and keeps the templates. `say` makes the texts of a decoded body.

    cache: templates of another decoder whose `say` makes the same texts; it may belong to another analysis.
    needs_requests: whether one of the texts is the summary line, for which a response may need its request. Then
    response and request match a template together.
    """

    def __init__(
        self, reader: RowReader, say: MakeBodyTexts, cache: TemplateCache | None = None, *, needs_requests: bool = True
    ) -> None:
        self._reader, self._session, self._say, self._needs_requests = reader, reader.session, say, needs_requests
        self._templates = TemplateCache() if cache is None else cache
        self._hints: list[Mapping[str, str]] = []
        """Extra contexts of the orphans among these rows. In a key, -2 stands for the first, -3 for the next."""

    def find_groups(self, rows: Ints) -> list[TemplateGroup]:
        """Returns groups of indexes in `rows`; rows in no group match no template."""
        found: list[TemplateGroup] = []
        for key, places in self._find_alike(rows):
            kind = self._templates.find_or_add(self._make_key(key))
            if kind.templates or kind.poor < MOST_POOR:
                found += self._group_alike(kind, rows, places, key)
        self._templates.trim()
        _read_nested([group.match for group in found])
        return [group for group in found if len(group.match.rows)]

    def _make_key(self, key: tuple[int, ...]) -> Hashable:
        """Returns the key without the numbers that are valid in this analysis only."""
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
        """Writes numbers of hints into the `extra` cells of orphans, so that orphans with equal hints are one kind."""
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
        """Yields the complete rows of each kind that has enough rows for a template."""
        table = self._session.rows
        columns = [table.column(name)[rows] for name in ("code", "version", "role", "extra", "protocol")]
        orphan = (columns[0] == NULL) & (columns[2] == Role.RESPONSE)
        has_hints = len(rows) >= WORTH // 4
        if has_hints:
            self._number_hints(rows, columns[3])
        columns.append(np.where(table.column("count")[rows] > 1, _SEVERAL, _ONE).astype(np.int8))
        finding_flags = self._reader.flag_findings(rows)
        columns.append(finding_flags)
        good = table.column("state")[rows] == np.where(orphan, State.GUESSED, State.COMPLETE)
        good &= (table.column("length")[rows] <= LONGEST) & (columns[2] != Role.RAW) & (columns[4] >= 0)
        good &= finding_flags & ALONE == 0
        if not has_hints:  # one orphan's guess may be wrong for another that its template matches
            good &= ~orphan
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
                if _estimate_worth(length[some]) >= WORTH // 4:
                    yield (*kind, how, finding_bits), some

    def _join_requests(self, rows: Ints, places: Ints, lies: int, budget: int) -> tuple[dict[int, Ints], int]:
        """Divides responses by where their bytes are: those without request, and those read together with it.

        Requests are read up to `budget` bytes; also returns the remaining budget. Responses without known request show
        no request fields, so they are similar to each other. Responses with a long request, or above the budget, are
        left out.
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
            if not len(places) or not (
                template.is_likely(len(places)) or (many and _estimate_worth(length) >= WORTH // 4)
            ):
                break
            match = TemplateMatch(template, source, at, length)
            template.hits, template.tried = template.hits + len(match.rows), template.tried + len(places)
            if len(match.rows):
                yield TemplateGroup(places, match)
                places, at, length = (np.delete(column, match.rows) for column in (places, at, length))
        if not many:
            return
        while poor < POOR_IN_A_ROW and kind.poor < MOST_POOR:
            worth = _estimate_worth(length)
            if not len(places) or worth < WORTH // 4 or worth + kind.left < WORTH:
                break
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
                kind.left = max(kind.left - WORTH, 0)
            if made is None:  # Most other messages of this length would fail, too.
                done = np.flatnonzero(length == length[done[0]])
            places, at, length = (np.delete(column, done) for column in (places, at, length))
        kind.left = min(kind.left + _estimate_worth(length), WORTH)

    def _locate_bytes(self, rows: Ints, lies: int) -> tuple[ByteSource, Ints, Ints]:
        """Returns a source in which the bytes of each row are contiguous, and their positions and lengths."""
        table, session = self._session.rows, self._session
        first, length = table.column("pieces")[rows], table.column("length")[rows]
        if lies == _ONE:
            at = session.engine.pieces.column("at")[first]
            if not session.source.store.is_scattered(at):
                return session.source.store, at, length
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
        except Exception:  # of any kind: decoding the row alone raises and reports it again
            return None
        if made is None:
            return None
        texts = {slot: _cut_text(text, made.builder) for slot, text in body_texts.items()}
        # Text that is not printable ASCII would have to be escaped for terminals.
        if not all(_is_plain(part) for text in texts.values() for part in text if type(part) is bytes):
            return None
        return Template(made.builder, texts, made.body)


def _estimate_worth(length: Ints) -> int:
    """Returns the cost of decoding messages of these lengths one by one, as a number of short messages."""
    return len(length) + int(length.sum()) // WORTH_BYTES


def _find_likeliest(length: Ints) -> int:
    """Returns the first message of the most frequent length: most other messages are likely to be similar to it."""
    _, first, count = np.unique(length, return_index=True, return_counts=True)
    return int(first[count.argmax()])


def _is_plain(part: bytes) -> bool:
    return part.isascii() and part.decode().isprintable()


def _read_nested(match: Sequence[TemplateMatch]) -> None:
    """Decodes the nested values of all groups together, because each call has a high fixed cost."""
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
    """Splits a text at its marks."""
    parts: list[bytes | Marked] = []
    for index, part in enumerate(_MARK.split(text)):
        if index % 2:
            parts.append(builder.marks[int(part)])
        elif part:
            parts.append(part.encode())
    return parts
