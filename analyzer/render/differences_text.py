"""Differences between captures as sentences for people, and as objects for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from analyzer.columns.text import safe_text
from analyzer.insight.counts import UNKNOWN
from analyzer.insight.difference import DOUBT, Change, Difference, is_worse
from analyzer.render.amounts import format_counted, format_rate, format_share, format_size
from analyzer.render.durations import format_duration

KEYS = (
    "kind", "protocol", "operation", "name", "before", "after", "of_before", "of_after", "significance", "weight",
    "text",
)  # fmt: skip

_NAMES = {"operation": "messages", "version": "version"}
"""What has changed, if a change has the name of an operation."""

SHORT = 4
"""Length of a field name up to which the enclosing name is shown, too."""

NAMED, LONGEST = 6, 60
"""Number of values that a sentence names, and length of each in characters."""


def make_difference_objects(each: Difference) -> Iterator[dict[str, Any]]:
    """Yields one object with KEYS for each change of a difference, all with its sentence."""
    text, of = format_difference(each), each.of or (None, None)
    for change in each.changes:
        name = _NAMES.get(each.kind) if each.operation is None else None
        yield {
            "kind": each.kind,
            "protocol": each.protocol,
            "operation": change.name if name not in (None, change.name) else each.operation,
            "name": name or change.name,
            "before": change.before,
            "after": change.after,
            "of_before": of[0],
            "of_after": of[1],
            "significance": change.significance,
            "weight": round(each.weight, 1),
            "text": text,
        }


def format_difference(each: Difference) -> str:
    """Describes a difference in one sentence."""
    return safe_text(_SENTENCES[each.kind](each, each.operation or each.protocol or "all messages"))


def _format_error(each: Difference, what: str) -> str:
    first, of = each.changes[0], each.of or (0, 0)
    name = _format_name(first.name)
    after = _format_part(first.after, of[1])
    if not of[0]:
        return f"{what}, of which there was no answer before, answers with {name}: {after}."
    if not first.before:
        return f"{what} answers with {name}: {after}, before none of {of[0]:,}{_format_chance(first)}."
    verb = "more often" if each.kind == "error" else "less often" if first.after else "no longer"
    before = _format_part(first.before, of[0])
    return f"{what} answers {verb} with {name}: {before} before, {after} now{_format_chance(first)}."


def _format_unanswered(each: Difference, what: str) -> str:
    first, of = each.changes[0], each.of or (0, 0)
    before, after = _format_part(first.before, of[0]), _format_part(first.after, of[1])
    return f"Requests of {what} get no answer: {before} before, {after} now{_format_chance(first)}."


def _format_network(each: Difference, what: str) -> str:
    first, of = each.changes[0], each.of or (0, 0)
    name, whole = first.name.replace("_", " "), "connections" if first.name == "resets" else "packets and messages"
    counts = f"{_format_part(first.before, of[0])} before, {_format_part(first.after, of[1])} {whole} now"
    return f"There are {'more' if is_worse(first, of) else 'fewer'} TCP {name}: {counts}{_format_chance(first)}."


def _format_latency(each: Difference, what: str) -> str:
    what = what if each.operation else f"{each.protocol} without an operation" if each.protocol else "A TCP round trip"
    verb = "takes longer" if each.kind == "slower" else "takes less time"
    return f"{what} {verb}: {_format_changes(each.changes, format_duration)}."


def _format_size(each: Difference, what: str) -> str:
    kind = each.changes[0].name.partition(" ")[0]
    changes = [
        Change(change.name.partition(" ")[2], change.before, change.after, change.significance)
        for change in each.changes
    ]
    size = "larger" if changes[0].after > changes[0].before else "smaller"
    return f"{what} {kind}s are {size}: {_format_changes(changes, format_size)}."


def _format_rate(each: Difference, what: str) -> str:
    first = each.changes[0]
    unit = "connections" if each.kind == "connections" else "messages"
    subject = "There are" if each.operation is None else f"{what} has"
    rates = f"{format_rate(first.before)}/s before, {format_rate(first.after)}/s now"
    return f"{subject} {_compare(first)} {unit}: {rates}{_format_chance(first)}."


def _compare(change: Change) -> str:
    return "more" if change.after > change.before else "fewer"


def _format_presence(each: Difference, what: str) -> str:
    """Describes a protocol in only one capture, or operations in only one."""
    first = each.changes[0]
    if first.name == "messages":
        what = "An unknown protocol" if what == UNKNOWN else what
        new = f"{what} is new: {format_counted(first.after, 'message')}."
        return new if first.after else f"{what} is gone: {format_counted(first.before, 'message')} before."
    named = [f"{_format_name(each.name)} {each.after or each.before:,}" for each in each.changes]
    rest = _count_rest(named)
    state = "New" if first.after else "Missing"
    return f"{state} operations of {what}, and how many messages: {', '.join(named[:NAMED])}{rest}."


def _format_version(each: Difference, what: str) -> str:
    parts = [
        f"{_format_name(change.name)} {_format_sets(*([f'v{number}' for number in side] for side in sides))}"
        for change in each.changes
        for sides in [(change.before, change.after)]
    ]
    return f"Versions of {what}: {'; '.join(parts[:NAMED])}{_count_rest(parts)}."


def _format_setting(each: Difference, what: str) -> str:
    first = each.changes[0]
    who = f" ({_list_values(each.clients)})" if each.clients else ""
    path = [part for part in first.name.split(".")[1:] if part != "request"]
    name = path[-1] if len(path[-1]) > SHORT else ".".join(path[-2:])  # `name` alone is ambiguous
    return f"{what} {name} {_format_sets(first.before, first.after)}{who}."


def _format_programs(each: Difference, what: str) -> str:
    first = each.changes[0]
    what = "Client software" if each.kind == "software" else "Client ids"
    new = [name for name in first.after if name not in first.before]
    removed = [name for name in first.before if name not in first.after]
    parts = [f"new {_list_values(new)}"] * bool(new) + [f"gone {_list_values(removed)}"] * bool(removed)
    return f"{what}: {'; '.join(parts)}."


def _format_sets(before: Sequence[str], after: Sequence[str]) -> str:
    """Formats as `was 1 and is 2`; common values are named once."""
    new, removed = ([value for value in one if value not in other] for one, other in ((after, before), (before, after)))
    both = [value for value in after if value in before]
    if not both:
        return f"was {_list_values(before)} and is {_list_values(after)}"
    parts = [f"is also {_list_values(new)}"] * bool(new) + [f"is no longer {_list_values(removed)}"] * bool(removed)
    return f"{' and '.join(parts)} (still {_list_values(both)})"


def _format_changes(changes: Sequence[Change], show: Callable[[int], str]) -> str:
    ordered = sorted(changes, key=lambda change: change.name)
    parts = ", ".join(f"{each.name} {show(each.before)} before, {show(each.after)} now" for each in ordered)
    return f"{parts}{_format_chance(changes[0])}"


def _format_part(count: int, of: int) -> str:
    return f"{count:,} of {of:,}" + (f" ({format_share(count / of)})" if of and count else "")


def _format_chance(change: Change) -> str:
    """Formats the significance; an empty text for a fact."""
    chance = change.significance
    if chance is None:
        return ""
    return ", p < 0.001" if chance < 0.001 else f", p = {chance:.2g}" if chance < DOUBT else ", which may be chance"


def _list_values(values: Sequence[str]) -> str:
    named = [_format_name(value) for value in values[:NAMED]]
    return ", ".join(named) + _count_rest(values)


def _count_rest(values: Sequence[str]) -> str:
    return f" and {len(values) - NAMED:,} more" if len(values) > NAMED else ""


def _format_name(value: str) -> str:
    return safe_text(value, LONGEST)


_SENTENCES: Mapping[str, Callable[[Difference, str], str]] = {
    **dict.fromkeys(("new-error", "error", "fewer-errors"), _format_error),
    "unanswered": _format_unanswered,
    "network": _format_network,
    **dict.fromkeys(("slower", "faster"), _format_latency),
    "size": _format_size,
    **dict.fromkeys(("rate", "connections"), _format_rate),
    **dict.fromkeys(("protocol", "operation"), _format_presence),
    "version": _format_version,
    "setting": _format_setting,
    **dict.fromkeys(("software", "client"), _format_programs),
}
