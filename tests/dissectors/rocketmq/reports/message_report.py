"""Commands as stories are told of them, made by hand: a clock of milliseconds, rows that count up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissectors.api import Context, Role
from dissectors.correlator import Ends
from dissectors.report import ReportType
from dissectors.rocketmq.reports.fields import ROCKETMQ, request_codes
from tests.dissectors.telling import Telling

TOPIC, GROUP = "orders", "CG"
HOST = "10.0.1.1:10911"
"""What stored messages call their broker."""

SIZE = 100


def ends(stream: int) -> tuple[str, str]:
    """Each connection is of a host of its own, and leads to one broker."""
    return f"10.0.0.{stream}:50000", HOST


def offset_id(at: int) -> str:
    """Of the commit log's offset on that broker."""
    return f"0A00010100002A9F{at:016X}"


def said(key: str | None, **more: str) -> dict[str, str]:
    """Properties."""
    return {"UNIQ_KEY": key, **more} if key else dict(more)


def written(properties: Mapping[str, str]) -> str:
    """The same as a header has them."""
    return "".join(f"{name}\x01{value}\x02" for name, value in properties.items())


def stored(key: str | None, at: int, offset: int, *, topic: str = TOPIC, queue: int = 0, **more: Any) -> dict[str, Any]:
    """A stored message: where in the commit log, where in its queue."""
    properties = said(key, **more.pop("properties", {}))
    place = {"topic": topic, "queueId": queue, "queueOffset": offset, "commitLogOffset": at, "storeHost": HOST}
    return {**place, "reconsumeTimes": 0, "properties": properties, **more}


class ReportBuilder(Telling):
    """Makes a report command by command."""

    def __init__(self, report: ReportType, ends: Ends = ends) -> None:
        super().__init__(report, ends)

    def tell(
        self,
        name: str,
        header: Mapping[str, Any] = {},
        body: Any = None,
        *,
        role: Role = Role.REQUEST,
        stream: int = 1,
        from_client: bool = True,
        partner: int | None = None,
        after: int = 1,
        error: tuple[int, str] | None = None,
    ) -> int:
        """The next command, some ms behind the one before; its row."""
        return self.receive(
            *(ROCKETMQ, Context(role, request_codes()[name]), {"header": header, "body": body}, name),
            stream=stream,
            after=after,
            from_client=from_client,
            partner=partner,
            client="JAVA",
            error=error,
        )

    def ask(self, name: str, header: Mapping[str, Any] = {}, body: Any = None, **more: Any) -> int:
        """A request that will be answered by the next command; its row."""
        return self.tell(name, header, body, partner=self.row + 1, **more)

    def reply(self, row: int, name: str, header: Mapping[str, Any] = {}, body: Any = None, **more: Any) -> int:
        """The answer to a request."""
        return self.tell(name, header, body, role=Role.RESPONSE, from_client=False, partner=row, **more)

    def call(
        self, name: str, header: Mapping[str, Any], answer: Mapping[str, Any] = {}, *, body: Any = None,
        got: Any = None, stream: int = 1, error: tuple[int, str] | None = None,
    ) -> int:  # fmt: skip
        """A request and its answer; the row of the request."""
        row = self.ask(name, header, body, stream=stream)
        self.reply(row, name, answer, got, stream=stream, error=error)
        return row

    def send(self, key: str | None, at: int = 0, offset: int = 0, **more: Any) -> int:
        """A message that is stored at once; properties: those beside its key."""
        properties = written(said(key, **more.pop("properties", {})))
        header = {"topic": more.pop("topic", TOPIC), "producerGroup": "PG", "queueId": 0, "sysFlag": 0}
        header |= {"properties": properties, **more.pop("header", {})}
        answer = {"msgId": offset_id(at), "queueId": 0, "queueOffset": offset, "transactionId": key}
        return self.call("SEND_MESSAGE_V2", header, {} if more.get("error") else answer, **more)

    def pull(self, *messages: Mapping[str, Any], topic: str = TOPIC, group: str = GROUP, **more: Any) -> int:
        """Some messages are pulled."""
        header = {"consumerGroup": group, "topic": topic, "queueId": 0, "sysFlag": 2, **more.pop("header", {})}
        return self.call("PULL_MESSAGE", header, got={"messages": list(messages)}, **more)

    def pop(self, *messages: Mapping[str, Any], time: int = 1000, invisible: int = 5000, **more: Any) -> int:
        """Some messages are popped."""
        header = {"consumerGroup": GROUP, "topic": TOPIC, "queueId": -1}
        answer = {"popTime": time, "invisibleTime": invisible, "reviveQid": 3}
        return self.call("POP_MESSAGE", header, answer, got={"messages": list(messages)}, **more)

    def ack(self, offset: int, *, time: int = 1000, topic: str = TOPIC, kind: str = "0", **more: Any) -> int:
        """One of these is acknowledged."""
        handle = f"0 {time} 5000 3 {kind} broker-a 0 {offset}"
        header = {"consumerGroup": GROUP, "topic": topic, "queueId": 0, "offset": offset, "extraInfo": handle}
        name = more.pop("name", "ACK_MESSAGE")
        return self.call(name, {**header, **more.pop("header", {})}, more.pop("answer", {}), **more)

    def commit(self, offset: int, *, topic: str = TOPIC, group: str = GROUP, **more: Any) -> int:
        """An offset is committed, as Java does it."""
        header = {"consumerGroup": group, "topic": topic, "queueId": 0, "commitOffset": offset}
        return self.tell("UPDATE_CONSUMER_OFFSET", header, role=Role.ONEWAY, **more)
