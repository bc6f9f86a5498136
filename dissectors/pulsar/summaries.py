"""The information line of a Pulsar message: its templates, and the formatters that they use (wire.summary).

Theory. The proto uses few names for the same things, so one table of phrases by field serves all commands
(tables/summaries.json). The line of an answer is made of the answer and of some fields of its request together. An
error, or the result, comes first.

Facts. Ids and positions are unsigned on the wire and signed where Pulsar prints them: 2^64-1 is -1, the place before
the first entry of a ledger, and as a ledger before all of them (MessageId.earliest); 2^63-1 is behind them
(MessageId.latest). An ack set has a bit for each message of a batch that is not yet acknowledged. The version of a
schema is a big-endian number (LongSchemaVersion). Names of properties that clients and brokers write themselves:
RetryMessageUtil of the Java client (retries and dead letters), and the replicator's __MSG_PROP_REPL_SOURCE_POSITION.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from dissectors.api import Body, Context, Role, Values
from dissectors.message import Path
from dissectors.pulsar.commands import commands
from dissectors.pulsar.tables import table
from dissectors.wire.amounts import count_text, duration_text, length_text, size_text
from dissectors.wire.condition import number_of
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.summary import SHOWN, Formatter, Say, Summaries, text_of
from dissectors.wire.times import timestamp

MOST = (1 << 63) - 1
"""The largest signed number; what is larger is less than nothing."""

_OUTCOMES = {"COMMIT": "committed", "ABORT": "aborted"}

_HISTORY = {"RECONSUMETIMES": "retry", "REAL_TOPIC": "from", "__MSG_PROP_REPL_SOURCE_POSITION": "source"}
"""Properties of a message that was sent again: where it comes from."""


# ---- numbers


def format_signed(value: Any, _: str = "") -> str:
    """Formats a number of 64 bits as a signed one, as Pulsar prints it."""
    if isinstance(value, int) and value > MOST:
        return text_of(lambda number: f"{number - (1 << 64)}", value)
    return f"{value}"


def _make_amount_formatter(function: Callable[[int], str]) -> Formatter:
    """Of a duration, which none has that is 0 or less."""
    return lambda value, _: text_of(function, value) if isinstance(value, int) and 0 < value <= MOST else None


def _name_marker(kind: int) -> str:
    name: str = table("enums")["MarkerType"].get(f"{kind}", f"{kind}")
    return name


# ---- message ids


def format_message_id(value: Any, _: str = "") -> str | None:
    """Formats as `272:0`, with partition and index in the batch where it has them, as MessageId.toString has them."""
    if not isinstance(value, dict):
        return None
    text = f"{format_signed(value.get('ledgerId', '?'))}:{format_signed(value.get('entryId', '?'))}"
    partition, index = value.get("partition", -1), value.get("batch_index", -1)
    if index >= 0:
        return f"{text}:{partition}:{index}"
    return f"{text}:{partition}" if partition >= 0 else text


# ---- texts


def _format_nonempty(value: Any, _: str) -> str | None:
    """A text that says something; one that is not UTF-8 is bytes."""
    return f"{value}" if isinstance(value, str) and value != "" else None


def _format_first_line(value: Any, _: str) -> str | None:
    """The first line, for brokers put whole schemas behind it."""
    if not isinstance(value, str) or value == "":
        return None
    line, _, more = value.partition("\n")
    return f"{line}..." if more else f"{line}"


def _format_authentication(value: Any, _: str) -> str | None:
    """A method by name."""
    if not isinstance(value, str) or value == "":
        return None
    return "no authentication" if value == "none" else f"{value} authentication"


def decode_schema_version(data: Any) -> int | None:
    """Returns the version of a schema, which its 8 bytes are; None for any other bytes."""
    return int.from_bytes(bytes(data)) if isinstance(data, bytes) and len(data) == 8 else None


def _format_schema_version(value: Any, _: str) -> str | None:
    number = decode_schema_version(value)
    return None if number is None else f"{number}"


# ---- lists


def _format_length(value: Any, _: str) -> str | None:
    """How many there are, if there are any."""
    return f"{len(value)}" if isinstance(value, list) and value else None


def _format_names(value: Any, noun: str) -> str | None:
    """Few names as they are, many counted."""
    if not isinstance(value, list):
        return None
    if 0 < len(value) <= SHOWN and all(isinstance(each, str) for each in value):
        return ", ".join([f"{each}" for each in value])
    return count_text(len(value), noun)


def _count_unacknowledged(words: Any, _: str) -> str | None:
    """How many messages of a batch an ack set leaves."""
    if not isinstance(words, list) or not words:
        return None
    return f"{sum((int(word) & (1 << 64) - 1).bit_count() for word in words if isinstance(word, int))}"


def _format_history(properties: Any, _: str) -> str | None:
    pairs = [(each.get("key"), each.get("value")) for each in properties] if isinstance(properties, list) else ()
    found = [f"{_HISTORY[key]} {value}" for key, value in pairs if key in _HISTORY and isinstance(value, str)]
    return ", ".join(found) or None


# ---- payloads


def _format_payload_size(value: Any, _: str) -> str | None:
    """How long a payload is as it stands, or decompressed."""
    data = value.data if isinstance(value, EmbeddedValue) else value
    return length_text(data) if isinstance(data, bytes) else None


def _format_total(messages: Any, _: str) -> str | None:
    """How many bytes the messages of a batch have, without what stands around them."""
    return text_of(size_text, number_of(_sum_payloads, messages)) if isinstance(messages, list) else None


def _sum_payloads(messages: Sequence[Mapping[str, Any]]) -> int:
    found = [each.get("payload") for each in messages]
    return sum(len(each) for each in found if isinstance(each, bytes))


SUMMARIES = Summaries(
    formatters={
        "authentication": _format_authentication,
        "bytes": _format_payload_size,
        "count": lambda value, noun: count_text(value, noun) if isinstance(value, int) else None,
        "ended": lambda value, _: _OUTCOMES.get(value, "ended") if isinstance(value, str) else "ended",
        "history": _format_history,
        "id": format_message_id,
        "lasting": _make_amount_formatter(duration_text),
        "line": _format_first_line,
        "lower": lambda value, _: value.lower() if isinstance(value, str) else None,
        "number": _format_length,
        "positive": lambda value, _: f"{value}" if isinstance(value, int) and 0 < value <= MOST else None,
        "rate": lambda value, _: f"{value:.1f}" if isinstance(value, float) and value > 0 else None,
        "seconds": _make_amount_formatter(lambda seconds: duration_text(seconds * 1000)),
        "signed": format_signed,
        "some": _format_names,
        "text": _format_nonempty,
        "total": _format_total,
        "unacknowledged": _count_unacknowledged,
        "version": _format_schema_version,
    },
    numbers={
        "limit": size_text,
        "marker": _name_marker,
        "moment": lambda moment: timestamp(moment) or f"{moment}",
        "next": lambda index: f"{index + 1}",
    },
    phrases=table("summaries")["phrases"],
)


_SUCCESS = 13


class _LineKind(NamedTuple):
    """What is the same in all lines about one command of one role.

    request_fields: names of fields of the request. meant: values that the message implies but does not contain. deeds:
    the phrase for what was done, by the code of the request.
    """

    request_fields: tuple[str, ...]
    meant: Values
    deeds: Mapping[int, str]


@lru_cache(maxsize=512)
def _make_line_kind(role: Role, code: int | None) -> _LineKind:
    known = None if code is None else commands().get(code)
    name, lines = None if known is None else known.name, table("summaries")
    return _LineKind(
        tuple(lines["requestFields"].get(name, ())) if role is Role.RESPONSE else (),
        lines["meant"].get(name) or lines["meant"].get(f"{role.name} {name}", {}),
        _list_deeds() if code == _SUCCESS else {},
    )


def _list_deeds() -> Mapping[int, str]:
    deeds: Mapping[str, str] = table("summaries")["deeds"]
    return {code: deeds[known.name] for code, known in commands().items() if known.name in deeds}


@lru_cache(maxsize=1024)
def _compile_phrases(names: tuple[str, ...], metadata: tuple[str, ...]) -> tuple[Say, ...]:
    """What has something to say of these fields: there are few kinds of messages, and many of each.

    Rows that are about the metadata name a field of it by its whole path.
    """
    paths = {*names, *(f"metadata.{name}" for name in metadata)}
    return tuple(
        _compile_phrase(text) for fields, texts in _read_rows() if not paths.isdisjoint(fields) for text in texts
    )


@cache
def _read_rows() -> tuple[tuple[list[str], list[str]], ...]:
    """The table: which fields ask for which phrases."""
    return tuple((fields.split("|"), texts) for fields, texts in table("summaries")["line"].items())


@cache
def _compile_phrase(text: str) -> Say:
    """The function of a phrase, made when a message first needs it; the table bounds how many there are."""
    return SUMMARIES.phrase(text)


def list_request_fields(context: Context) -> frozenset[Path]:
    """Returns the fields of a request that the line of its answer is made of."""
    return frozenset((name,) for name in _make_line_kind(context.role, context.code).request_fields)


def format_info(body: Body, context: Context) -> str:
    """Formats the summary line of a decoded message; empty if its name says everything."""
    kind, values = _make_line_kind(context.role, context.code), body.values
    request_values = (
        {}
        if body.request is None
        else {name: body.request[name] for name in kind.request_fields if name in body.request}
    )
    head = [] if body.error is None else [body.error[1]]
    if body.request_code is not None and body.request_code in kind.deeds:
        head = [kind.deeds[body.request_code]]
    if request_values or kind.meant:
        values = {**kind.meant, **request_values, **values, "request": request_values}
    metadata, reported = values.get("metadata"), list[int]()
    says = _compile_phrases(tuple(values), tuple(metadata) if isinstance(metadata, dict) else ())
    texts = [text for say in says if (text := say(values, reported)) is not None]
    return ", ".join([" ".join([*head, *texts[:1]]), *texts[1:]] if head else texts)
