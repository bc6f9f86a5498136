"""The tables and their columns, which readers of the Parquet files may rely on.

docs/reference/tables.md prints the same. Within a capture `id` names a message, so (`capture`, `id`) is the key of
`messages`, (`capture`, `request_id`) that of `exchanges`. Values are those of the rows of docs/reference/output.md with
the same names. A changed or dropped column counts VERSION up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

VERSION = 3
"""Of the columns; in each file's metadata under VERSION_KEY."""

VERSION_KEY = b"wireanalyze.tables"

PARTITIONED_BY = ("date", "protocol")
"""Columns that are folders (`date=2026-11-21/protocol=kafka/`) and not in the files."""

TIME, DURATION = pa.timestamp("ns", "UTC"), pa.duration("ns")
TABLE_TIME, TABLE_DURATION = pa.timestamp("us", "UTC"), pa.duration("us")
"""Those of files: Spark refuses times in nanoseconds, and Python's own types have none. Integers beside are exact."""

PORT = pa.uint16()
NAMES_TYPE = pa.dictionary(pa.int32(), pa.string())
"""Texts of which a capture has few different ones."""

ERROR = pa.struct([("code", pa.int64()), ("name", pa.string())])
FINDING = pa.struct([(name, pa.string()) for name in ("severity", "code", "text")])
TEXTS = pa.list_(pa.string())
MESSAGE_PART = pa.struct([("part", pa.string()), ("id", pa.string())])
BUCKET_COUNT = pa.struct([("bucket", pa.int32()), ("count", pa.int64())])


class TableColumn(NamedTuple):
    """A column's name, type and meaning. source: the column that it says the same as, with another type."""

    name: str
    type: pa.DataType
    meaning: str
    source: str | None = None


MESSAGES: Sequence[TableColumn] = (
    TableColumn("capture", pa.string(), "the folder whose files are one timeline"),
    TableColumn("file", pa.string(), "the file in it that has the packet which completed the message"),
    TableColumn(
        "first_record", pa.int64(), "number of the message's first packet in that file; null if it is in another"
    ),
    TableColumn("last_record", pa.int64(), "number of its last packet in that file, from 1"),
    TableColumn("id", pa.string(), "the message, within its capture"),
    TableColumn("stream_id", pa.string(), "its connection"),
    TableColumn("partner_id", pa.string(), "the other half of the exchange"),
    TableColumn("time_ns", pa.int64(), "of the packet that completed it, nanoseconds since 1970, UTC"),
    TableColumn("source", pa.string(), "who sent it, address:port"),
    TableColumn("destination", pa.string(), "who received it"),
    TableColumn("from_client", pa.bool_(), "whether the side that opened the connection sent it"),
    TableColumn("role", pa.string(), "request, response, oneway, push, raw"),
    TableColumn("operation", pa.string(), "the protocol's own name; on a response its request's"),
    TableColumn("code", pa.int32(), "the operation's number"),
    TableColumn("version", pa.int32(), "the operation's version"),
    TableColumn("correlation", pa.string(), "what an answer repeats of its request"),
    TableColumn("client", pa.string(), "how the client calls itself"),
    TableColumn("topics", TEXTS, "topics that it is about, by name, or by id where no message tells the name"),
    TableColumn("groups", TEXTS, "groups of consumers and producers, and subscriptions"),
    TableColumn("paths", TEXTS, "paths of nodes"),
    TableColumn("length", pa.int64(), "bytes on the wire"),
    TableColumn("offset", pa.int64(), "of its first byte in its direction of the connection"),
    TableColumn("latency_ns", pa.int64(), "on a response: from its request's completion to its own"),
    TableColumn("error", ERROR, "the first error that the message reports"),
    TableColumn("state", pa.string(), "complete, partial, guessed, undecoded"),
    TableColumn("info", pa.string(), "one line for people"),
    TableColumn("findings", pa.list_(FINDING), "what is to be said of it"),
    TableColumn("fields", pa.string(), "the decoded body as JSON; not there if it was not asked for"),
    TableColumn("date", pa.date32(), "of time_ns, UTC"),
    TableColumn("protocol", pa.string(), "the protocol; unknown for raw bytes"),
)

EXCHANGES: Sequence[TableColumn] = (
    TableColumn("capture", pa.string(), "as in messages"),
    TableColumn("request_id", pa.string(), "id of the request"),
    TableColumn("response_id", pa.string(), "id of its first answer, or null"),
    TableColumn("stream_id", pa.string(), "their connection"),
    TableColumn("client", pa.string(), "how the client calls itself"),
    TableColumn("operation", pa.string(), "the protocol's own name"),
    TableColumn("code", pa.int32(), "the operation's number"),
    TableColumn("version", pa.int32(), "the operation's version"),
    TableColumn("correlation", pa.string(), "what both repeat"),
    TableColumn("topics", TEXTS, "as in messages: what the request is about, else its answer"),
    TableColumn("groups", TEXTS, "the same"),
    TableColumn("paths", TEXTS, "the same"),
    TableColumn("answered", pa.bool_(), "whether the capture has an answer"),
    TableColumn("request_time_ns", pa.int64(), "when the request was complete"),
    TableColumn("response_time_ns", pa.int64(), "when the answer was complete"),
    TableColumn("latency_ns", pa.int64(), "from one to the other"),
    TableColumn("error", ERROR, "the first error that the answer reports"),
    TableColumn("request_length", pa.int64(), "bytes on the wire"),
    TableColumn("response_length", pa.int64(), "bytes on the wire"),
    TableColumn("request_state", pa.string(), "complete, partial, guessed, undecoded"),
    TableColumn("response_state", pa.string(), "the same of the answer"),
    TableColumn("date", pa.date32(), "of request_time_ns, UTC"),
    TableColumn("protocol", pa.string(), "the protocol"),
)

STREAMS: Sequence[TableColumn] = (
    TableColumn("capture", pa.string(), "as in messages"),
    TableColumn("stream_id", pa.string(), "the connection"),
    TableColumn("client", pa.string(), "who opened it, address:port"),
    TableColumn("server", pa.string(), "the other end"),
    TableColumn("first_time_ns", pa.int64(), "of its first packet, nanoseconds since 1970, UTC"),
    TableColumn("last_time_ns", pa.int64(), "of its last packet"),
    TableColumn("packets", pa.int64(), "that it has"),
    TableColumn("client_messages", pa.int64(), "of the exported ones, those that the client sent"),
    TableColumn("server_messages", pa.int64(), "the same of the server"),
    TableColumn("client_bytes", pa.int64(), "of these messages"),
    TableColumn("server_bytes", pa.int64(), "of these messages"),
    TableColumn("closed_by", pa.string(), "client or server: who sent the first FIN or RST; null if nobody did"),
    TableColumn("date", pa.date32(), "of first_time_ns, UTC"),
    TableColumn("protocol", pa.string(), "the protocol; unknown if it is none of ours"),
)

FINDINGS: Sequence[TableColumn] = (
    TableColumn("capture", pa.string(), "as in messages"),
    TableColumn("number", pa.int64(), "of the message in this input; null where a finding is of a file or a stream"),
    TableColumn("id", pa.string(), "the message; null where a finding is of a file or a stream"),
    TableColumn("stream_id", pa.string(), "the message's connection"),
    TableColumn("time_ns", pa.int64(), "of the message"),
    TableColumn("operation", pa.string(), "of the message"),
    TableColumn("severity", pa.string(), "error, warning, note"),
    TableColumn("code", pa.string(), "what it is, one of `wireanalyze protocols findings`"),
    TableColumn("text", pa.string(), "the same for people"),
    TableColumn("date", pa.date32(), "of time_ns, else of the capture's first packet"),
    TableColumn("protocol", pa.string(), "the message's; unknown where there is none"),
)

RECORDS: Sequence[TableColumn] = (
    TableColumn("capture", pa.string(), "as in messages"),
    TableColumn("id", pa.string(), "the message that carries the record"),
    TableColumn("stream_id", pa.string(), "its connection"),
    TableColumn("time_ns", pa.int64(), "when that message was complete"),
    TableColumn("operation", pa.string(), "what that message does"),
    TableColumn("role", pa.string(), "request: it is sent to be stored; response, push: it is delivered"),
    TableColumn("topic", pa.string(), "by name, or by id where no message tells the name"),
    TableColumn("partition", pa.int32(), "the partition or queue"),
    TableColumn("offset", pa.int64(), "in the log, or in the batch where the log's is not known yet"),
    TableColumn("timestamp_ms", pa.int64(), "of the record itself, milliseconds since 1970"),
    TableColumn("key_hash", pa.string(), "the first 16 hexadecimal digits of the key's SHA-256; null without a key"),
    TableColumn("key_length", pa.int64(), "bytes; null without a key"),
    TableColumn("value_length", pa.int64(), "bytes, unpacked; null without a value"),
    TableColumn("date", pa.date32(), "of time_ns, UTC"),
    TableColumn("protocol", pa.string(), "the protocol"),
)

NAMES: Sequence[TableColumn] = (
    TableColumn("capture", pa.string(), "as in messages"),
    TableColumn("kind", pa.string(), "what has the name: topic"),
    TableColumn("id", pa.string(), "what messages call it"),
    TableColumn("name", pa.string(), "the first name that a message told of it"),
    TableColumn("time_ns", pa.int64(), "of that message"),
    TableColumn("date", pa.date32(), "of time_ns, UTC"),
    TableColumn("protocol", pa.string(), "the protocol"),
)

SUMMARIES: Sequence[TableColumn] = (
    TableColumn("capture", pa.string(), "as in messages"),
    TableColumn("window_ns", pa.int64(), "when the window of time begins in which requests were complete"),
    TableColumn("role", pa.string(), "request: exchanges are counted; oneway, push: messages without an answer"),
    TableColumn("operation", pa.string(), "the protocol's own name"),
    TableColumn("version", pa.int32(), "the operation's version"),
    TableColumn("client", pa.string(), "how the client calls itself"),
    TableColumn("topic", pa.string(), "those about this topic; null: all of them, whatever they are about"),
    TableColumn("messages", pa.int64(), "how many requests, or messages without an answer"),
    TableColumn("answers", pa.int64(), "requests of which the capture has an answer"),
    TableColumn("errors", pa.int64(), "answers that report an error"),
    TableColumn("request_bytes", pa.int64(), "of these requests or messages, on the wire"),
    TableColumn("response_bytes", pa.int64(), "of their answers"),
    TableColumn("latency_sum_ns", pa.int64(), "the latencies of these answers together"),
    TableColumn("latency_max_ns", pa.int64(), "the greatest; null without an answer"),
    TableColumn(
        "latency", pa.list_(BUCKET_COUNT), "how many latencies are in which bucket, by bucket; others have none"
    ),
    TableColumn("date", pa.date32(), "of window_ns, UTC"),
    TableColumn("protocol", pa.string(), "the protocol"),
)

FILES: Sequence[TableColumn] = (
    TableColumn("capture", pa.string(), "as in messages"),
    TableColumn("file", pa.string(), "as in messages"),
    TableColumn("path", pa.string(), "where it was"),
    TableColumn(
        "state", pa.string(), "read; damaged: read as far as that; passed over: no capture; quarantined: not read"
    ),
    TableColumn("reason", pa.string(), "why it is not read, or not to its end; null if it is"),
    TableColumn("bytes", pa.int64(), "of the file"),
    TableColumn("format", pa.string(), "pcap, pcapng"),
    TableColumn("compression", pa.string(), "null without one"),
    TableColumn("packets", pa.int64(), "that were read"),
    TableColumn("first_time_ns", pa.int64(), "the lowest of their times"),
    TableColumn("last_time_ns", pa.int64(), "the highest"),
    TableColumn("date", pa.date32(), "of first_time_ns, UTC; 1970-01-01 without a packet"),
    TableColumn("protocol", pa.string(), "unknown: a file may have several"),
)

REPORT_ROWS: Sequence[TableColumn] = (
    TableColumn("capture", pa.string(), "as in messages"),
    TableColumn("report", pa.string(), "the name of the report"),
    TableColumn("subject", pa.string(), "the first of its own columns: what the row is about"),
    TableColumn("first_time_ns", pa.int64(), "when it was first heard of, nanoseconds since 1970, UTC"),
    TableColumn("last_time_ns", pa.int64(), "when it was last heard of"),
    TableColumn("messages", pa.list_(MESSAGE_PART), "messages that it is made of, and the part of each"),
    TableColumn("values", pa.string(), "the report's own columns as JSON"),
    TableColumn("date", pa.date32(), "of first_time_ns, UTC"),
    TableColumn("protocol", pa.string(), "the protocol of the report"),
)

ENDPOINTS: Mapping[str, Sequence[str]] = {"messages": ("source", "destination"), "streams": ("client", "server")}
"""Columns with address:port, which are there as address and as port, too."""

_DURATIONS = ("latency_ns", "latency_sum_ns", "latency_max_ns")


def _add_typed(table: str, columns: Sequence[TableColumn]) -> Sequence[TableColumn]:
    """The columns of a table, and behind each number of nanoseconds and each endpoint those with types of their own."""
    return [each for column in columns for each in (column, *_list_typed(table, column))]


def _list_typed(table: str, column: TableColumn) -> Iterator[TableColumn]:
    name = column.name
    if name in _DURATIONS:
        yield TableColumn(name.removesuffix("_ns"), TABLE_DURATION, f"{name} in microseconds", name)
    elif name.endswith(("_ns", "_ms")):
        yield TableColumn(name[:-3], TABLE_TIME, f"{name} in microseconds", name)
    elif name in ENDPOINTS.get(table, ()):
        yield TableColumn(f"{name}_ip", pa.string(), f"the address of {name}", name)
        yield TableColumn(f"{name}_port", PORT, f"the port of {name}", name)


TABLES: Mapping[str, Sequence[TableColumn]] = {
    table: _add_typed(table, columns)
    for table, columns in (
        *(("messages", MESSAGES), ("exchanges", EXCHANGES), ("streams", STREAMS), ("findings", FINDINGS)),
        *(("records", RECORDS), ("summaries", SUMMARIES), ("names", NAMES)),
    )
}
"""What packets become; exports write the same."""

ALL_TABLES: Mapping[str, Sequence[TableColumn]] = {**TABLES, "files": _add_typed("files", FILES)}
"""What the pipeline writes."""

REPORTS = "reports"
EVERY_TABLE: Mapping[str, Sequence[TableColumn]] = {**ALL_TABLES, REPORTS: _add_typed(REPORTS, REPORT_ROWS)}
"""With the one that exports alone write, if it is asked for."""


def build_schema(table: str, *, fields: bool = True, bodies: pa.DataType | None = None) -> pa.Schema:
    """Returns the Arrow schema of a table; without `fields`, if bodies are not asked for. bodies: their type; None:
    JSON.
    """
    columns = [
        (column.name, bodies if bodies is not None and column.name == "fields" else column.type)
        for column in EVERY_TABLE[table]
        if fields or column.name != "fields"
    ]
    return pa.schema(columns, {VERSION_KEY: str(VERSION).encode()})
