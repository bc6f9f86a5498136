"""Apache Kafka's protocol, as the DISSECTOR interface asks for it.

Theory. Every message is behind a four-byte size. A connection is a strict queue: a broker answers in the order in which
it was asked, and the correlation id only checks that. A response is a size, that id and a body whose layout is its
request's, so all that a response needs from earlier is key and version. `conversation.py` keeps the queue; header.py
and probe.py read the first bytes; body.py reads everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dissectors.api import Body, Context, Conversation, Dissector, LengthPrefixed, MessageHeader, Role, Stencil
from dissectors.field import Tree
from dissectors.kafka.body import decode, read
from dissectors.kafka.header import MAXIMUM, request_header, response_header
from dissectors.kafka.info import info_line
from dissectors.kafka.probe import plausible_request, plausible_response, request_evidence, response_evidence

if TYPE_CHECKING:
    from dissectors.api import Pick
    from dissectors.catalog import Catalog
    from dissectors.check import Check
    from dissectors.lesson import Exchange, Lesson, Path, Reference, Standing, Taught, Teacher
    from dissectors.payload import Asked, Carriers, Payload
    from dissectors.session_state import SessionKind


class Kafka(Dissector):
    """Kafka 0.8 to 4.5, all 95 APIs in all versions."""

    name = "kafka"
    ports = (9092,)
    framing = LengthPrefixed(4, 0, MAXIMUM)
    bulk = "dissectors.kafka.bulk"

    def probe(self, prefix: bytes, from_client: bool | None) -> int:
        """A request leaves hardly a doubt, a response is weak evidence."""
        if from_client is None:
            return max(request_evidence(prefix), response_evidence(prefix))
        return request_evidence(prefix) if from_client else response_evidence(prefix)

    def plausible(self, prefix: bytes, from_client: bool) -> bool:
        """Strict for requests; a response has nothing to be strict about."""
        return plausible_request(prefix) if from_client else plausible_response(prefix)

    def header(self, prefix: bytes, from_client: bool) -> MessageHeader:
        """Key, version, correlation and client of a request; a response's correlation alone."""
        return request_header(prefix) if from_client else response_header(prefix)

    def conversation(self) -> Conversation:
        """A queue of unanswered requests."""
        from dissectors.kafka.conversation import KafkaConversation  # decoding one message needs no queue

        return KafkaConversation()

    def values(self, message: bytes, context: Context) -> Body:
        """The body's fields by the schema's names."""
        return decode(message, context)

    def stencil(self, message: bytes, context: Context, request: tuple[bytes, Context] | None = None) -> Stencil | None:
        """Bodies of known versions, records that are not compressed among them."""
        from dissectors.kafka.stencil import stencil  # decoding one message has no use for it

        return stencil(message, context)

    def picker(self, context: Context, paths: frozenset[Path]) -> Pick | None:
        """Fields of bodies in known versions, but for what is in records and in bytes that hold something."""
        from dissectors.kafka.picks import picker  # decoding one message has no use for it

        return picker(context, paths)

    def tree(self, message: bytes, context: Context) -> Tree:
        """Length, header and body with their places."""
        return read(message, context)

    def info(self, body: Body, context: Context) -> str:
        """Topics, groups, members and errors, briefly; of a guess, that it is one."""
        if context.role is Role.RESPONSE and context.code is None:
            from dissectors.kafka.guessing.guess import guessed_line  # hardly a capture has many

            return guessed_line(body)
        return info_line(body, context)

    # What messages say of one another; decoding one has no use for it.

    def constants(self) -> Iterable[Lesson]:
        """The topic of the metadata log."""
        from dissectors.kafka.lessons import constants

        return constants()

    def teachers(self) -> Iterable[Teacher]:
        """Metadata and others that name topics, brokers, producers and members."""
        from dissectors.kafka.lessons import teachers

        return teachers()

    def lessons(self, taught: Taught) -> Iterable[Lesson]:
        """Names by their ids."""
        from dissectors.kafka.lessons import lessons

        return lessons(taught)

    def references(self, context: Context) -> tuple[Reference, ...]:
        """Ids of topics, brokers, producers and members."""
        from dissectors.kafka.references import references

        if context.code is None or context.version is None or context.role is Role.RAW:
            return ()
        return references(context.code, context.version, context.role is Role.RESPONSE)

    def standing(self, context: Context, exchanges: Iterable[Exchange]) -> Standing | None:
        """The partitions in a fetch session."""
        from dissectors.kafka.fetch_sessions import FETCH, standing

        return standing(exchanges) if context.code == FETCH else None

    def sessions(self) -> Sequence[SessionKind]:
        """Sessions of Fetch and ShareFetch."""
        from dissectors.kafka.fetch_sessions import SESSIONS

        return SESSIONS

    def catalog(self) -> Catalog:
        """All fields of all APIs, and short names."""
        from dissectors.kafka.catalog import KafkaCatalog

        return KafkaCatalog()

    def checks(self) -> Sequence[type[Check]]:
        """Sequence numbers of producers, fetch sessions, clocks."""
        from dissectors.kafka.checks import checks

        return checks()

    def payloads(self, values: Mapping[str, Any], asked: Asked) -> Iterable[Payload]:
        """Keys and values of records."""
        from dissectors.kafka.payloads import payloads  # for exports alone

        return payloads(values)

    def carriers(self) -> Carriers | None:
        """Produce, answers to fetching, and what may hold or be one of these."""
        from dissectors.kafka.payloads import carriers  # the same

        return carriers()
