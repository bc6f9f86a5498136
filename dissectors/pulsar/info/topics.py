"""Lines about connections and topics: who speaks, how, and where a topic is served."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dissectors.wire.amounts import count_text
from dissectors.wire.phrases import NOTHING, Values, is_number, some


def authentication(value: Any, _: Values = NOTHING) -> Iterable[str]:
    """A method by name, alone or beside the data that nobody is told."""
    method = value.get("auth_method_name") if isinstance(value, dict) else value
    if isinstance(method, str) and method != "":
        yield "no authentication" if method == "none" else f"{method} authentication"


def response(value: Any, values: Values) -> Iterable[str]:
    """Of an AUTH_RESPONSE the data; whether a lookup is an answer is said with the broker."""
    return authentication(value) if isinstance(value, dict) else ()


def broker(value: Any, values: Values) -> Iterable[str]:
    """Where a topic is served, or will be. A broker of TLS alone leaves the other address empty."""
    if not isinstance(value, str) or value == "":
        value = values.get("brokerServiceUrlTls")
    if isinstance(value, str) and value != "":
        kind = values.get("response")
        yield f"{_TO.get(kind, 'to') if isinstance(kind, str) else 'now at'} {value}"


_TO = {"Redirect": "redirect to", "Connect": "connect to"}


def authoritative(value: Any, values: Values) -> Iterable[str]:
    """That the next broker must decide is said where there is a next one: with any answer the flag is sent."""
    return ("authoritative",) if value is True and values.get("response") in (None, "Redirect") else ()


def partitions(value: Any, _: Values) -> Iterable[str]:
    """How many there are, or the topics of those that join a transaction."""
    if isinstance(value, list):
        return some(value, "partition")
    if not is_number(value):
        return ()
    return (count_text(value, "partition"),) if value > 0 else ("not partitioned",)
