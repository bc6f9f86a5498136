"""Messages as stories are told of them, made by hand: a clock of milliseconds, rows that count up, some connections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissectors.api import Context, Role
from dissectors.correlator import Ends
from dissectors.pulsar.commands import commands
from dissectors.report import ReportType
from tests.dissectors.telling import Telling

SIZE = 100
TOPIC = "persistent://public/default/t"
CODES = {command.name: code for code, command in commands().items()}


def ends(stream: int) -> tuple[str, str]:
    """Each connection is of a host of its own."""
    return f"10.0.0.{stream}:50000", "10.0.1.1:6650"


def place(entry: int, ledger: int = 7, **more: Any) -> dict[str, Any]:
    """A message id."""
    return {"ledgerId": ledger, "entryId": entry, **more}


class ReportBuilder(Telling):
    """Makes a report message by message."""

    def __init__(self, report: ReportType, ends: Ends = ends) -> None:
        super().__init__(report, ends)

    def tell(
        self,
        operation: str,
        values: Mapping[str, Any],
        *,
        role: Role = Role.REQUEST,
        stream: int = 1,
        from_client: bool = True,
        partner: int | None = None,
        after: int = 1,
    ) -> int:
        """The next message, some ms behind the one before; its row."""
        return self.receive(
            *("pulsar", Context(role, CODES[operation]), values, operation),
            stream=stream,
            after=after,
            from_client=from_client,
            partner=partner,
            client="client",
        )

    def push(self, operation: str, values: Mapping[str, Any], **more: Any) -> int:
        """What the broker says without being asked."""
        return self.tell(operation, values, role=Role.PUSH, from_client=False, **more)

    def call(
        self,
        operation: str,
        asked: Mapping[str, Any],
        answer: str = "SUCCESS",
        said: Mapping[str, Any] = {},
        **more: Any,
    ) -> int:
        """A request and its answer; the row of the request."""
        row = self.tell(operation, asked, partner=self.row + 1, **more)
        self.reply(row, answer, said, **more)
        return row

    def reply(self, row: int, answer: str, said: Mapping[str, Any], **more: Any) -> int:
        """The answer to a request."""
        return self.tell(answer, said, role=Role.RESPONSE, from_client=False, partner=row, **more)

    def producer(self, number: int = 0, topic: str = TOPIC, **more: Any) -> int:
        """One that is made at once, called `p`."""
        requested = {"topic": topic, "producer_id": number}
        return self.call("PRODUCER", requested, "PRODUCER_SUCCESS", {"producer_name": "p"}, **more)

    def send(
        self, entry: int, sequence: int = 0, number: int = 0, *, stream: int = 1, after: int = 1, **more: Any
    ) -> int:
        """A SEND, and the receipt that tells its id."""
        requested = {"producer_id": number, "sequence_id": sequence, **more}
        text = {"producer_id": number, "sequence_id": sequence, "message_id": place(entry)}
        return self.call("SEND", requested, "SEND_RECEIPT", text, stream=stream, after=after)

    def consumer(self, number: int = 0, topic: str = TOPIC, subscription: str = "s", **more: Any) -> int:
        """One that is made at once, called `c` and its number."""
        requested = {"topic": topic, "subscription": subscription, "subType": "Shared"}
        return self.call("SUBSCRIBE", {**requested, "consumer_id": number, "consumer_name": f"c{number}"}, **more)

    def flow(self, permits: object, number: int = 0, **more: Any) -> int:
        """FLOW."""
        return self.tell("FLOW", {"consumer_id": number, "messagePermits": permits}, role=Role.ONEWAY, **more)

    def message(
        self, entry: int, number: int = 0, batch: int | None = None, *, stream: int = 1, after: int = 1, **more: Any
    ) -> int:
        """MESSAGE."""
        metadata = {"uuid": more.pop("uuid")} if "uuid" in more else {}
        if batch is not None:
            metadata["num_messages_in_batch"] = batch
        values = {"consumer_id": number, "message_id": place(entry), "metadata": metadata, **more}
        return self.push("MESSAGE", values, stream=stream, after=after)

    def ack(self, *entries: Any, number: int = 0, kind: str = "Individual", **more: Any) -> int:
        """ACK; entries are numbers, or ids as they are."""
        ids = [place(each) if isinstance(each, int) else each for each in entries]
        values = {"consumer_id": number, "ack_type": kind, "message_id": ids}
        return self.tell("ACK", values, role=Role.ONEWAY, **more)
