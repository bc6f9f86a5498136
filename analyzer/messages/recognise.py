"""Recognises the protocol of a connection, and which side opened it.

Theory. A rule of the user wins, first one for this connection, then one for its port (analyzer.messages.decode_as).
Then the bytes decide, because real clusters use any port; then the port. The first bytes of a request are nearly a
proof, those of a response are weak evidence. With little evidence the decision waits until enough bytes have come to
use the weaker signs.

Without a SYN it is unknown who opened the connection, and a response may look like a request. The ports say which side
to try first. Evidence from one direction that contradicts the ports counts only if no more bytes will come.

On a known port, other bytes may precede the first message, so a single message of another protocol is no proof. Each
segment that begins with a message counts, and the protocol with more such segments wins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from analyzer.messages.decode_as import ConnectionRule
from dissectors.api import SURE, WEAK, Dissector
from dissectors.foreign import Foreign, foreign
from dissectors.registry import CERTAIN, Ports, may_be_surer

ENOUGH_TO_DECIDE = 16
"""Number of client bytes below which they are evidence neither for a protocol nor against it."""

HEADER_BYTES = 14
"""Number of client bytes that outweigh weak evidence in the server's bytes."""

ENOUGH_BYTES = 256
ENOUGH_SEGMENTS = 64


class ProtocolDecision(NamedTuple):
    """Says which protocol a connection uses.

    `dissector` None: none of ours; `other` is a known foreign one. `client`: the flow's side. preamble: bytes that a
    proxy put before the client's first message. expected: the protocol of the server's port, if that is another one.
    against: what the first bytes are, if they contradict a rule.
    """

    dissector: Dissector | None
    client: int
    other: Foreign | None = None
    preamble: int = 0
    expected: str | None = None
    against: str | None = None


class ConnectionEvidence(NamedTuple):
    """Holds the first bytes of both directions (by flow side), in `segments` segments, and other facts.

    `client` is -1 while unknown; `final`: no more bytes will come; `late`: the capture lacks the beginnings of both
    directions. rule: the user's rule for this connection. later: returns the first bytes of each later segment, by
    side.
    """

    prefixes: tuple[bytes, bytes]
    segments: int
    ports: tuple[int, int]
    client: int
    final: bool
    late: bool
    rule: ConnectionRule | None = None
    later: Callable[[], tuple[Sequence[bytes], Sequence[bytes]]] = lambda: ((), ())


def recognise_protocol(seen: ConnectionEvidence, known: Ports) -> ProtocolDecision | None:
    """Decides the protocol, or returns None to wait for more bytes. Skips the preamble of a proxy."""
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
        if known.has_user_rule(ports[1 - each]):
            decided = known.find_by_port(ports[1 - each])
            return ProtocolDecision(decided, each, against=_find_contradiction(decided, prefixes, each, known))
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
    # If both directions may begin inside a message, the port says what to hunt for, and weak evidence means nothing.
    by_port = own if late else None
    if score < WEAK or (by_port is not None and score < SURE):
        return ProtocolDecision(by_port, likely)
    if side == likely or all(prefixes) or final or segments >= ENOUGH_SEGMENTS:
        return ProtocolDecision(best, side)
    return None


def _prefer(own: Dissector | None, dissectors: tuple[Dissector, ...]) -> tuple[Dissector, ...]:
    """Puts the port's protocol first: it wins if others have as much evidence."""
    return dissectors if own is None else (own, *dissectors)


def _settle_contest(seen: ConnectionEvidence, own: Dissector, rival: Dissector | None, client: int) -> int:
    """Returns whether the bytes support the port's own protocol (negative) or not (positive); 0: wait for more.

    rival: the protocol of the first message; None: none of ours.
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
    """Returns how many segments certainly begin with a message of a protocol."""
    later = seen.later()
    return sum(
        dissector.probe(prefix, side == client) >= SURE
        for side in (0, 1)
        for prefix in (seen.prefixes[side], *later[side])
    )


def _has_enough(seen: ConnectionEvidence) -> bool:
    """Returns whether it is useless to wait for more bytes."""
    prefixes = seen.prefixes if seen.client < 0 else (seen.prefixes[seen.client],)
    return seen.final or seen.segments >= ENOUGH_SEGMENTS or max(map(len, prefixes)) >= ENOUGH_BYTES


def _apply_rule(
    order: ConnectionRule, seen: ConnectionEvidence, orientations: tuple[int, ...], known: Ports
) -> ProtocolDecision | None:
    """Returns the decision by a rule for this connection, once there are enough bytes to check it.

    The rule may leave the client open.
    """
    if len(orientations) > 1 and order.client >= 0:
        orientations = (order.client,)
    if order.dissector is None:
        return ProtocolDecision(None, orientations[0])
    _, score, side = _best(seen.prefixes, orientations, (order.dissector,))
    decided = len(orientations) == 1 and max(map(len, seen.prefixes)) >= ENOUGH_TO_DECIDE
    if score < SURE and not decided and not _has_enough(seen):
        return None
    return ProtocolDecision(
        order.dissector, side, against=_find_contradiction(order.dissector, seen.prefixes, side, known)
    )


def _find_contradiction(
    decided: Dissector | None, prefixes: tuple[bytes, bytes], client: int, known: Ports
) -> str | None:
    """Returns what the first bytes certainly are, if that contradicts the rule."""
    if decided is None:
        return None
    other = next((found for prefix in prefixes if (found := foreign(prefix)) is not None), None)
    if other is not None:
        return other.text
    best, score, _ = _best(prefixes, (client,), known.dissectors)
    if best is not None and best is not decided and score >= SURE:
        return f"those of {best.name}"
    silent = len(prefixes[client]) < ENOUGH_TO_DECIDE or _score(decided, prefixes, client) > 0
    return None if silent else f"none of {decided.name}"


def _best(
    prefixes: tuple[bytes, bytes], orientations: tuple[int, ...], dissectors: tuple[Dissector, ...]
) -> tuple[Dissector | None, int, int]:
    """Returns the dissector with the most evidence, the evidence and the client's side; the first one if equal.

    After one that is CERTAIN, only dissectors that may be surer are tried.
    """
    best: tuple[Dissector | None, int, int] = (None, 0, orientations[0])
    first, second = prefixes
    for side in orientations:
        for dissector in dissectors:
            if best[1] >= CERTAIN and not (may_be_surer(dissector.name, first) or may_be_surer(dissector.name, second)):
                continue
            score = _score(dissector, prefixes, side)
            if score > best[1]:
                best = (dissector, score, side)
    return best


def _score(dissector: Dissector, prefixes: tuple[bytes, bytes], client: int) -> int:
    """Returns the evidence for a protocol, mostly from the client's bytes.

    If there are few client bytes, the server's count more. In a capture that begins late the client's bytes may begin
    inside a message, so nearly sure evidence in the server's bytes counts more.
    """
    prefix = prefixes[client]
    score = dissector.probe(prefix, True) if prefix else 0
    if score >= SURE:
        return score
    answers = dissector.probe(prefixes[1 - client], False)
    is_certain = score >= WEAK or len(prefix) >= HEADER_BYTES
    return score if answers < SURE and is_certain else max(score, answers)


def _guess_client(ports: tuple[int, int], known: Ports) -> int:
    """Returns the client: the server has a known port, or else the lower one."""
    for side in (0, 1):
        if known.by_port(ports[1 - side]) is not None:
            return side
    return 0 if ports[0] > ports[1] else 1
