"""The user's rules: which protocol a port, a range of ports, or one connection uses.

Theory. A rule for one connection beats one for its port, and both beat the evidence in the bytes. The rules must be
known while packets are read, because the framing of the protocol cuts messages. So a front end reads its input again
after a new rule (Session.again). A connection is named by its number, or by its id CLIENT>SERVER, which stays the same
when files are added. Without a handshake, the side that the id names first is the client.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from dissectors.api import Dissector
from dissectors.registry import BUILT_IN, UNDECODED, Ports, by_name
from dissectors.slotted import make_slotted

HIGHEST_PORT = 0xFFFF
SYNTAX = "PORT=PROTOCOL, FIRST-LAST=PROTOCOL, stream==NUMBER,PROTOCOL or CLIENT>SERVER=PROTOCOL"

_ORDER = r"(?s)(.*)\s*[=,]\s*([\w.-]+)"
_PORTS = r"(?:tcp\.port\s*==\s*)?(\d{1,5})(?:([-:])(\d{1,5}))?"
_NUMBER = r"(?:tcp\.)?stream\s*==\s*(\d{1,9})"
_ENDS = r"([^\s>#]+)\s*>\s*([^\s>#]+?)(?:#(\d{1,9}))?"


@make_slotted
class PortRange:
    """The ports `first` to `last`, inclusive."""

    first: int
    last: int


@make_slotted
class StreamNumber:
    """One connection, by its number in the input."""

    number: int


@make_slotted
class StreamEnds:
    """One connection, by its id: `address:port` of both sides, and the number of earlier connections between them."""

    client: str
    server: str
    reuse: int = 0

    @property
    def name(self) -> str:
        """The id as it is printed."""
        return f"{self.client}>{self.server}" + (f"#{self.reuse}" if self.reuse else "")

    @property
    def reverse(self) -> StreamEnds:
        """Returns the same connection with client and server exchanged."""
        return StreamEnds(self.server, self.client, self.reuse)


DecodeAsTarget: TypeAlias = "int | PortRange | StreamNumber | StreamEnds"
DecodeAsRules: TypeAlias = "tuple[tuple[DecodeAsTarget, str], ...]"
"""Pairs of a target (an int is a port) and a protocol's name, one of UNDECODED for none; a later rule wins."""


class ConnectionRule(NamedTuple):
    """Holds the protocol of a connection, None to leave it undecoded; `client`: the flow's side that the rule names."""

    dissector: Dissector | None
    client: int = -1


def parse_rule(text: str) -> tuple[DecodeAsTarget, str]:
    """Parses a rule, as after -d. Raises ValueError with a message for the user."""
    match = re.fullmatch(_ORDER, text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not {SYNTAX}. Give for example 9092={next(iter(BUILT_IN))}.")
    where = parse_target(match[1].rstrip())
    check_protocol(match[2])
    return where, match[2]


def parse_target(text: str) -> DecodeAsTarget:
    """Parses the target of a rule, without the protocol. Raises ValueError."""
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
    raise ValueError(f"{text!r} is neither a port nor a stream. Give {SYNTAX}.")


def check_protocol(name: str) -> None:
    """Raises ValueError if there is no such protocol."""
    if name not in UNDECODED and name not in BUILT_IN:
        try:
            by_name(name)
        except KeyError as error:
            raise ValueError(f"{error.args[0]}, or none to leave it undecoded.") from error


def merge_rules(rules: Iterable[tuple[DecodeAsTarget, str]]) -> dict[DecodeAsTarget, str]:
    """Merges rules in their order; a later rule for the same target replaces an earlier one.

    The later rule keeps its own place in the order.
    """
    found: dict[DecodeAsTarget, str] = {}
    for where, name in rules:
        found.pop(where, None)
        found[where] = name
    return found


def collect_ports(rules: Iterable[tuple[DecodeAsTarget, str]]) -> dict[int, str]:
    """Returns the rules about ports, port by port."""
    found: dict[int, str] = {}
    for where, name in rules:
        if isinstance(where, int):
            found[where] = name
        elif isinstance(where, PortRange):
            found.update(dict.fromkeys(range(where.first, where.last + 1), name))
    return found


class ConnectionRules:
    """Holds the rules about single connections; false if there are none. Raises KeyError for an unknown protocol."""

    def __init__(self, rules: Iterable[tuple[DecodeAsTarget, str]], known: Ports) -> None:
        self._by_number: dict[int, ConnectionRule] = {}
        self._by_ends: dict[tuple[str, str, int], ConnectionRule] = {}
        for where, name in rules:
            if isinstance(where, StreamNumber):
                self._by_number[where.number] = ConnectionRule(known.find_by_name(name))
            elif isinstance(where, StreamEnds):
                for client, each in enumerate((where, where.reverse)):
                    self._by_ends[each.client, each.server, each.reuse] = ConnectionRule(
                        known.find_by_name(name), client
                    )

    def __bool__(self) -> bool:
        return bool(self._by_number or self._by_ends)

    def find_rule(self, number: int, ends: tuple[str, str], reuse: int) -> ConnectionRule | None:
        """Returns the rule for stream `number`, the `reuse`-th connection (from 0) between the flow's sides `ends`."""
        return self._by_number.get(number) or self._by_ends.get((*ends, reuse))


def make_rules(rules: Mapping[int, str] | Mapping[DecodeAsTarget, str] | None) -> tuple[Ports, ConnectionRules]:
    """Returns the rules as an analysis needs them. Raises KeyError for an unknown protocol."""
    pairs: list[tuple[DecodeAsTarget, str]] = [] if rules is None else [(where, name) for where, name in rules.items()]
    known = Ports(collect_ports(pairs))
    return known, ConnectionRules(pairs, known)


def _end(text: str) -> str | None:
    """Returns `address:port` in the form of stream ids, for any spelling of the address; None if it is not valid."""
    import socket  # lazy: few rules name a connection by its endpoints

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
