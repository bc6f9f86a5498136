"""Options that say which rows are printed, and in which order."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from analyzer.cli.filtering import filter_option
from analyzer.cli.values import Whole
from analyzer.query.selection import Selection

if TYPE_CHECKING:
    from analyzer.query.filter import Filter

_Command = TypeVar("_Command", bound=Callable[..., Any])


def selection_options(command: _Command) -> Callable[..., Any]:
    """Adds -c, -Y, --sort, --head and --tail; the command gets `selection`."""

    @click.option("-c", "--count", type=Whole(0), metavar="N", help="Stop reading after N messages.")
    @filter_option
    @click.option(
        "--sort",
        "order",
        multiple=True,
        metavar="KEY",
        help="Sort by a key or field. -KEY or KEY:desc puts the largest first. Repeat it, or separate keys by commas.",
    )
    @click.option("--head", type=Whole(0), metavar="N", help="Print only the first N of the selected rows.")
    @click.option(
        "--tail", type=Whole(0), metavar="N", help="Print only the last N of the selected rows, after --head."
    )
    @wraps(command)
    def with_selection(
        *args: Any,
        count: int | None,
        wanted: Filter | None,
        order: tuple[str, ...],
        head: int | None,
        tail: int | None,
        **rest: Any,
    ) -> Any:
        return command(*args, selection=_selection(count, wanted, order, head, tail), **rest)

    return with_selection


def _selection(
    count: int | None, wanted: Filter | None, order: tuple[str, ...], head: int | None, tail: int | None
) -> Selection:
    if not order:
        return Selection(count, wanted, (), head, tail)
    from analyzer.query.ordering import parse_sort_keys  # who sorts nothing does not pay for it

    return Selection(count, wanted, tuple(parse_sort_keys(",".join(order))), head, tail)
