"""Lines about messages: what is sent, what is stored, what their properties say of them.

Facts. A producer writes properties as one text of names and values between bytes 1 and 2 (MessageDecoder); names that
RocketMQ gives a meaning are in MessageConst. A half message says so in sysFlag. A retry goes to %RETRY%group with the
number of tries so far. Such a text may have holes, and can be split where nothing else may be asked of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dissectors.holes import derived, made, plain
from dissectors.rocketmq.labels import CODECS, COMPRESSED, codec, delay
from dissectors.rocketmq.stored import NAME_VALUE, PROPERTY
from dissectors.wire.amounts import count_text, duration_text, length_text, size_text
from dissectors.wire.phrases import SHOWN, Values, is_number, joined
from dissectors.wire.times import timestamp

_PREPARED = 1 << 2
_PHASE = 3 << 2
_LONGEST = 19


def amount(value: Any, values: Values) -> Iterator[str]:
    """`5 bytes`, `310 bytes of zlib, 4.9 KiB plain`, `3 elements`, `2 settings`."""
    flag = values.get("sysFlag")
    if "properties" in values and is_number(flag) and flag & _PHASE == _PREPARED:
        yield "half message"
    if isinstance(value, list):
        yield count_text(len(value), "element")
    elif isinstance(value, str):
        yield from _settings(value)
    elif is_number(flag) and flag & COMPRESSED:
        yield f"{length_text(value)} of {codec(plain(flag)) or f'codec {flag >> 8 & len(CODECS)}'}"
        if "bodyUncompressed" in values:
            yield f"{length_text(values['bodyUncompressed'])} plain"
    elif value is not None:
        yield length_text(value)


def _settings(text: str) -> Iterable[str]:
    """Of Java properties their names, for a value may be a secret; a line that is none has not many words."""
    names = [line.partition("=")[0].strip() for line in plain(text).splitlines() if line.strip()]
    return joined("", names) if 0 < len(names) <= SHOWN else (count_text(len(names), "setting"),)


def stored(value: Any, values: Values) -> Iterator[str]:
    """What is in an answer, or in a batch: one message in detail, many counted."""
    if not isinstance(value, list):
        return
    if "topic" in values:
        number = derived(len, value)
        yield count_text(number, "message")
        if values.get("answers") is True and "nextBeginOffset" in values:
            first = derived(_first, value)
            yield f"{first} to {derived(_last, value)}" if number > 1 else f"at {first}"
        yield made(size_text, derived(_size, value))
        return
    messages = [each for each in plain(value) if isinstance(each, dict)]
    names = [each["topic"] for each in messages if isinstance(each.get("topic"), str)]
    topics = list(dict.fromkeys(names))
    if len(messages) == 1 and topics:
        (only,) = messages
        yield f"{only['topic']}[{only.get('queueId', '?')}] at {only.get('queueOffset', '?')}"
        yield size_text(_size(messages))
        yield from _meant(_pairs(only.get("properties")))
        return
    yield count_text(len(messages), "message") + "".join(joined(" of ", topics))
    yield size_text(_size(messages))


def _first(messages: list[Any]) -> int:
    return min(_offsets(messages), default=0)


def _last(messages: list[Any]) -> int:
    return max(_offsets(messages), default=0)


def _offsets(messages: list[Any]) -> Iterator[int]:
    for each in messages:
        offset = each.get("queueOffset") if isinstance(each, dict) else None
        if isinstance(offset, int):
            yield offset


def _size(messages: list[Any]) -> int:
    """Bytes of bodies as they are on the wire."""
    bodies = [each.get("body") for each in messages if isinstance(each, dict)]
    return sum(len(body) for body in bodies if isinstance(body, bytes))


def properties(value: Any, _: Values) -> Iterable[str]:
    """What is told of a message that is sent."""
    return _meant(_pairs(value))


def _pairs(value: Any) -> dict[str, str]:
    if isinstance(value, dict):
        return {name: text for name, text in value.items() if isinstance(text, str)}
    if not isinstance(value, str):
        return {}
    pairs = (each.partition(NAME_VALUE) for each in value.split(PROPERTY))
    return {plain(name): text for name, mark, text in pairs if mark}


def _meant(pairs: dict[str, str]) -> list[str]:
    return [words for name, say in _MEANT if name in pairs for words in [say(pairs[name])] if words]


def _number(text: str) -> int | None:
    """A number as Java writes one; more digits than a long has are none."""
    digits = plain(text)
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < _LONGEST else None


def _delay(text: str) -> str:
    level = _number(text)
    return f"in {delay(level)}" if level else ""


def _lasting(unit: int) -> Any:
    def words(text: str) -> str:
        number = _number(text)
        return f"in {duration_text(number * unit)}" if number else ""

    return words


def _due(text: str) -> str:
    number = _number(text)
    return f"due {timestamp(number) or number}" if number else ""


_MEANT = (
    ("KEYS", lambda text: f"keys {text}"),
    ("TAGS", lambda text: f"tags {text}"),
    ("__SHARDINGKEY", lambda text: f"sharding key {text}"),
    ("DELAY", _delay),
    ("TIMER_DELAY_SEC", _lasting(1000)),
    ("TIMER_DELAY_MS", _lasting(1)),
    ("TIMER_DELIVER_MS", _due),
    ("TIMER_DEL_UNIQKEY", lambda text: f"takes back {text}"),
    ("REPLY_TO_CLIENT", lambda text: f"answer to {text}"),
    ("ORIGIN_MESSAGE_ID", lambda text: f"first sent as {text}"),
)


def tries(value: Any, values: Values) -> Iterable[str]:
    """Which retry it is, and of how many."""
    most = values.get("maxReconsumeTimes")
    if is_number(value) and value > 0:
        yield f"retry {value} of {most}" if is_number(most) and most > 0 else f"retry {value}"


def message_id(value: Any, values: Values) -> Iterable[str]:
    """The client's id, by which people know a message, else the broker's."""
    known: Any = values.get("transactionId", "")
    shown = known if isinstance(known, str) and known != "" else value
    return (f"id {shown}",) if isinstance(shown, str) and shown != "" else ()


def message_ids(value: Any, values: Values) -> Iterable[str]:
    """Of a batch the client's id for all of it, else the first of the broker's."""
    known: Any = values.get("transactionId", "")
    if not isinstance(value, str) or (isinstance(known, str) and known != ""):
        return message_id(value, values)
    first, *more = plain(value).split(",")
    return (f"id {first}, {len(more)} more",) if more else message_id(first, {})
