"""RocketMQ's remoting protocol, as the Dissector interface asks for it.

Theory. Clients, brokers, name servers and controllers all speak the same frames: a length, a header as JSON or in a
compact form, a body. Either side may send requests. A command itself tells whether it is a request, an answer or a
one-way request, and an answer repeats the number of its request. So pairing needs only the numbers; the format of an
answer's body depends on its request. header.py reads the first bytes, message.py reads everything.
"""

from __future__ import annotations

from dissectors.api import Context, Dissector, LengthPrefixed, Role, lazy
from dissectors.field import Tree
from dissectors.pairing import pair_by_key
from dissectors.rocketmq.header import MAXIMUM, PREFIX, describe_too_large, rate_evidence, rate_side, read_header

_PLAUSIBLE = 50


class RocketMQ(Dissector):
    """RocketMQ 3.2 to 5.5: remoting commands in both serializations."""

    name = "rocketmq"
    ports = (9876, 10911, 10909)
    framing = LengthPrefixed(4, 4, MAXIMUM)
    prefix = PREFIX
    lone_numbers = True
    long_polls = frozenset({11, 361, 200050, 200054, 200070})  # PULL, LITE_PULL, POP, NOTIFICATION, POP_LITE
    nothing_new = dict.fromkeys(("PULL_MESSAGE", "LITE_PULL_MESSAGE"), (19, 20, 21)) | dict.fromkeys(
        ("POP_MESSAGE", "POP_LITE_MESSAGE"), (209, 210)
    )
    columns = (
        *("role", "operation", "correlation", "latency", "rocketmq.topic", "rocketmq.queue", "rocketmq.group"),
        *("rocketmq.offset", "rocketmq.msg_id"),
    )
    settings = (
        *("SEND_MESSAGE.request.serialize", "SEND_MESSAGE_V2.request.serialize", "PULL_MESSAGE.request.serialize"),
        *("SEND_MESSAGE.request.header.sysFlag", "SEND_MESSAGE_V2.request.header.sysFlag"),
        *("PULL_MESSAGE.request.header.maxMsgNums", "PULL_MESSAGE.request.header.suspendTimeoutMillis"),
        *("LITE_PULL_MESSAGE.request.header.maxMsgNums", "LITE_PULL_MESSAGE.request.header.suspendTimeoutMillis"),
        *("POP_MESSAGE.request.header.maxMsgNums", "POP_MESSAGE.request.header.invisibleTime"),
    )
    client = "software"
    color = "bright_cyan"
    fast_path = "dissectors.rocketmq.fast_path"
    refused = staticmethod(describe_too_large)
    raw = lazy("dissectors.rocketmq.raw:RAW")
    projection = lazy("dissectors.rocketmq.message:make_projection")
    template = lazy("dissectors.rocketmq.template:make_template")
    request_fields = lazy("dissectors.rocketmq.summaries:list_request_fields")
    catalog = lazy("dissectors.rocketmq.catalog:CATALOG")
    operations = lazy("dissectors.rocketmq.codes:operations")
    guide = lazy("dissectors.rocketmq.guide:GUIDE")
    payloads = lazy("dissectors.rocketmq.payloads:PAYLOADS")
    reports = lazy("dissectors.rocketmq.reports:reports")
    server_roles = lazy("dissectors.rocketmq.reports.roles:list_server_roles")
    checks = lazy("dissectors.rocketmq.checks:checks")
    triage = lazy("dissectors.rocketmq.checks:triage")
    describe_error = lazy("dissectors.rocketmq.error_details:describe_error")
    conversation = pair_by_key
    header = staticmethod(read_header)
    values = lazy("dissectors.rocketmq.message:decode_values")
    info = lazy("dissectors.rocketmq.summaries:format_info")

    def probe(self, prefix: bytes, from_client: bool | None) -> int:
        """Rates the first bytes of a direction; a complete header is nearly certain."""
        return rate_side(prefix, from_client)

    def plausible(self, prefix: bytes, from_client: bool) -> bool:
        """Returns whether a header begins here; both sides send requests and answers."""
        return rate_evidence(prefix).score > _PLAUSIBLE

    def tree(self, message: bytes, context: Context) -> Tree:
        """Returns length, header and body with their places."""
        from dissectors.rocketmq.body import find_body_kind
        from dissectors.rocketmq.message import decode_tree
        from dissectors.rocketmq.nested import open_tree  # values need it as little as lines do

        return open_tree(decode_tree(message, context), find_body_kind(context.code, context.role is Role.RESPONSE))
