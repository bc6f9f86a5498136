"""The dissector of Apache Kafka's protocol.

Theory. Every message is behind a four-byte size. A connection is a strict queue: a broker answers in the order of the
requests, and the correlation id only checks that. A response is a size, that id and a body whose layout depends on its
request, so a response needs only the key and version from earlier. conversation.py keeps the queue; header.py and
probe.py read the first bytes; body.py reads everything.
"""

from __future__ import annotations

from dissectors.api import Body, Context, Dissector, LengthPrefixed, MessageHeader, Role, lazy
from dissectors.kafka.body import decode_tree, decode_values
from dissectors.kafka.header import MAXIMUM, request_header, response_header
from dissectors.kafka.info import info_line
from dissectors.kafka.probe import plausible_request, plausible_response, request_evidence, response_evidence


class Kafka(Dissector):
    """Kafka 0.8 to 4.5, all 95 APIs in all versions."""

    name = "kafka"
    ports = (9092,)
    waits = frozenset({1, 11, 14, 78})  # Fetch, JoinGroup, SyncGroup, ShareFetch
    answers_in_order = True
    tls_ports = (9093,)
    framing = LengthPrefixed(4, 0, MAXIMUM)
    columns = ("role", "operation", "version", "correlation", "client", "latency", "kafka.topic", "kafka.group")
    settings = (
        *("Produce.request.acks", "Produce.request.timeoutMs"),
        "Produce.request.topicData.partitionData.records.compression",
        "Produce.request.topicData.partitionData.records.messages.compression",
        "InitProducerId.request.transactionTimeoutMs",
        *("Fetch.request.maxWaitMs", "Fetch.request.minBytes", "Fetch.request.maxBytes"),
        *("Fetch.request.topics.partitions.partitionMaxBytes", "Fetch.request.isolationLevel"),
        *("ListOffsets.request.isolationLevel", "OffsetCommit.request.retentionTimeMs"),
        *("ShareFetch.request.maxWaitMs", "ShareFetch.request.maxRecords", "ShareFetch.request.maxBytes"),
        *("JoinGroup.request.sessionTimeoutMs", "JoinGroup.request.rebalanceTimeoutMs"),
        *("JoinGroup.request.protocols.name", "ConsumerGroupHeartbeat.request.rebalanceTimeoutMs"),
        *("ConsumerGroupHeartbeat.request.serverAssignor", "Metadata.request.allowAutoTopicCreation"),
        "SaslHandshake.request.mechanism",
    )
    software = ("ApiVersions.request.clientSoftwareName", "ApiVersions.request.clientSoftwareVersion")
    color = "blue"
    fast_path = "dissectors.kafka.fast_path"
    conversation = lazy("dissectors.kafka.conversation:KafkaConversation")
    values = staticmethod(decode_values)
    tree = staticmethod(decode_tree)
    projection = lazy("dissectors.kafka.projection:make_projection")
    template = lazy("dissectors.kafka.template:template")
    catalog = lazy("dissectors.kafka.catalog:CATALOG")
    operations = lazy("dissectors.kafka.schemas:apis")
    guide = lazy("dissectors.kafka.guide:GUIDE")
    names = lazy("dissectors.kafka.name_bindings:NAMES")
    sessions = lazy("dissectors.kafka.fetch_sessions:SESSIONS")
    payloads = lazy("dissectors.kafka.payloads:PAYLOADS")
    reports = lazy("dissectors.kafka.reports:reports")
    participants = lazy("dissectors.kafka.reports:participants")
    server_roles = lazy("dissectors.kafka.server_roles:list_server_roles")
    checks = lazy("dissectors.kafka.checks:checks")
    triage = lazy("dissectors.kafka.checks:triage")
    describe_error = lazy("dissectors.kafka.error_details:describe_error")

    def probe(self, prefix: bytes, from_client: bool | None) -> int:
        """Rates the first bytes: a request is nearly certain, a response is weak evidence."""
        if from_client is None:
            return max(request_evidence(prefix), response_evidence(prefix))
        return request_evidence(prefix) if from_client else response_evidence(prefix)

    def plausible(self, prefix: bytes, from_client: bool) -> bool:
        """Returns whether a message can begin here: strict for requests; a response has nothing that can be checked."""
        return plausible_request(prefix) if from_client else plausible_response(prefix)

    def header(self, prefix: bytes, from_client: bool) -> MessageHeader:
        """Returns key, version, correlation and client of a request; a response's correlation alone."""
        return request_header(prefix) if from_client else response_header(prefix)

    def info(self, body: Body, context: Context) -> str:
        """Topics, groups, members and errors, briefly; of a guess, that it is one."""
        if context.role is Role.RESPONSE and context.code is None:
            from dissectors.kafka.guessing.guess import format_guess  # hardly a capture has many

            return format_guess(body)
        return info_line(body, context)

    # What messages say of one another; decoding one has no use for it.
