"""Captures of Kafka, ZooKeeper, Pulsar and RocketMQ in Python.

    import wireanalyze as wa

    with wa.open("incident.pcapng") as capture:
        for message in capture.messages("kafka.Fetch and latency > 100ms"):
            print(message.time, message.client, message.version, message.latency)
        capture.stats(by="kafka.topic")

What is in `__all__` is public and changes with the major version only; docs/how-to/python.md shows its use. The other
packages of this distribution (analyzer, dissectors, tui) are internals, but for dissectors.api, with which protocols
are written.

Names are imported when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dissectors.field import Field, Tree
    from dissectors.finding import Finding, Severity
    from dissectors.wire.embedded import EmbeddedValue
    from dissectors.wire.secret import Secret
    from wireanalyze.capture import Capture, open
    from wireanalyze.decoding import DecodedMessage, decode, decode_all
    from wireanalyze.errors import CaptureError, DecodeError, FilterError, MissingExtra, UsageError, WireanalyzeError
    from wireanalyze.live import LiveMessages, sniff
    from wireanalyze.message import Message
    from wireanalyze.message_base import ReportedError
    from wireanalyze.protocols import register
    from wireanalyze.rows import Rows

__all__ = [
    "Capture",
    "CaptureError",
    "DecodeError",
    "DecodedMessage",
    "EmbeddedValue",
    "Field",
    "FilterError",
    "Finding",
    "LiveMessages",
    "Message",
    "MissingExtra",
    "ReportedError",
    "Rows",
    "Secret",
    "Severity",
    "Tree",
    "UsageError",
    "WireanalyzeError",
    "decode",
    "decode_all",
    "open",
    "register",
    "sniff",
]

_MODULES = {
    "dissectors.field": "Field Tree",
    "dissectors.finding": "Finding Severity",
    "dissectors.wire.embedded": "EmbeddedValue",
    "dissectors.wire.secret": "Secret",
    "wireanalyze.capture": "Capture open",
    "wireanalyze.decoding": "DecodedMessage decode decode_all",
    "wireanalyze.errors": "CaptureError DecodeError FilterError MissingExtra UsageError WireanalyzeError",
    "wireanalyze.live": "LiveMessages sniff",
    "wireanalyze.message": "Message",
    "wireanalyze.message_base": "ReportedError",
    "wireanalyze.protocols": "register",
    "wireanalyze.rows": "Rows",
}

if not TYPE_CHECKING:  # type checkers know the names from above

    def __getattr__(name: str) -> object:
        for module, names in _MODULES.items():
            if name in names.split():
                found: object = getattr(import_module(module), name)
                globals()[name] = found
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
