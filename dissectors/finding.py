"""Findings: notable facts about the bytes, each with a code from one list."""

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
    "unsupported-version": "this program does not know the version of the message",
    "unknown-operation": "this program does not know the number of the operation",
    "tls-not-decrypted": "keys were given (--keylog, --key), but they do not decrypt a TLS connection",
    "tls-mismatch": "one side speaks TLS and the other does not (only doctor reports it)",
    "tls-refused": "one side ended TLS with a fatal alert (only doctor reports it)",
    "expired-certificate": "a server's certificate is not valid at the time of the connection (only doctor reports it)",
    "proxy-preamble": "a proxy put its preamble before the conversation",
    "bytes-skipped": "the program skipped bytes in which it found no messages",
    "gap": "bytes are missing from the capture",
    "unfinished": "the stream or the capture ends inside the message",
    "conflicting-overlap": "a retransmission carries other bytes than the first transmission",
    "cut-by-snaplen": "the capture kept only the beginning of packets",
    "orphan-response": "the request of this response is not in the capture",
    "guessed-layout": "the layout of a message is inferred from its bytes",
    "guess-skipped": "too many responses without requests arrived at once to guess all of them (only live)",
    "early-access-layout": "only some early releases used this layout for this version",
    "closed-unanswered": "the other side closed the connection instead of answering",
    "unanswered": "a request that expects an answer has none in the capture",
    "one-direction": "the capture has only one direction of connections, so their answers cannot be paired",
    "clock-went-back": "the capture's clock went back between request and response",
    "damaged-capture": "the capture file ends or breaks before its end",
    "packets-not-kept": "packets came faster than they could be captured (only doctor reports it)",
    "left-unfinished": "the program evicted an unfinished connection or unread bytes from memory (only with --memory)",
    "unreadable-packet": "a packet's link layer could not be read",
    "throttled": (
        "the broker delays the client, because the client exceeds its quota or asks for more than the broker accepts"
    ),
    "deprecated-version": "newer brokers refuse this version of the request",
    "version-refused": "the broker does not know the version of the request",
    "fetch-session": "a fetch session is lost or refused, or a request does not fit its state",
    "duplicate-sequence": "a producer sent a batch or a message again",
    "out-of-order-sequence": "a sequence number of a producer is not the next one, or goes back",
    "fenced-producer": "a producer writes with an epoch, or an access, that a newer one has ended",
    "busy-producer": "a producer must wait or is refused: another one has the topic, or its backlog is full",
    "busy-consumer": "a consumer is refused: others have the subscription",
    "access-refused": "the broker refuses the client, or refuses what the client asks for",
    "storage-failed": "the broker could not write or open a topic's data",
    "system-busy": "a server is too busy to take a request, or dropped it unread",
    "weakly-stored": "a message is stored, but not as safely as the broker is set to",
    "message-refused": "a broker does not accept a message",
    "operation-refused": "the server does not know the operation, or does not know it by the number that was sent",
    "missing-field": "a field is missing, so the receiver refuses the message",
    "duplicate-key": "a key is there twice with different values; the last one counts",
    "offset-moved": "a consumer asked for an offset that the queue does not have",
    "stale-subscription": "the broker does not know the subscription that a consumer names",
    "given-up": "a consumer gives up a message, so it goes to the dead-letter queue of the group",
    "incompatible-schema": "the broker refuses a schema that does not fit those of the topic",
    "broker-close": "the broker closes a producer or consumer that its client did not close",
    "discarded-message": "a consumer could not read a message and acknowledged it unread",
    "oversized-frame": "a frame is larger than the default limit",
    "error-answer": "an answer reports an error (only doctor reports it)",
    "session-expired": "the server does not know the session any more, or the password is wrong",
    "session-closed": "a client asks for a session that it had closed (only doctor reports it)",
    "session-moved": "a session goes on at another server, and its old connection ends (only doctor reports it)",
    "connection-lost": "a session's connection ended before anybody closed the session (only doctor reports it)",
    "late-ping": "a session was silent for so long that it nearly expired (only doctor reports it)",
    "late-pong": "a keep-alive was answered late, or not at all (only doctor reports it)",
    "blocked-consumer": "a broker holds messages back until a consumer acknowledges some (only doctor reports it)",
    "starved-consumer": "a consumer asks for nothing while messages are sent to its topic (only doctor reports it)",
    "redelivery-storm": "messages are delivered again and again (only doctor reports it)",
    "newer-command": "a command is newer than the version that client and broker agreed on (only doctor reports it)",
    "no-receipt": "messages were sent, and nobody confirmed them (only doctor reports it)",
    "topic-missing": "a client asks again and again for a topic that does not exist (only doctor reports it)",
    "route-lost": "a name server no longer has a route to a topic that nobody deleted (only doctor reports it)",
    "registration-refused": "a name server refuses to register a broker (only doctor reports it)",
    "master-changed": "a broker has another master, or the controllers another leader (only doctor reports it)",
    "busy-broker": "a broker refuses many requests, because it is busy (only doctor reports it)",
    "pull-storm": "a consumer's pulls return at once without messages, again and again (only doctor reports it)",
    "dead-letter": "a message goes to the dead-letter queue, because nobody could process it (only doctor reports it)",
    "subscription-conflict": "members of a group have different subscriptions (only doctor reports it)",
    "late-heartbeat": (
        "a client sent no heartbeat for so long that it is dropped from its groups (only doctor reports it)"
    ),
    "leader-changed": "partitions have another leader than before (only doctor reports it)",
    "broker-stopped": "a broker stopped in good order, or wants to and cannot (only doctor reports it)",
    "controller-changed": "the cluster has another controller than before (only doctor reports it)",
    "member-expelled": "a coordinator removed a member from its group (only doctor reports it)",
    "slow-rebalance": "a group stood still for long while it rebalanced (only doctor reports it)",
    "rebalance-storm": "a group rebalances again and again (only doctor reports it)",
    "leader-lost": "an ensemble elected a new leader after the old one was lost (only doctor reports it)",
    "reconfigured": "a client added servers to an ensemble, or removed some (only doctor reports it)",
    "far-behind": (
        "a server was so far behind, or had so many transactions of its own, that the leader replaced its "
        "data (only doctor reports it)"
    ),
    "retransmissions": "packets were lost, and a connection stood still until they came again (only doctor reports it)",
    "closed-window": (
        "a side closed its window, because it did not read the data that had come (only doctor reports it)"
    ),
    "connection-reset": "a side reset a connection instead of answering (only doctor reports it)",
    "connection-refused": "a server answered with RST when clients wanted to connect (only doctor reports it)",
    "no-handshake": "nobody answered when clients wanted to connect (only doctor reports it)",
    "number-reused": "a request has the number of another one that has no answer yet (only doctor reports it)",
    "producers-in-turns": "producers take a topic from one another again and again (only doctor reports it)",
    "reconnect-loop": "a client requests the same producer or consumer again and again (only doctor reports it)",
    "outstanding-limit": (
        "so many requests wait that a server stops reading from its clients (only doctor reports it)"
    ),
    "oversized-packet": "a packet is near the bound of jute.maxbuffer, or beyond it",
    "word-refused": "the server does not answer this four-letter word: it is not on its list",
    "slow-quorum": "a server took long to confirm a transaction, or a leader to commit it (only doctor reports it)",
    "far-timestamp": "the time of a record is far from that of the capture",
    "oversized-batch": "a batch is longer than what the consumer may fetch at once",
    "missing-chunks": "chunks of this message are missing before it, so it cannot be reassembled",
    "inconsistent-chunks": "the chunks of a message contradict one another: their order, their number or their size",
    "inconsistent-batch": "a record batch contradicts itself, or the version of its message",
    "replication-jump": "a master continues its log at another offset than where it ended",
    "slow-replica": "a slave has not confirmed much of the log that was sent to it",
    "transaction-timeout": "a transaction took longer than its timeout, so it was aborted (only doctor reports it)",
    "bug": "a defect of this program, not of the bytes",
}


ADVICE: dict[str, str] = {
    "malformed-body": "Check the client library; if another tool reads these bytes, report a bug of this program.",
    "limit-exceeded": "Raise --max-decompressed if you trust the capture.",
    "crc-mismatch": "Check the network and the disks of both sides: the bytes changed on their way.",
    "wrong-protocol": "Check the port that the client is configured with, or name the protocol with -d PORT=NAME.",
    "unsupported-version": "Use a newer version of this program, or check the client library.",
    "tls-not-decrypted": "Write the key log of this client or server from its start, and give it with --keylog.",
    "expired-certificate": "Replace the certificate of the server, and check the clocks.",
    "bytes-skipped": "Name the protocol with -d PORT=NAME if these bytes are of a known one.",
    "gap": "Capture with a larger buffer, or closer to the server.",
    "cut-by-snaplen": "Capture whole packets (tcpdump -s 0).",
    "closed-unanswered": "Look in the log of the side that closed the connection, at this time.",
    "unanswered": "Check whether the server was slow or stopped, or whether the capture ended too early.",
    "one-direction": "Capture where both directions pass.",
    "clock-went-back": "Do not trust latencies around this message.",
    "damaged-capture": "Copy or record the capture again.",
    "packets-not-kept": "Capture with a larger buffer or a narrower filter.",
    "throttled": "Raise the client's quota, or let it send and fetch less.",
    "deprecated-version": "Upgrade the client before the servers; report upgrade lists all clients that would break.",
    "version-refused": "Do nothing if the client goes on with an older version. Otherwise upgrade client or broker.",
    "fetch-session": "If it happens often, raise max.incremental.fetch.session.cache.slots.",
    "duplicate-sequence": "Find out why the client sent again: look for a timeout or a lost answer before it.",
    "out-of-order-sequence": "Look for batches that failed before it, and for two producers with one id.",
    "fenced-producer": "Let only one producer run with this name or transactional id.",
    "access-refused": "Check the credentials and the permissions of the client's user.",
    "offset-moved": "Check retention against the consumer's lag, and whether the queue or topic was created again.",
    "incompatible-schema": "Change the schema, or the compatibility strategy of the namespace.",
    "broker-close": "Do nothing if the clients came back soon. Otherwise look in the broker's log at this time.",
    "master-changed": "Look in the log of the broker or controller that led before: it stopped or lost its connection.",
    "registration-refused": "Check the broker's name server addresses, its version and its credentials.",
    "connection-lost": "Look at the client's pauses, the network, and the server's log at this time.",
    "session-expired": "Look for pauses of the client (garbage collection) or a session timeout that is too short.",
    "session-closed": "Find out why the client uses a session that it has closed.",
    "session-moved": "Do nothing, unless two clients use one session and its password at the same time.",
    "late-ping": "Look for pauses of the client, or raise the session timeout.",
    "late-pong": "Look for pauses of the other side, and at the network.",
    "blocked-consumer": "Acknowledge sooner, or raise the limit; look for messages that nobody acknowledges.",
    "starved-consumer": "Find out what the application does with its last messages; it asks for no new ones.",
    "redelivery-storm": "Find out why the consumers do not acknowledge these messages.",
    "no-receipt": "Check whether the messages were stored; a client sends them again after it reconnects.",
    "topic-missing": "Create the topic, correct its name, or check the name server that the client uses.",
    "pull-storm": "Find out why the consumer asks again at once; its filter or its offset may be wrong.",
    "dead-letter": "Read the messages in the dead-letter topic, and find out why nobody could process them.",
    "subscription-conflict": "Give all members of the group the same subscription.",
    "late-heartbeat": "Look for pauses of the client.",
    "leader-changed": "Look in the log of the broker that led before: it stopped, or lost its connection.",
    "broker-stopped": "Do nothing if somebody stopped it on purpose. Otherwise look in its log at this time.",
    "controller-changed": "Look in the log of the controller that led before: it stopped, or lost its connection.",
    "member-expelled": "Look at its heartbeats and polls, which session.timeout.ms and max.poll.interval.ms limit.",
    "slow-rebalance": "Find out which member joined late. All members wait for it, at most for max.poll.interval.ms.",
    "rebalance-storm": "Find out what begins each rebalance (report groups); static members help.",
    "leader-lost": "Look in the log of the server that led before: it stopped, or lost its connection.",
    "reconfigured": "Do nothing if an administrator did this; clients and servers connect again.",
    "far-behind": "Do nothing if the server was down for long. Otherwise look at its disk and its log folder.",
    "retransmissions": "Look for lost packets between the two: report delays shows the exchanges that waited for them.",
    "closed-window": "Find out why this side does not read: it is busy, it pauses, or its receive buffer is too small.",
    "connection-reset": "Look in the log of the side that reset the connection, at this time.",
    "connection-refused": "Check whether the server runs and listens on this address and port.",
    "no-handshake": "Check the routes and firewalls on the way to this address, and whether its host runs.",
    "number-reused": "Check the client library: it reuses numbers of requests that still wait for their answers.",
    "producers-in-turns": "Let only one of the producers run.",
    "slow-quorum": "Look at the disks of the servers: a slow fsync is the most common cause.",
    "far-timestamp": "Check the clocks of producers and brokers.",
    "outstanding-limit": "Let clients wait for answers before they ask again, or give the server faster disks.",
    "oversized-packet": "Raise jute.maxbuffer on servers and clients, or make the data smaller.",
    "slow-replica": "Look at the load and the network of the replica.",
    "trailing-bytes": "Check whether the sender is newer than this program, and has fields that it does not know.",
    "unknown-operation": "Use a newer version of this program, or check the client library.",
    "tls-mismatch": "Let both sides speak TLS on this port, or neither.",
    "tls-refused": "Look in the log of the side that sent the alert.",
    "proxy-preamble": "Do nothing; the addresses in the preamble are those of the true client.",
    "unfinished": "Look in the log of the side that closed the connection; at the end of a capture, capture longer.",
    "conflicting-overlap": "Look for a device or an attacker that changes packets: TCP sends the same bytes again.",
    "orphan-response": "Do nothing at the beginning of a capture; otherwise capture with a larger buffer.",
    "guessed-layout": "Do not trust the fields of the message; begin the capture before the connection does.",
    "guess-skipped": "Write the packets with -w and read the file afterwards, or capture both directions.",
    "early-access-layout": "Upgrade the client or the server: it is an early release.",
    "left-unfinished": "Raise --memory, or read a shorter capture.",
    "unreadable-packet": "Capture on an interface with an Ethernet or IP link layer, or convert the capture.",
    "busy-producer": "Close the other producer, or consume the backlog.",
    "busy-consumer": "Close the other consumers, or let all of them ask for the same shared type.",
    "storage-failed": "Look at the disks and the log of the broker or bookie.",
    "system-busy": "Reduce the load, or look at the server's disk and threads; the client must send again.",
    "weakly-stored": "Bring the slaves back, and look at the disk of the broker.",
    "message-refused": "Correct the message, or the limit of the broker that refuses it.",
    "operation-refused": "Use a server that knows the request, or an older client.",
    "missing-field": "Check the client library: it leaves out a field that the server needs.",
    "duplicate-key": "Check the client library: it writes a key twice.",
    "stale-subscription": "If it lasts, look at the consumer's heartbeats and at members that subscribe differently.",
    "given-up": "Find out from the consumer's log why it cannot process the message.",
    "discarded-message": "Find out why the consumer cannot read the message: key, codec, or changed bytes.",
    "oversized-frame": "Make the batches smaller, or name the protocol with -d PORT=NAME if it is another one.",
    "error-answer": "Read the error in the answer.",
    "newer-command": "Check the library of the sender: it must not use what the other side does not know.",
    "route-lost": "Check that the brokers of the topic run, and that their heartbeats reach the name server.",
    "busy-broker": "Reduce the load, or look at the broker's disk and its sendThreadPoolQueueCapacity.",
    "reconnect-loop": "Look in the client's log for what it meets after each try.",
    "word-refused": "Add the word to 4lw.commands.whitelist, or use the AdminServer.",
    "oversized-batch": "Raise max.partition.fetch.bytes and fetch.max.bytes, or make the batches smaller.",
    "missing-chunks": "Check whether the producer died in the middle; the consumer drops the message after a while.",
    "inconsistent-chunks": "Check the producer library, and look for two producers with one name.",
    "inconsistent-batch": "Check the producer library.",
    "replication-jump": "Do nothing if the slave was empty or rebuilt. Otherwise compare the commit logs of both.",
    "transaction-timeout": "End transactions sooner, or raise their timeout; the producer must begin anew.",
    "bug": "Report it with the text that the program prints; the capture is not at fault.",
}
"""What to do about findings of each code, for people."""

ADVISED_BY_ERROR = frozenset(
    {
        *("busy-broker", "busy-consumer", "busy-producer", "error-answer", "message-refused", "missing-field"),
        *("operation-refused", "oversized-batch", "stale-subscription", "storage-failed", "system-busy"),
        *("weakly-stored",),
    }
)
"""Codes of which the advice of the error in the same answer says more than that of the code."""

ERROR_EXPLAINING = frozenset(
    {
        *("access-refused", "busy-broker", "busy-consumer", "busy-producer", "fenced-producer", "incompatible-schema"),
        *("message-refused", "missing-field", "offset-moved", "operation-refused", "oversized-batch", "storage-failed"),
        *(
            "transaction-timeout",
            "session-expired",
            "stale-subscription",
            "system-busy",
            "version-refused",
            "weakly-stored",
        ),
        *("registration-refused", "fetch-session", "out-of-order-sequence", "duplicate-sequence"),
    }
)
"""Codes of findings that say in more words what the error in the same answer says: then the error is no second one."""


@make_slotted
class Finding:
    """A fault or peculiarity of a message or a capture.

    `source`, `offset` and `length` are its place in the sources of the message, if it has one.

    subject: whom or what it is about, as a topic, a group or a session, where its check knows; findings of the same
    code and subject are one problem. advice: what to do; by default that of the code (ADVICE).
    """

    severity: Severity
    code: str
    text: str
    source: int = 0
    offset: int | None = None
    length: int | None = None
    subject: str = ""
    advice: str = ""

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"{self.code!r} is not in dissectors.finding.CODES")
