"""Arguments that are texts: filters, names of columns, durations and severities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dissectors.finding import Severity
from wireanalyze.errors import UsageError, translate_errors

if TYPE_CHECKING:
    from analyzer.query.filter import Filter


def make_filter(text: str | None) -> Filter | None:
    """Returns a checked filter. Raises FilterError."""
    if text is None:
        return None
    from analyzer.query.filter import compile_filter

    with translate_errors():
        return compile_filter(text)


def split_names(names: str | Sequence[str]) -> list[str]:
    """Returns names that were given as a list, or with commas between them."""
    texts = [names] if isinstance(names, str) else names
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


def parse_duration(text: str) -> int:
    """Returns a length of time such as `10s` in nanoseconds, at least 1. Raises UsageError."""
    from analyzer.query.filter.literals import parse_number
    from analyzer.query.units import DURATIONS

    found = parse_number(text)
    if found is None or found[1] not in DURATIONS or not 1 <= int(found[0]) < 1 << 62:
        raise UsageError(f"{text!r} is not a duration. Give one with its unit, such as 500ms, 1s or 5m.")
    return int(found[0])


def parse_severity(text: str) -> Severity:
    """Returns a severity. Raises UsageError for another text than note, warning and error."""
    try:
        return Severity[text.upper()]
    except KeyError:
        raise UsageError(f"There is no severity {text}. Give error, warning or note.") from None
