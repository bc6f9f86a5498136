"""What the user says about who speaks which protocol: on a port, on a range of them, on one connection.

Theory. A word about one connection beats one about its port, and both beat what the bytes say. It must be known while
packets are read, for messages are cut out by the protocol's framing; so a front end that is told something new reads
its input again (Session.again). A connection is named by its number, or by its id CLIENT>SERVER, which stays the same
when files are added. Where no handshake says who the client is, the one that the id names first is it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from dissectors.api import Dissector
from dissectors.registry import BUILT_IN, UNDECODED, Ports, by_name
from dissectors.slotted import slotted

HIGHEST_PORT = 0xFFFF
SYNTAX = "PORT=PROTOCOL, FIRST-LAST=PROTOCOL, stream==NUMBER,PROTOCOL or CLIENT>SERVER=PROTOCOL"

_ORDER = r"(?s)(.*)\s*[=,]\s*([\w.-]+)"
_PORTS = r"(?:tcp\.port\s*==\s*)?(\d{1,5})(?:([-:])(\d{1,5}))?"
_NUMBER = r"(?:tcp\.)?stream\s*==\s*(\d{1,9})"
_ENDS = r"([^\s>#]+)\s*>\s*([^\s>#]+?)(?:#(\d{1,9}))?"


@slotted
class PortRange:
    """Ports `first` to `last`, both among them."""

    first: int
    last: int


@slotted
class StreamNumber:
    """One connection by its number in the input."""

    number: int


@slotted
class StreamEnds:
    """One connection by its id: `address:port` of both sides, and how often they had met before."""

    client: str
    server: str
    reuse: int = 0

    @property
    def name(self) -> str:
        """The id as it is printed."""
        return f"{self.client}>{self.server}" + (f"#{self.reuse}" if self.reuse else "")

    @property
    def reverse(self) -> StreamEnds:
        """The same connection, named the other way round."""
        return StreamEnds(self.server, self.client, self.reuse)


DecodeAsTarget: TypeAlias = "int | PortRange | StreamNumber | StreamEnds"
DecodeAsRules: TypeAlias = "tuple[tuple[DecodeAsTarget, str], ...]"
"""Whom the user means (an int is a port), and the protocol's name, one of UNDECODED for none; the last word counts."""


class ConnectionRule(NamedTuple):
    """The protocol of a connection, None to leave it undecoded; `client`: the flow's side that the user says it is."""

    dissector: Dissector | None
    client: int = -1


def parse_rule(text: str) -> tuple[DecodeAsTarget, str]:
    """One word of the user's, as after -d. Raises ValueError with a sentence that says what is wrong with it."""
    match = re.fullmatch(_ORDER, text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not {SYNTAX}, for example 9092=kafka")
    where = parse_target(match[1].rstrip())
    check_protocol(match[2])
    return where, match[2]


def parse_target(text: str) -> DecodeAsTarget:
    """The same without the protocol."""
    if match := re.fullmatch(_PORTS, text):
        first, last = int(match[1]), int(match[3] or match[1])
        last = first + last - 1 if match[2] == ":" else last
        if 0 < first <= last <= HIGHEST_PORT:
            return first if first == last else PortRange(first, last)
    elif match := re.fullmatch(_NUMBER, text):
        return StreamNumber(int(match[1]))
    elif match := re.fullmatch(_ENDS, text):
        client, server = _end(match[1]), _end(match[2])
        if client is not None and server is not None:
            return StreamEnds(client, server, int(match[3] or 0))
    raise ValueError(f"{text!r} names no port and no stream; give {SYNTAX}")


def check_protocol(name: str) -> None:
    """Raises ValueError where no protocol is called so."""
    if name not in UNDECODED and name not in BUILT_IN:
        try:
            by_name(name)
        except KeyError as error:
            raise ValueError(f"{error.args[0]}, or none to leave it undecoded") from error


def merge_rules(told: Iterable[tuple[DecodeAsTarget, str]]) -> dict[DecodeAsTarget, str]:
    """Several words in the order in which they count: the last one of the same whom stands where it was said."""
    found: dict[DecodeAsTarget, str] = {}
    for where, name in told:
        found.pop(where, None)
        found[where] = name
    return found


def collect_ports(told: Iterable[tuple[DecodeAsTarget, str]]) -> dict[int, str]:
    """What was said of ports, one by one."""
    found: dict[int, str] = {}
    for where, name in told:
        if isinstance(where, int):
            found[where] = name
        elif isinstance(where, PortRange):
            found.update(dict.fromkeys(range(where.first, where.last + 1), name))
    return found


class ConnectionRules:
    """What was said of single connections; false where that is nothing. Raises KeyError for an unknown protocol."""

    def __init__(self, told: Iterable[tuple[DecodeAsTarget, str]], known: Ports) -> None:
        self._by_number: dict[int, ConnectionRule] = {}
        self._by_ends: dict[tuple[str, str, int], ConnectionRule] = {}
        for where, name in told:
            if isinstance(where, StreamNumber):
                self._by_number[where.number] = ConnectionRule(known.called(name))
            elif isinstance(where, StreamEnds):
                for client, each in enumerate((where, where.reverse)):
                    self._by_ends[each.client, each.server, each.reuse] = ConnectionRule(known.called(name), client)

    def __bool__(self) -> bool:
        return bool(self._by_number or self._by_ends)

    def find_rule(self, number: int, ends: tuple[str, str], reuse: int) -> ConnectionRule | None:
        """What was said of stream `number`, between the flow's sides `ends`, the `reuse`-th of its like (from 0)."""
        return self._by_number.get(number) or self._by_ends.get((*ends, reuse))


def make_rules(told: Mapping[int, str] | Mapping[DecodeAsTarget, str] | None) -> tuple[Ports, ConnectionRules]:
    """What an analysis needs. Raises KeyError for an unknown protocol."""
    pairs: list[tuple[DecodeAsTarget, str]] = [] if told is None else [(where, name) for where, name in told.items()]
    known = Ports(collect_ports(pairs))
    return known, ConnectionRules(pairs, known)


def _end(text: str) -> str | None:
    """`address:port` as streams are named, whatever way the address is written; None if it is none."""
    import socket  # few name a connection by its ends

    address, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > HIGHEST_PORT:
        return None
    bare = address[1:-1] if address[:1] == "[" and address[-1:] == "]" else address
    family = socket.AF_INET6 if ":" in bare else socket.AF_INET
    try:
        bare = socket.inet_ntop(family, socket.inet_pton(family, bare))
    except (OSError, ValueError):
        return None
    return f"[{bare}]:{int(port)}" if family is socket.AF_INET6 else f"{bare}:{int(port)}"
