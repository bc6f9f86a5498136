"""Findings: what is worth saying about the bytes, each with a code from one list."""

from __future__ import annotations

from enum import IntEnum

from dissectors.slotted import make_slotted


class Severity(IntEnum):
    """How much a reader should care; the names are printed in lower case."""

    NOTE = 1
    WARNING = 2
    ERROR = 3


CODES: dict[str, str] = {
    "malformed-body": "the body breaks the layout of its operation and version",
    "limit-exceeded": "a count, a depth or a size is beyond what is decoded (--max-decompressed raises the bounds)",
    "trailing-bytes": "bytes are left after the body",
    "crc-mismatch": "the stored checksum is not that of the bytes",
    "wrong-protocol": "the bytes are of another protocol than the port suggests",
    "unsupported-version": "the version is not in the tables",
    "unknown-operation": "the operation's number is not in the tables",
    "tls-not-decrypted": "keys were given (--keylog, --key), and a TLS connection is not decrypted with them",
    "proxy-preamble": "a proxy put its preamble before the conversation",
    "bytes-skipped": "bytes without framing were passed over",
    "gap": "bytes are missing from the capture",
    "unfinished": "the stream or the capture ends inside the message",
    "conflicting-overlap": "a retransmission carries other bytes than the first transmission",
    "cut-by-snaplen": "the capture kept only the beginning of packets",
    "orphan-response": "the request of this response is not in the capture",
    "guessed-layout": "the layout of a message is inferred from its bytes",
    "early-access-layout": "the layout is one that only some early releases wrote under this version",
    "closed-unanswered": "the other side closed the connection instead of answering",
    "unanswered": "a request that expects an answer has none in the capture",
    "one-direction": "the capture has only one direction of connections, so their answers cannot be paired",
    "clock-went-back": "the capture's clock went back between request and response",
    "damaged-capture": "the capture file ends or breaks before its end",
    "packets-not-kept": "packets came faster than they could be captured (only doctor counts these)",
    "left-unfinished": "something left memory before it was whole (only where rows leave: --memory)",
    "unreadable-packet": "a packet's link layer could not be read",
    "throttled": "the broker keeps its client waiting, for it asks for more than its quota or than the broker takes",
    "deprecated-version": "newer brokers refuse this version of the request",
    "version-refused": "the broker does not know the version that was asked for",
    "fetch-session": "a fetch session is lost, used out of step, not given, or asked for as none can be",
    "duplicate-sequence": "a producer sent a batch or a message again",
    "out-of-order-sequence": "a sequence number of a producer is not the next one, or goes back",
    "fenced-producer": "a producer writes with an epoch, or an access, that a newer one has ended",
    "busy-producer": "a producer must wait or is refused: another one has the topic, or its backlog is full",
    "busy-consumer": "a consumer is refused: others have the subscription",
    "access-refused": "the broker does not let the client in, or not do what it asks for",
    "storage-failed": "the broker could not write or open a topic's data",
    "system-busy": "a server has too much to do to take a request, or threw it away unread",
    "weakly-stored": "a message is stored, but not as safely as the broker is set to",
    "message-refused": "a broker does not take a message as it is",
    "operation-refused": "the server does not know the operation, or cannot under the number that was sent",
    "missing-field": "a field is not there without which the receiver refuses the message",
    "duplicate-key": "a key stands twice with different values; the last one counts",
    "offset-moved": "a consumer asked for an offset that the queue does not have",
    "stale-subscription": "the broker does not know the subscription that a consumer asks with",
    "given-up": "a consumer gives a message up, which goes to the dead-letter queue of its group",
    "incompatible-schema": "the broker refuses a schema that does not fit those of the topic",
    "broker-close": "the broker closes a producer or consumer that its client did not close",
    "discarded-message": "a consumer could not read a message and acknowledged it unread",
    "oversized-frame": "a frame is larger than what is taken by default",
    "error-answer": "an answer reports an error (only doctor counts these)",
    "session-expired": "the server knows no such session any more, or the password was not its own",
    "connection-lost": "a session's connection ended and nobody had closed the session (only doctor tells)",
    "late-ping": "a session was silent for so long that it nearly expired (only doctor tells)",
    "late-pong": "a keep-alive was answered late, or not at all (only doctor tells)",
    "starved-consumer": "a consumer asks for nothing while messages are sent to its topic (only doctor tells)",
    "redelivery-storm": "messages are delivered again and again (only doctor tells)",
    "newer-command": "a command is newer than what client and broker agreed on (only doctor tells)",
    "no-receipt": "messages were sent that nobody confirmed (only doctor tells)",
    "topic-missing": "a client asks for a topic again and again that is not there (only doctor tells)",
    "route-lost": "a name server has no route any more of a topic that nobody deleted (only doctor tells)",
    "registration-refused": "a name server refuses to register a broker (only doctor tells)",
    "master-changed": "a broker has another master, or the controllers another leader (only doctor tells)",
    "busy-broker": "a broker refuses much of what it is asked for, because it is busy (only doctor tells)",
    "pull-storm": "a consumer's pulls come back at once with nothing, again and again (only doctor tells)",
    "dead-letter": "a message is put aside, for nobody could process it (only doctor tells)",
    "subscription-conflict": "members of a group do not subscribe alike (only doctor tells)",
    "late-heartbeat": "a client sent no heartbeat for so long that it is dropped from its groups (only doctor tells)",
    "number-reused": "a request has the number of another one that has no answer yet (only doctor tells)",
    "producers-in-turns": "producers take a topic from one another again and again (only doctor tells)",
    "reconnect-loop": "a producer or consumer is asked for over and over (only doctor tells)",
    "oversized-packet": "a packet is near the bound of jute.maxbuffer, or beyond it",
    "word-refused": "the server does not answer this four-letter word: it is not on its list",
    "slow-quorum": "a server took long to confirm a transaction, or a leader to commit it (only doctor tells)",
    "smaller-sid": "a server with a larger sid dropped the connection of one with a smaller (only doctor tells)",
    "far-timestamp": "the time of a record is far from that of the capture",
    "oversized-batch": "a batch is longer than what the consumer may fetch at once",
    "missing-chunks": "not all messages with chunks of this one are among those before it, so it can't be joined",
    "inconsistent-chunks": "the chunks of a message contradict one another: their order, their number or their size",
    "inconsistent-batch": "a record batch contradicts itself, or the version of its message",
    "replication-jump": "a master goes on with its log elsewhere than where it had ended",
    "slow-replica": "a slave has not confirmed much of the log that was sent to it",
    "bug": "a defect of this program, not of the bytes",
}


@make_slotted
class Finding:
    """One remark. `source`, `offset` and `length` say where in the message's sources, when it has a place."""

    severity: Severity
    code: str
    text: str
    source: int = 0
    offset: int | None = None
    length: int | None = None

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"{self.code!r} is not in dissectors.finding.CODES")
