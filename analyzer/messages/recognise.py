"""Which protocol a connection speaks, and which side opened it.

Theory. What the user says wins, of this very connection first, then of its port (analyzer.messages.decode_as); then
what the bytes say, for real clusters use any port; then the port. The first bytes of a request are nearly proof, those
of an answer are weak; so with little evidence we wait for more, until enough has been seen to fall back on the weaker
signs.

Where no SYN says who opened the connection, an answer may by accident read like a request. So the ports say which
side is looked at first, and against them one direction alone is believed only when there is no more to come.

On a port of ours, bytes of another protocol may stand before the first message. So there a single message of another
protocol is no proof: each segment that begins with a message counts, and the protocol that more of them speak for wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from analyzer.messages.decode_as import ConnectionRule
from dissectors.api import SURE, WEAK, Dissector
from dissectors.foreign import Foreign, foreign
from dissectors.registry import Ports

TELLING_BYTES = 16
"""Fewer bytes of the client (a gap may follow them) speak neither for a protocol nor against it."""

HEADER_BYTES = 14
"""So many bytes of the client tell more than weak evidence in the server's."""

ENOUGH_BYTES = 256
ENOUGH_SEGMENTS = 64


class ProtocolDecision(NamedTuple):
    """`dissector` None: of no protocol of ours, `other` says which if that is known. `client`: the flow's side.

    preamble: bytes that a proxy put before the client's first message. expected: the protocol that the server's port
    stands for, where that is another one. against: what the first bytes are, where the user's word is another.
    """

    dissector: Dissector | None
    client: int
    other: Foreign | None = None
    preamble: int = 0
    expected: str | None = None
    against: str | None = None


class ConnectionEvidence(NamedTuple):
    """What is known of a connection: the first bytes of both directions (by flow side), in `segments` segments.

    `client` is -1 while nobody knows; `final` when no more bytes will come; `late` when the beginnings of both
    directions are not in the capture. order: what the user says of this very connection. later: what each segment
    behind the first one begins with, of both directions.
    """

    prefixes: tuple[bytes, bytes]
    segments: int
    ports: tuple[int, int]
    client: int
    final: bool
    late: bool
    rule: ConnectionRule | None = None
    later: tuple[Sequence[bytes], Sequence[bytes]] = ((), ())


def recognise_protocol(seen: ConnectionEvidence, known: Ports) -> ProtocolDecision | None:
    """Decides, or None: wait for more. A proxy's preamble is looked behind."""
    first, second = seen.prefixes
    for side, prefix in enumerate(seen.prefixes):
        proxy = foreign(prefix) if side != 1 - seen.client else None
        if proxy is not None and proxy.preamble and (len(prefix) > proxy.preamble or not seen.final):
            rest = prefix[proxy.preamble :]
            behind = seen._replace(prefixes=(first, rest) if side else (rest, second), client=side)
            inner = _decide(behind, known) if rest else None
            return inner and _note_expected(inner, seen, known)._replace(preamble=proxy.preamble)
    decision = _decide(seen, known)
    return decision and _note_expected(decision, seen, known)


def _note_expected(decision: ProtocolDecision, seen: ConnectionEvidence, known: Ports) -> ProtocolDecision:
    by_port = known.by_port(seen.ports[1 - decision.client])
    nobody = decision.dissector is None and decision.other is None
    if by_port is None or nobody or by_port is decision.dissector or seen.rule is not None:
        return decision
    return decision._replace(expected=by_port.name)


def _decide(seen: ConnectionEvidence, known: Ports) -> ProtocolDecision | None:
    prefixes, segments, ports, client, final, late, order, _ = seen
    likely = _guess_client(ports, known) if client < 0 else client
    orientations = (likely, 1 - likely) if client < 0 else (client,)
    if order is not None:
        return _apply_rule(order, seen, orientations, known)
    for each in orientations:
        if known.is_told(ports[1 - each]):
            told = known.told(ports[1 - each])
            return ProtocolDecision(told, each, against=_find_contradiction(told, prefixes, each, known))
    own = known.by_port(ports[1 - likely])
    best, score, side = _best(prefixes, orientations, _prefer(own, known.dissectors))
    sure = score >= SURE and (side == likely or all(prefixes))
    other = None if sure else next((found for prefix in prefixes if (found := foreign(prefix)) is not None), None)
    if (
        own is not None
        and best is not own
        and (contest := _settle_contest(seen, own, best if sure else None, likely)) <= 0
    ):
        return ProtocolDecision(own, likely) if contest < 0 else None
    if sure:
        return ProtocolDecision(best, side)
    if other is not None:
        return ProtocolDecision(None, likely, other)
    enough = _has_enough(seen)
    for each in orientations:
        by_port = known.by_port(ports[1 - each])
        if by_port is not None and enough and _score(by_port, prefixes, each) > 0:
            return ProtocolDecision(by_port, each)
    if not enough:
        return None
    # Both directions may begin inside a message: then the port says what to hunt for, and weak signs say nothing.
    by_port = own if late else None
    if score < WEAK or (by_port is not None and score < SURE):
        return ProtocolDecision(by_port, likely)
    if side == likely or all(prefixes) or final or segments >= ENOUGH_SEGMENTS:
        return ProtocolDecision(best, side)
    return None


def _prefer(own: Dissector | None, dissectors: tuple[Dissector, ...]) -> tuple[Dissector, ...]:
    """The port's protocol in front: it wins where others are as sure."""
    return dissectors if own is None else (own, *dissectors)


def _settle_contest(seen: ConnectionEvidence, own: Dissector, rival: Dissector | None, client: int) -> int:
    """Whether the bytes speak for the port's own protocol (negative) or not (positive); 0: wait for more.

    rival: the protocol that the first message speaks for; None: none of ours.
    """
    exhausted = seen.final or seen.segments >= ENOUGH_SEGMENTS
    votes, against = _count_votes(seen, own, client), 0 if rival is None else _count_votes(seen, rival, client)
    if votes > against or (votes and votes == against and exhausted):
        return -1
    answered = bool(seen.prefixes[1 - client]) and own.probe(seen.prefixes[1 - client], False) < WEAK
    if exhausted or against > max(votes, 1) or (answered and against > votes):
        return 1
    return int(answered and rival is None)


def _count_votes(seen: ConnectionEvidence, dissector: Dissector, client: int) -> int:
    """How many segments surely begin with a message of a protocol."""
    return sum(
        dissector.probe(prefix, side == client) >= SURE
        for side in (0, 1)
        for prefix in (seen.prefixes[side], *seen.later[side])
    )


def _has_enough(seen: ConnectionEvidence) -> bool:
    """Whether it is no use to wait for more bytes."""
    telling = seen.prefixes if seen.client < 0 else (seen.prefixes[seen.client],)
    return seen.final or seen.segments >= ENOUGH_SEGMENTS or max(map(len, telling)) >= ENOUGH_BYTES


def _apply_rule(
    order: ConnectionRule, seen: ConnectionEvidence, orientations: tuple[int, ...], known: Ports
) -> ProtocolDecision | None:
    """What the user says of this connection, when there is enough to say whether its bytes speak for it.

    Who is the client may be left to find out.
    """
    if len(orientations) > 1 and order.client >= 0:
        orientations = (order.client,)
    if order.dissector is None:
        return ProtocolDecision(None, orientations[0])
    _, score, side = _best(seen.prefixes, orientations, (order.dissector,))
    told = len(orientations) == 1 and max(map(len, seen.prefixes)) >= TELLING_BYTES
    if score < SURE and not told and not _has_enough(seen):
        return None
    return ProtocolDecision(
        order.dissector, side, against=_find_contradiction(order.dissector, seen.prefixes, side, known)
    )


def _find_contradiction(told: Dissector | None, prefixes: tuple[bytes, bytes], client: int, known: Ports) -> str | None:
    """What the first bytes surely are, if that is not what the user says."""
    if told is None:
        return None
    other = next((found for prefix in prefixes if (found := foreign(prefix)) is not None), None)
    if other is not None:
        return other.text
    best, score, _ = _best(prefixes, (client,), known.dissectors)
    if best is not None and best is not told and score >= SURE:
        return f"those of {best.name}"
    silent = len(prefixes[client]) < TELLING_BYTES or _score(told, prefixes, client) > 0
    return None if silent else f"none of {told.name}"


def _best(
    prefixes: tuple[bytes, bytes], orientations: tuple[int, ...], dissectors: tuple[Dissector, ...]
) -> tuple[Dissector | None, int, int]:
    best: tuple[Dissector | None, int, int] = (None, 0, orientations[0])
    for side in orientations:
        for dissector in dissectors:
            score = _score(dissector, prefixes, side)
            if score > best[1]:
                best = (dissector, score, side)
    return best


def _score(dissector: Dissector, prefixes: tuple[bytes, bytes], client: int) -> int:
    """The client's bytes decide where there are enough, unless the server's are nearly proof: then, in a capture that
    begins late, the client's begin inside a message.
    """
    prefix = prefixes[client]
    score = dissector.probe(prefix, True) if prefix else 0
    if score >= SURE:
        return score
    answers = dissector.probe(prefixes[1 - client], False)
    tells = score >= WEAK or len(prefix) >= HEADER_BYTES
    return score if answers < SURE and tells else max(score, answers)


def _guess_client(ports: tuple[int, int], known: Ports) -> int:
    """The side with a port of ours is the server, else the one with the lower port."""
    for side in (0, 1):
        if known.by_port(ports[1 - side]) is not None:
            return side
    return 0 if ports[0] > ports[1] else 1
