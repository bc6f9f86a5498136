"""The lines of rows and streams: what stands where, signs, rules, and columns of the user's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from rich.cells import cell_len

from analyzer.config.model import ColorRule
from analyzer.decode.jsonable import Limits
from analyzer.session import Session
from tests.tui.driving import GOLDEN, KAFKA
from tests.tui.hostile import TEXTS, acts
from tui import theme
from tui.model.colour_rules import ColourRules, compile_rules
from tui.model.drawing import fit_spans
from tui.model.list_columns import ListColumns
from tui.model.row_cells import BodyCells, CellReader, RowCells, StreamCells
from tui.model.row_lines import RowLines
from tui.model.row_spans import SIGN_CELLS, RowContext, Span, StandardColumns, make_row_spans
from tui.model.stream_activity import CELLS, ActivityReader, StreamActivity
from tui.model.stream_groups import make_stream_spans
from tui.model.timeline import ListPlace, Timeline
from tui.model.times import TimeWidth

SAID = BodyCells(None, "jg, may create", ())
ROW = RowCells(
    7, "2026-11-21T14:15:13.809123456Z", 3, "kafka", "response", "Metadata", 12, 44, 8, 1_500_000, "complete", SAID
)
COLUMNS = StandardColumns.fit(120, 600, TimeWidth(15, 6), streams=9)


def text(spans: list[Span]) -> str:
    return "".join(output for _, output in spans)


def styles(spans: list[Span]) -> set[str]:
    return {style for style, output in spans if output.strip()}


LEADS = {
    "nothing": (RowContext("14:15"), "   "),
    "partner": (RowContext("14:15", partner=True), " ◂ "),
    "a partner that the filter hides": (RowContext("14:15", peeked=True), " ○ "),
    "marked": (RowContext("14:15", marked=True), " ● "),
    "marked partner": (RowContext("14:15", partner=True, marked=True), " ◆ "),
    "a rule": (RowContext("14:15", rule=("slow", "~")), "  ~"),
    "all": (RowContext("14:15", partner=True, marked=True, rule=("slow", "~")), " ◆~"),
}


@pytest.mark.parametrize("case", LEADS)
def test_the_first_cells_are_signs(case: str) -> None:
    look, signs = LEADS[case]
    line = text(make_row_spans(ROW, COLUMNS, look))
    assert line[:SIGN_CELLS] == signs
    assert line[SIGN_CELLS:].split() == [
        "7",
        "14:15",
        "3",
        "<",
        "Metadata",
        "v12",
        "44",
        "1.5ms",
        "jg,",
        "may",
        "create",
    ]


def test_a_rule_s_sign_is_not_reported_twice() -> None:
    row = RowCells(*[getattr(ROW, name) for name in RowCells.__slots__[:-1]], BodyCells("BAD", "", ()))
    assert text(make_row_spans(row, COLUMNS, RowContext("", rule=("error", "!"))))[:SIGN_CELLS] == "!  "
    assert text(make_row_spans(row, COLUMNS, RowContext("", rule=("mine", "m"))))[:SIGN_CELLS] == "! m"


def test_a_rule_paints_the_words_and_leaves_the_metrics() -> None:
    plain, ruled = (make_row_spans(ROW, COLUMNS, RowContext("14:15", rule=rule)) for rule in (None, ("slow", "~")))
    assert styles(ruled) == {"slow", "dim", "text"}
    assert [style for style, output in ruled if "Metadata" in output or "may create" in output] == ["slow", "slow"]
    assert styles(plain) == {"dim", "response", "text", "value"}


def test_what_is_ignored_says_so() -> None:
    row = RowCells(*[getattr(ROW, name) for name in RowCells.__slots__[:-1]], BodyCells("BAD", "secret", ()))
    line = text(make_row_spans(row, COLUMNS, RowContext("", ignored=True)))
    assert line.rstrip().endswith("ignored")
    assert "secret" not in line
    assert "BAD" not in line
    assert line[0] == " "


@pytest.mark.parametrize(("room", "where"), [(120, "time"), (50, "info")])
def test_a_reference_says_so_where_there_is_no_time_too(room: int, where: str) -> None:
    cells = 15 if room == 120 else 0
    columns = StandardColumns.fit(room, 600, TimeWidth(cells, 6 if cells else 0))
    line = text(make_row_spans(ROW, columns, RowContext("*REF*" if cells else "", referred=True)))
    assert line.count("*REF*") == 1
    assert (line.index("*REF*") > line.index("Metadata")) is (where == "info")


@pytest.mark.parametrize("width", [30, 44, 60, 64, 80, 90, 100, 160])
def test_heads_stand_above_their_columns(width: int) -> None:
    columns = StandardColumns.fit(width, 600, TimeWidth(15 if width >= 64 else 0, 6), streams=9)
    head, line = "▌" + columns.make_head(), text(make_row_spans(ROW, columns, RowContext("14:15:13.809123")))
    assert head.index("No.") + 3 == line.index("7") + 1
    assert head.index("Operation") == line.index("Metadata")
    assert head.index("Latency") + 7 == line.index("1.5ms") + 5
    assert head.index("Info") == line.index("jg,")
    if width >= 64:
        assert head.index("Time") == line.index("14:15")


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session([KAFKA]) as found:
        yield found.load()


def places(*rows: int) -> list[ListPlace]:
    return [ListPlace(-1), *(ListPlace(0, row) for row in rows)]


def test_a_background_covers_the_line_but_not_the_cursor(session: Session) -> None:
    palette = theme.make_palette("dark")
    rules, _ = compile_rules(
        (ColorRule("all", "length > 0", "white on red"), ColorRule("no", "length < 0", "blue")), {}
    )
    for rule in rules:
        palette.add_style(rule.style, rule.words)
    lines = RowLines(session, CellReader(session), palette.has_background)
    lines.colour_rules = ColourRules(session, rules)
    columns = lines.fit_columns(120, 648, 0)
    (line,) = lines.make_lines(places(5), columns).values()
    assert [style for style, _ in line.spans] == ["rule-0"]
    assert "rule-0" not in styles([span for span in line.cursor_spans if span[1].strip() != "a"])
    assert text(line.cursor_spans) == text(line.spans)
    lines.marks.ignored.add(5)
    (line,) = lines.make_lines(places(5), columns).values()
    assert "rule-0" not in styles(line.spans)


NAMES = (
    ("number", "time", "kafka.topic", "source", "latency", "info"),
    ("info", "number", "error", "findings", "client"),
    ("kafka.topic",),
    ("operation", "role", "state", "protocol", "partner", "stream", "version", "length"),
)


@pytest.mark.parametrize("names", NAMES)
def test_chosen_columns_are_aligned(session: Session, names: tuple[str, ...]) -> None:
    lines = RowLines(session, CellReader(session), lambda _: False)
    lines.custom_columns = chosen = ListColumns(session, names, Limits())
    rows = tuple(range(0, 600, 13))
    for _ in range(2):
        columns = lines.fit_columns(160, 648, 37)
        read = lines.make_lines(places(*rows), columns)
        for want in lines.list_requests(rows):
            want.work()()
    lines.has_widened = False
    columns = lines.fit_columns(160, 648, 37)
    read = lines.make_lines(places(*rows), columns)
    assert not lines.has_widened
    head = "▌" + columns.make_head()
    found = chosen.read_texts(rows)
    for number, texts in zip(rows, found, strict=True):
        line = text(read[number].spans)
        for column, title in zip(chosen.columns, chosen.titles, strict=True):
            if column.key in texts and not column.right:
                begin = head.index(title)
                assert line[begin:].startswith(texts[column.key][:30]), (column, line)
            elif column.key == "number":
                end = head.index("No.") + 3
                assert line[:end].endswith(f" {number + 1}")
    assert all(cell_len(text(line.spans)) >= cell_len(head) - 30 for line in read.values())


def test_hostile_texts_stay_in_their_columns(session: Session) -> None:
    lines = RowLines(session, CellReader(session), lambda _: False)
    lines.custom_columns = chosen = ListColumns(session, ["number", "client", "kafka.topic", "length"], Limits())
    for hostile in TEXTS:
        chosen.widths = [3, 6, 11, 6]
        chosen.add_fields(chosen.edition, {0: (hostile,), 1: ("topic",)})
        for _ in range(2):
            read = lines.make_lines(places(0, 1), lines.fit_columns(120, 648, 0))
        made = [text([*fit_spans(line.spans, 120)]) for line in read.values()]
        assert all(cell_len(line) == 120 and not acts(line) for line in made)
        ends = [cell_len(line.rstrip()) for line in made]
        assert ends[0] == ends[1]


# ---- the line of a stream: who it is, its rate with errors marked, and addresses


ADDRESSES = {
    ("127.0.0.1:33862", "127.0.0.1:29092"): ":33862 > :29092",
    ("[::1]:1", "[::1]:2"): ":1 > :2",
    ("10.0.0.1:1", "10.0.0.2:2"): "10.0.0.1:1 > 10.0.0.2:2",
    ("10.0.0.1:1", "10.0.0.1:2 (broker-1)"): ":1 > :2 (broker-1)",
}


@pytest.mark.parametrize("ends", ADDRESSES)
def test_equal_addresses_are_folded(ends: tuple[str, str]) -> None:
    assert StreamCells(0, *ends, "kafka", 1, 1, 0).addresses == ADDRESSES[ends]


@pytest.mark.parametrize("errors", [0, 3])
def test_a_line(errors: int) -> None:
    stream = StreamCells(7, "10.0.0.1:1", "10.0.0.1:2", "kafka", 4, 9, 499_000_000, matches=2, who="admin")
    activity = StreamActivity([0, 2, 4, *[0] * 9], [0, errors, *[0] * 10], 4, 4)
    spans = make_stream_spans(stream, 2, opened=False, activity=activity)
    line = "".join(text for _, text in spans)
    assert line.split() == [
        *("▸", "7", "admin", "▄█", "2", "of", "4", "messages"),
        *([f"!{errors}"] if errors else []),
        *("499ms", ":1", ">", ":2", "kafka"),
    ]
    assert (("error", "▄") in spans) is bool(errors)


def test_activity_counts_each_message_and_each_error_once() -> None:
    with Session([GOLDEN / "k4_errors.pcap.zst"]).load() as session:
        timeline = Timeline(lambda rows: session.rows.column("stream")[rows])
        timeline.grow(len(session.rows), len(session.engine.streams))
        reader = ActivityReader(session, timeline.list_rows)
        streams = list(range(len(session.engine.streams)))
        while work := reader.prepare(streams, 0, timeline.rows):
            reader.add(reader.edition, work())
        found = [reader.get_activity(stream) for stream in streams]
        assert all(each is not None and len(each.counts) == CELLS for each in found)
        assert sum(sum(each.counts) for each in found if each) == timeline.rows
        said = [row.body is not None and row.body.error for row in CellReader(session).read_rows(range(timeline.rows))]
        assert 0 < sum(sum(each.errors) for each in found if each) <= sum(map(bool, said))
        assert reader.add(reader.edition - 1, {0: StreamActivity([], [], 0, 0)}) == []
