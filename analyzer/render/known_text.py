"""Formats facts from the rest of a capture about a message, for people and as JSON.

The facts are the names of its ids and who gave them, the contents of its session, and its part in reports.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from analyzer.columns.text import safe_text
from analyzer.render.amounts import format_counted
from analyzer.render.lines import Line
from analyzer.render.reports_text import make_entry_object

if TYPE_CHECKING:
    from analyzer.insight.related import RelatedValues
    from dissectors.name_binding import SessionContents, SessionPartition

MOST, MOST_PARTITIONS = 24, 16
"""Number of names and topics that are shown, and of partitions of a topic."""

_LONGEST = 400


def format_known(known: RelatedValues) -> Iterator[Line]:
    """Yields a line for each resolved name, report and topic of the session, up to a limit."""
    for each in known.named[:MOST]:
        what, phrase_text = (safe_text(text, _LONGEST) for text in (f"{each.kind} {each.id}", each.phrase))
        suffix = "" if each.row is None else f" (message {each.row + 1})"
        yield (("name", what), ("", " is "), ("text", phrase_text), ("place", suffix))
    yield from _format_more(len(known.named) - MOST, "names")
    for part in known.parts[:MOST]:
        yield (("name", f"{part.name}: "), ("text", safe_text(part.text, _LONGEST)))
    yield from _format_more(len(known.parts) - MOST, "lines of stories")
    if known.session_contents is not None:
        names = {each.id: each.name for each in known.named if each.kind == "topic"}
        yield from _format_session(known.session_contents, names)


def make_known_objects(known: RelatedValues) -> dict[str, Any]:
    """Makes the objects that `show --json` adds: `names`, `stories`, and `session` if the message belongs to one.

    Messages count from 1; `message` is null for a name that is the same everywhere.
    """
    found: dict[str, Any] = {
        "names": [
            {"kind": each.kind, "id": each.id, "name": each.name, "message": None if each.row is None else each.row + 1}
            for each in known.named
        ],
        "stories": [
            {"story": part.name, "text": part.text, "line": make_entry_object(part.report, part.entry)}
            for part in known.parts
        ],
    }
    contents = known.session_contents
    if contents is not None:
        found["session"] = {
            "id": contents.id,
            "epoch": contents.epoch,
            "partitions": [
                {"topic": each.topic, "partition": each.partition, "fetchOffset": each.offset}
                for each in contents.partitions
            ],
            "complete": contents.since is not None,
        }
    return found


def _format_session(contents: SessionContents, names: Mapping[str, str]) -> Iterator[Line]:
    yield (("name", f"session {contents.id}"), *_format_fetch_size(contents))
    topics: dict[str, list[SessionPartition]] = {}
    for each in contents.partitions:
        topics.setdefault(each.topic, []).append(each)
    for topic, of_topic in list(topics.items())[:MOST]:
        parts = [
            f"{each.partition}{'' if each.offset is None else f' at {each.offset}'}"
            for each in of_topic[:MOST_PARTITIONS]
        ]
        if len(of_topic) > MOST_PARTITIONS:
            parts.append(f"{len(of_topic) - MOST_PARTITIONS:,} more")
        yield (("", "  "), ("text", safe_text(names.get(topic, topic), _LONGEST)), ("", f"[{', '.join(parts)}]"))
    yield from _format_more(len(topics) - MOST, "topics")


def _format_fetch_size(contents: SessionContents) -> Line:
    count = len(contents.partitions)
    amount = format_counted(count, "partition")
    if contents.since is not None:
        since = f" (since message {contents.since})"
        return (("", f" holds {amount} in epoch {contents.epoch}"), ("place", since))
    began = f" began before the capture, in epoch {contents.epoch} it holds "
    return (("", f"{began}{f'at least {amount}' if count else 'what was asked for then'}"),)


def _format_more(count: int, what: str) -> Iterator[Line]:
    if count > 0:
        yield (("note", f"and {count:,} more {what}"),)
