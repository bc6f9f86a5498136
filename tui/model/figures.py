"""Groups of messages as tables: the figures that `stats --by` prints, with what each line leads to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from analyzer.columns.values import Times
from analyzer.insight.statistics import Group
from analyzer.render.figures_text import SHOWN, name_of, shown_figures
from tui.model.leads import Lead
from tui.model.table import SortableTable, TableColumn
from tui.model.views import TableView

RANKS: Mapping[str, int] = {
    name: rank
    for rank, name in enumerate(
        ("max_ns", "unanswered", "bytes", "p50_ns", "rate", "empty", "error_rate", "p90_ns", "p999_ns", "min_ns"), 1
    )
}
"""Which figures come first where there is not room for all."""

NO_NAME, NOTHING = '""', "-"
"""What an empty name looks like, and no name."""

STYLES: Mapping[str, str] = {"errors": "error", "error_rate": "error", "unanswered": "warning"}


def make_metric_columns(groups: Sequence[Group]) -> list[TableColumn]:
    """The figures of which there is anything to say."""
    return [
        TableColumn(
            SHOWN[name][0],
            [getattr(group.figures, name) for group in groups],
            SHOWN[name][1],
            rank=RANKS.get(name, 0),
            style=STYLES.get(name, "value"),
        )
        for name in shown_figures(groups)
    ]


def make_name_column(
    values: Sequence[Any], title: str, show: Callable[[Any], str] | None = None, rank: int = 0
) -> TableColumn:
    """A column of what messages are grouped by."""
    return TableColumn(title, values, show or format_key, is_name=True, rank=rank, style="")


def format_key(value: Any) -> str:
    """A value that messages are grouped by."""
    return value or NO_NAME if isinstance(value, str) else name_of(value)


def format_clocks(times: Sequence[int], digits: int) -> list[str]:
    """Times (ns since 1970) with so many digits behind the second, and with the date if they are of several days."""
    stop = 19 + (digits + 1 if digits else 0)
    texts: list[str] = [text[:stop].replace("T", " ") for text in Times(np.array(times, np.int64)).values()]
    return texts if len({text[:10] for text in texts}) > 1 else [text[11:] for text in texts]


def make_group_view(
    name: str,
    titles: Sequence[str],
    groups: Sequence[Group],
    lead: Callable[[tuple[Any, ...]], Lead | None],
    said: str = "",
) -> TableView:
    """A view of groups. titles: of the parts of their keys; lead: made of a key."""
    keys = [group.key for group in groups]
    parts = [
        make_name_column([NOTHING if key[place] is None else key[place] for key in keys], title)
        for place, title in enumerate(titles)
    ]
    table = SortableTable([*parts, *make_metric_columns(groups)], [group.figures.messages for group in groups])
    return TableView(name, table, keys, lambda row: lead(keys[row]), said)
