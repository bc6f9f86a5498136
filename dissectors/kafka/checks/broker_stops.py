"""A check of brokers that stop in good order, or cannot.

Facts (KIP-500, KAFKA-340). A broker that is to stop asks the controller to move the leaderships of its partitions away:
with ControlledShutdown while ZooKeeper keeps the cluster's data, else with a heartbeat that says wantShutDown. It stops
when the answer names no remaining partitions, or says shouldShutDown. The controller tells all brokers which ones are
alive by UpdateMetadata; with KRaft a broker that comes back registers with the controller.
"""

from __future__ import annotations

from dissectors.check import Check
from dissectors.correlator import BoundedTable, ConnectionEnd, MessageEvent, for_request
from dissectors.finding import Finding, Severity
from dissectors.kafka.reports.fields import ANSWERS, REQUESTS, read_error, subscribe_to
from dissectors.slotted import make_slotted
from dissectors.values import number, structs
from dissectors.wire.amounts import count_text
from dissectors.wire.times import lasting

_STUCK = (
    "Bring the other replicas of these partitions back; a broker stops without waiting if controlled.shutdown.enable "
    "is false, and then they have no leader."
)


@make_slotted(frozen=False, eq=False)
class _Stop:
    """A broker that wants to stop.

    broker: its number. requested, granted: when it asked first and when it might stop, ns since 1970. tries: how often
    it asked; led: how many partitions it led at the last refusal. is_absent: whether the others know that it is gone.
    back: when it was there again.
    """

    broker: int
    requested: int
    granted: int | None = None
    tries: int = 0
    led: int = 0
    is_absent: bool = False
    back: int | None = None


class BrokerStops(Check):
    """Finds brokers that stop in good order, and how long they are away; those that cannot stop, too."""

    def _begin(self) -> None:
        self.latest: BoundedTable[int, _Stop] = BoundedTable()
        """By broker its latest stop."""
        self.stops: BoundedTable[int, _Stop] = BoundedTable()
        """The same by the connection to the controller."""

    def receive_shutdown(self, event: MessageEvent) -> None:
        """Notes a ControlledShutdown, or a heartbeat of a broker that wants to stop."""
        broker = number(event.values, "brokerId", -1)
        if event.operation == "ControlledShutdown" or event.values.get("wantShutDown") is True:
            stop = self.stops.get(event.stream)
            if stop is None or stop.granted is not None:
                stop = self.stops[event.stream] = self.latest[broker] = _Stop(broker, event.time)
            stop.tries += 1
            self.await_answer(event, stop)

    def receive_answer(self, stop: _Stop, event: MessageEvent) -> None:
        """Notes whether a broker may stop."""
        left = len(structs(event.values.get("remainingPartitions")))
        may_stop = event.values.get("shouldShutDown", not left) is True
        if read_error(event.values) is not None or not may_stop:
            stop.led = left
        elif stop.granted is None:
            stop.granted = event.time

    def receive_alive(self, event: MessageEvent) -> None:
        """Notes which brokers are alive, from the controller's UpdateMetadata."""
        alive = {number(each, "id", -1) for each in structs(event.values.get("liveBrokers"))}
        for stop in list(self.latest.values()):
            stop.is_absent |= stop.broker not in alive
            if stop.broker in alive and stop.is_absent:
                self.return_broker(stop.broker, event)

    def receive_registration(self, event: MessageEvent) -> None:
        """Notes that a broker registers."""
        self.return_broker(number(event.values, "brokerId", -1), event)

    def return_broker(self, broker: int, event: MessageEvent) -> None:
        """Notes that a broker is there again."""
        stop = self.latest.pop(broker)
        if stop is not None and stop.granted is not None:
            stop.back = event.time

    def end_connection(self, end: ConnectionEnd) -> None:
        """Reports a broker that stopped, at the end of its connection to the controller."""
        stop = self.stops.pop(end.stream)
        if stop is None:
            return
        name = f"broker {stop.broker}"
        if stop.granted is not None:
            away = "it has not come back before the capture ends"
            if stop.back is not None:
                away = f"it was back {lasting(stop.back - stop.granted)} later"
            took = lasting(stop.granted - stop.requested)
            text = f"{name} stopped in good order: it led nothing {took} after it asked to stop; {away}"
            self.warn("broker-stopped", text, name)
        elif stop.led:
            text = (
                f"{name} asked {count_text(stop.tries, 'time')} to stop, but it still leads "
                f"{count_text(stop.led, 'partition')} for which no other replica is in sync"
            )
            self.emit(Finding(Severity.WARNING, "broker-stopped", text, subject=name, advice=_STUCK))

    def leave_open(self, end: ConnectionEnd) -> None:
        """Reports the same of a connection that is open when the capture ends."""
        self.end_connection(end)

    on = (
        subscribe_to("ControlledShutdown", REQUESTS, receive_shutdown, "brokerId")
        | subscribe_to("BrokerHeartbeat", REQUESTS, receive_shutdown, "brokerId", "wantShutDown")
        | subscribe_to(
            "ControlledShutdown",
            ANSWERS,
            for_request(receive_answer),
            "errorCode",
            ("remainingPartitions", "topicName"),
        )
        | subscribe_to("BrokerHeartbeat", ANSWERS, for_request(receive_answer), "errorCode", "shouldShutDown")
        | subscribe_to("UpdateMetadata", REQUESTS, receive_alive, ("liveBrokers", "id"))
        | subscribe_to("BrokerRegistration", REQUESTS, receive_registration, "brokerId")
    )
