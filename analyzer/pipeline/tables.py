"""The tables and their columns, which readers of the Parquet files may rely on.

docs/reference/tables.md prints the same. Within a capture `id` names a message, so (`capture`, `id`) is the key of
`messages`, (`capture`, `request_id`) that of `exchanges`. Values are those of the rows of docs/reference/output.md with
the same names. A changed or dropped column counts VERSION up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

VERSION = 2
"""Of the columns; in each file's metadata under VERSION_KEY."""

VERSION_KEY = b"wireanalyze.tables"

PARTITIONED_BY = ("date", "protocol")
"""Columns that are folders (`date=2026-11-21/protocol=kafka/`) and not in the files."""

ERROR = pa.struct([("code", pa.int64()), ("name", pa.string())])
FINDING = pa.struct([(name, pa.string()) for name in ("severity", "code", "text")])
TEXTS = pa.list_(pa.string())
COUNTED = pa.struct([("bucket", pa.int32()), ("count", pa.int64())])


class Column(NamedTuple):
    """A column's name, type and meaning."""

    name: str
    type: pa.DataType
    meaning: str


MESSAGES: Sequence[Column] = (
    Column("capture", pa.string(), "the folder whose files are one timeline"),
    Column("file", pa.string(), "the file in it that has the packet which completed the message"),
    Column("first_record", pa.int64(), "number of the message's first packet in that file; null if it is in another"),
    Column("last_record", pa.int64(), "number of its last packet in that file, from 1"),
    Column("id", pa.string(), "the message, within its capture"),
    Column("stream_id", pa.string(), "its connection"),
    Column("partner_id", pa.string(), "the other half of the exchange"),
    Column("time_ns", pa.int64(), "of the packet that completed it, nanoseconds since 1970, UTC"),
    Column("source", pa.string(), "who sent it, address:port"),
    Column("destination", pa.string(), "who received it"),
    Column("from_client", pa.bool_(), "whether the side that opened the connection sent it"),
    Column("role", pa.string(), "request, response, oneway, push, raw"),
    Column("operation", pa.string(), "the protocol's own name; on a response its request's"),
    Column("code", pa.int32(), "the operation's number"),
    Column("version", pa.int32(), "the operation's version"),
    Column("correlation", pa.string(), "what an answer repeats of its request"),
    Column("client", pa.string(), "how the client calls itself"),
    Column("topics", TEXTS, "topics that it is about, by name, or by id where no message tells the name"),
    Column("groups", TEXTS, "groups of consumers and producers, and subscriptions"),
    Column("paths", TEXTS, "paths of nodes"),
    Column("length", pa.int64(), "bytes on the wire"),
    Column("offset", pa.int64(), "of its first byte in its direction of the connection"),
    Column("latency_ns", pa.int64(), "on a response: from its request's completion to its own"),
    Column("error", ERROR, "the first error that the message reports"),
    Column("state", pa.string(), "complete, partial, guessed, undecoded"),
    Column("info", pa.string(), "one line for people"),
    Column("findings", pa.list_(FINDING), "what is to be said of it"),
    Column("fields", pa.string(), "the decoded body as JSON; not there if it was not asked for"),
    Column("date", pa.date32(), "of time_ns, UTC"),
    Column("protocol", pa.string(), "the protocol; unknown for raw bytes"),
)

EXCHANGES: Sequence[Column] = (
    Column("capture", pa.string(), "as in messages"),
    Column("request_id", pa.string(), "id of the request"),
    Column("response_id", pa.string(), "id of its first answer, or null"),
    Column("stream_id", pa.string(), "their connection"),
    Column("client", pa.string(), "how the client calls itself"),
    Column("operation", pa.string(), "the protocol's own name"),
    Column("code", pa.int32(), "the operation's number"),
    Column("version", pa.int32(), "the operation's version"),
    Column("correlation", pa.string(), "what both repeat"),
    Column("topics", TEXTS, "as in messages: what the request is about, else its answer"),
    Column("groups", TEXTS, "the same"),
    Column("paths", TEXTS, "the same"),
    Column("answered", pa.bool_(), "whether the capture has an answer"),
    Column("request_time_ns", pa.int64(), "when the request was complete"),
    Column("response_time_ns", pa.int64(), "when the answer was complete"),
    Column("latency_ns", pa.int64(), "from one to the other"),
    Column("error", ERROR, "the first error that the answer reports"),
    Column("request_length", pa.int64(), "bytes on the wire"),
    Column("response_length", pa.int64(), "bytes on the wire"),
    Column("request_state", pa.string(), "complete, partial, guessed, undecoded"),
    Column("response_state", pa.string(), "the same of the answer"),
    Column("date", pa.date32(), "of request_time_ns, UTC"),
    Column("protocol", pa.string(), "the protocol"),
)

STREAMS: Sequence[Column] = (
    Column("capture", pa.string(), "as in messages"),
    Column("stream_id", pa.string(), "the connection"),
    Column("client", pa.string(), "who opened it, address:port"),
    Column("server", pa.string(), "the other end"),
    Column("first_time_ns", pa.int64(), "of its first packet, nanoseconds since 1970, UTC"),
    Column("last_time_ns", pa.int64(), "of its last packet"),
    Column("packets", pa.int64(), "that it has"),
    Column("client_messages", pa.int64(), "of the exported ones, those that the client sent"),
    Column("server_messages", pa.int64(), "the same of the server"),
    Column("client_bytes", pa.int64(), "of these messages"),
    Column("server_bytes", pa.int64(), "of these messages"),
    Column("closed_by", pa.string(), "client or server: who sent the first FIN or RST; null if nobody did"),
    Column("date", pa.date32(), "of first_time_ns, UTC"),
    Column("protocol", pa.string(), "the protocol; unknown if it is none of ours"),
)

FINDINGS: Sequence[Column] = (
    Column("capture", pa.string(), "as in messages"),
    Column("number", pa.int64(), "of the message in this input; null where a finding is of a file or a stream"),
    Column("id", pa.string(), "the message; null where a finding is of a file or a stream"),
    Column("stream_id", pa.string(), "the message's connection"),
    Column("time_ns", pa.int64(), "of the message"),
    Column("operation", pa.string(), "of the message"),
    Column("severity", pa.string(), "error, warning, note"),
    Column("code", pa.string(), "what it is, one of `wireanalyze protocols findings`"),
    Column("text", pa.string(), "the same for people"),
    Column("date", pa.date32(), "of time_ns, else of the capture's first packet"),
    Column("protocol", pa.string(), "the message's; unknown where there is none"),
)

RECORDS: Sequence[Column] = (
    Column("capture", pa.string(), "as in messages"),
    Column("id", pa.string(), "the message that carries the record"),
    Column("stream_id", pa.string(), "its connection"),
    Column("time_ns", pa.int64(), "when that message was complete"),
    Column("operation", pa.string(), "what that message does"),
    Column("role", pa.string(), "request: it is sent to be stored; response, push: it is delivered"),
    Column("topic", pa.string(), "by name, or by id where no message tells the name"),
    Column("partition", pa.int32(), "the partition or queue"),
    Column("offset", pa.int64(), "in the log, or in the batch where the log's is not known yet"),
    Column("timestamp_ms", pa.int64(), "of the record itself, milliseconds since 1970"),
    Column("key_hash", pa.string(), "the first 16 hexadecimal digits of the key's SHA-256; null without a key"),
    Column("key_length", pa.int64(), "bytes; null without a key"),
    Column("value_length", pa.int64(), "bytes, unpacked; null without a value"),
    Column("date", pa.date32(), "of time_ns, UTC"),
    Column("protocol", pa.string(), "the protocol"),
)

NAMES: Sequence[Column] = (
    Column("capture", pa.string(), "as in messages"),
    Column("kind", pa.string(), "what has the name: topic"),
    Column("id", pa.string(), "what messages call it"),
    Column("name", pa.string(), "the first name that a message told of it"),
    Column("time_ns", pa.int64(), "of that message"),
    Column("date", pa.date32(), "of time_ns, UTC"),
    Column("protocol", pa.string(), "the protocol"),
)

SUMMARIES: Sequence[Column] = (
    Column("capture", pa.string(), "as in messages"),
    Column("window_ns", pa.int64(), "when the window of time begins in which requests were complete"),
    Column("role", pa.string(), "request: exchanges are counted; oneway, push: messages without an answer"),
    Column("operation", pa.string(), "the protocol's own name"),
    Column("version", pa.int32(), "the operation's version"),
    Column("client", pa.string(), "how the client calls itself"),
    Column("topic", pa.string(), "those about this topic; null: all of them, whatever they are about"),
    Column("messages", pa.int64(), "how many requests, or messages without an answer"),
    Column("answers", pa.int64(), "requests of which the capture has an answer"),
    Column("errors", pa.int64(), "answers that report an error"),
    Column("request_bytes", pa.int64(), "of these requests or messages, on the wire"),
    Column("response_bytes", pa.int64(), "of their answers"),
    Column("latency_sum_ns", pa.int64(), "the latencies of these answers together"),
    Column("latency_max_ns", pa.int64(), "the greatest; null without an answer"),
    Column("latency", pa.list_(COUNTED), "how many latencies are in which bucket, by bucket; others have none"),
    Column("date", pa.date32(), "of window_ns, UTC"),
    Column("protocol", pa.string(), "the protocol"),
)

FILES: Sequence[Column] = (
    Column("capture", pa.string(), "as in messages"),
    Column("file", pa.string(), "as in messages"),
    Column("path", pa.string(), "where it was"),
    Column("state", pa.string(), "read; damaged: read as far as that; passed over: no capture; quarantined: not read"),
    Column("reason", pa.string(), "why it is not read, or not to its end; null if it is"),
    Column("bytes", pa.int64(), "of the file"),
    Column("format", pa.string(), "pcap, pcapng"),
    Column("compression", pa.string(), "null without one"),
    Column("packets", pa.int64(), "that were read"),
    Column("first_time_ns", pa.int64(), "the lowest of their times"),
    Column("last_time_ns", pa.int64(), "the highest"),
    Column("date", pa.date32(), "of first_time_ns, UTC; 1970-01-01 without a packet"),
    Column("protocol", pa.string(), "unknown: a file may have several"),
)

TABLES: Mapping[str, Sequence[Column]] = {
    "messages": MESSAGES,
    "exchanges": EXCHANGES,
    "streams": STREAMS,
    "findings": FINDINGS,
    "records": RECORDS,
    "summaries": SUMMARIES,
    "names": NAMES,
}
"""What packets become; exports write the same."""

EVERY: Mapping[str, Sequence[Column]] = {**TABLES, "files": FILES}
"""What the pipeline writes."""


def schema(table: str, *, fields: bool = True) -> pa.Schema:
    """The Arrow schema of a table; without `fields`, if bodies are not asked for."""
    columns = [column for column in EVERY[table] if fields or column.name != "fields"]
    return pa.schema([(column.name, column.type) for column in columns], {VERSION_KEY: str(VERSION).encode()})


def ddl(table: str, *, fields: bool = True) -> str:
    """The same as Spark writes it."""
    return sql(schema(table, fields=fields))


def sql(columns: pa.Schema) -> str:
    """Columns as Spark writes them."""
    return ", ".join(f"`{field.name}` {_sql(field.type)}" for field in columns)


_SQL = {
    pa.string(): "STRING",
    pa.bool_(): "BOOLEAN",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.date32(): "DATE",
}


def _sql(kind: pa.DataType) -> str:
    if pa.types.is_struct(kind):
        return f"STRUCT<{', '.join(f'{field.name}: {_sql(field.type)}' for field in kind)}>"
    if pa.types.is_list(kind):
        return f"ARRAY<{_sql(kind.value_type)}>"
    return _SQL[kind]
