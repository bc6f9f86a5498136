"""Apache Pulsar's binary protocol, as the DISSECTOR interface asks for it.

Theory. A frame is two sizes and a command, a Protocol Buffers message whose type is one of seventy; two of them may
carry a payload with metadata. Every frame can be decoded without earlier ones. Only pairing needs them, and the
client's version, which only CONNECT tells. header.py reads the first bytes, conversation.py pairs, frame.py and
frame_fields.py read everything.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from dissectors.api import Body, Context, Dissector, LengthPrefixed, MessageHeader, Values, lazy
from dissectors.field import Tree
from dissectors.pulsar.commands import Command, commands, make_error
from dissectors.pulsar.expert_info import collect_findings
from dissectors.pulsar.frame import TYPE_AT, decode_frame
from dissectors.pulsar.header import MAXIMUM, PREFIX, describe_too_large, find_command, rate_evidence, read_header
from dissectors.pulsar.summaries import format_info, list_request_fields
from dissectors.wire.emit import FAILURES
from dissectors.wire.message import fold_tree
from dissectors.wire.sections import PlainSections, Sections, symbolic


def make_body(values: dict[str, Any], sections: Sections, context: Context) -> Body:
    """Returns the body of a frame; its values may be symbolic."""
    command = commands()[sections.data[sections.begin + TYPE_AT]]
    return Body(values, _find_error(command, values), collect_findings(command, values, context, sections.size))


def _find_error(command: Command | None, values: Values) -> tuple[int, str] | None:
    reported = None if command is None or command.error is None else values.get(command.error)
    return make_error(reported) if isinstance(reported, int | str) else None


class Pulsar(Dissector):
    """Pulsar 2.8 to 5.0, all 70 commands, payloads and batches."""

    name = "pulsar"
    ports = (6650,)
    tls_ports = (6651,)
    framing = LengthPrefixed(4, 4, MAXIMUM)
    prefix = PREFIX
    columns = ("role", "operation", "correlation", "client", "latency", "pulsar.topic", "pulsar.subscription")
    settings = (
        *("CONNECT.protocol_version", "CONNECT.auth_method_name", "PRODUCER.producer_access_mode"),
        *("PRODUCER.txn_enabled", "SEND.metadata.compression", "SUBSCRIBE.subType", "SUBSCRIBE.durable"),
        *("SUBSCRIBE.initialPosition", "SUBSCRIBE.read_compacted", "SUBSCRIBE.keySharedMeta.keySharedMode"),
        *("FLOW.messagePermits", "ACK.ack_type"),
    )
    client = "software"
    color = "bright_blue"
    fast_path = "dissectors.pulsar.fast_path"
    conversation = lazy("dissectors.pulsar.conversation:PulsarConversation")
    info = staticmethod(format_info)
    refused = staticmethod(describe_too_large)
    projection = lazy("dissectors.pulsar.projection:make_projection")
    template = staticmethod(partial(symbolic, decode_frame, make_body))
    fragments = lazy("dissectors.pulsar.reassembly:FRAGMENTS")
    request_fields = staticmethod(list_request_fields)
    catalog = lazy("dissectors.pulsar.catalog:CATALOG")
    operations = lazy("dissectors.pulsar.commands:commands")
    guide = lazy("dissectors.pulsar.guide:GUIDE")
    names = lazy("dissectors.pulsar.name_bindings:NAMES")
    payloads = lazy("dissectors.pulsar.payloads:PAYLOADS")
    reports = lazy("dissectors.pulsar.reports:reports")
    server_roles = lazy("dissectors.pulsar.reports:list_server_roles")
    checks = lazy("dissectors.pulsar.checks:checks")
    triage = lazy("dissectors.pulsar.checks:triage")
    describe_error = lazy("dissectors.pulsar.expert_info:describe_error")

    def probe(self, prefix: bytes, from_client: bool | None) -> int:
        """Rates first bytes: a frame of a known command is nearly certain."""
        return rate_evidence(prefix, from_client)

    def header(self, prefix: bytes, from_client: bool) -> MessageHeader:
        """Returns the command, and the number that it carries or repeats."""
        return read_header(prefix, from_client).header

    def values(self, message: bytes, context: Context) -> Body:
        """Returns the command's fields by the names of the proto, and the payload with its metadata."""
        sections = PlainSections(message)
        try:
            return make_body(decode_frame(sections), sections, context)
        except FAILURES:
            body = fold_tree(self.tree(message, context))
        return body._replace(error=_find_error(find_command(message)[0], body.values))

    def tree(self, message: bytes, context: Context) -> Tree:
        """Sizes, command, metadata and payload with their places."""
        from dissectors.pulsar.nested import open_tree
        from dissectors.pulsar.reassembly import (
            read_with_findings,  # values need neither, but for what is out of the ordinary
        )

        return open_tree(read_with_findings(message, context))
