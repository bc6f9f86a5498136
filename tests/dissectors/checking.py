"""Checks that are shown messages made by hand: what they find."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from dissectors.check import Check
from dissectors.correlator import ConnectionEnd, MessageEvent
from dissectors.finding import Finding
from dissectors.message import Context, Role

MS = 1_000_000


class End(NamedTuple):
    """The end of a connection, or of the capture while it is open."""

    end: ConnectionEnd
    is_open: bool = False


Step = MessageEvent | End


def see(
    protocol: str, context: Context, values: Mapping[str, Any], stream: int = 1, at: int = 0, *, client: str = "",
    server: str = "", losses: int = 0, error: tuple[int, str] | None = None,
) -> MessageEvent:  # fmt: skip
    """A message at so many ms."""
    place = 0, protocol, context, values, stream, at * MS, context.role is not Role.RESPONSE
    return MessageEvent(*place, None, None, None, None, 0, losses, error, ends=lambda stream: (client, server))


def end(
    stream: int, at: int, *, by_client: bool = True, client: str = "", server: str = "", losses: int = 0,
    is_open: bool = False,
) -> End:  # fmt: skip
    """The end of a connection at so many ms."""
    return End(ConnectionEnd(stream, at * MS, by_client, losses, lambda stream: (client, server)), is_open)


def show(kind: type[Check], steps: Iterable[Step]) -> list[Finding]:
    """What a check finds; an answer is that to the first request of its connection that waits for one."""
    found: list[Finding] = []
    ends: dict[int, Any] = {}
    check = kind(lambda stream: ends[stream](stream), found.append)
    waiting: dict[int, list[int]] = {}
    for row, step in enumerate(steps):
        if isinstance(step, End):
            (check.leave_open if step.is_open else check.end_connection)(step.end)
            continue
        ends[step.stream] = step.ends
        assert (step.protocol, step.context.code, step.context.role) in check.on
        waits = waiting.setdefault(step.stream, [])
        partner = (waits.pop(0) if waits else step.partner) if step.context.role is Role.RESPONSE else -1
        check.receive(step._replace(row=row, partner=partner))
        if row in check.requests:
            waits.append(row)
    return found


def texts(kind: type[Check], steps: Iterable[Step]) -> list[str]:
    """The same, what is said."""
    return [finding.text for finding in show(kind, steps)]


def show_anything(kind: type[Check], messages: list[tuple[int, Mapping[str, Any], int, int]]) -> None:
    """Shows a check hostile messages (which kind, values, connection, ms), and ends of connections. Raises nothing."""
    kinds, steps = sorted(kind.on, key=str), list[Step]()
    for choice, values, stream, at in messages:
        protocol, code, role = kinds[choice % len(kinds)]
        error = (19, "PULL_NOT_FOUND") if choice % 3 else None
        steps.append(see(protocol, Context(role, code), values, stream, at, losses=choice % 2, error=error))
        steps += [
            see(protocol, Context(each[2], each[1]), values, stream, at) for each in kinds if each[2] is Role.RESPONSE
        ]
    for stream in range(3):
        steps += [end(stream, 1 << 41), end(stream, 1 << 41, is_open=True)]
    show(kind, steps)
