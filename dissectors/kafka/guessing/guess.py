"""Guesses the layout of an answer whose request is missing: tries every layout on its bytes.

Theory. A response carries a number and a body, but not its operation. Few layouts consume a body exactly, and under
most of those its values would be nonsense. So the layouts are weighed (weighing): by the bits that each needs for
these bytes, and by how rare answers of its kind are. The difference of two in bits is the odds between them. An
operation is named only if it is much likelier than all others together. A body with little content, such as a lone
error code, fits dozens, and the guess says so. A guess never looks certain: it comes with a Finding that names the
other candidates. No guess is made that might show bytes which another candidate keeps secret.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from dissectors.api import Body, Context, Role
from dissectors.finding import Finding, Severity
from dissectors.guess_hints import GUESS, SKIPPED_FINDING, is_skipped
from dissectors.kafka.guessing.weighing import Piece, Pieces, Room, Scales, measure, pieces
from dissectors.kafka.header import body_offset
from dissectors.kafka.info import info_line
from dissectors.kafka.schemas import apis, body_schema, header_version
from dissectors.kafka.sensitive import holds_secrets
from dissectors.kafka.tables import table
from dissectors.slotted import make_slotted
from dissectors.wire.budget import Budget
from dissectors.wire.embedded import holds_secret as any_secret
from dissectors.wire.emit import FAILURES, values_decoder
from dissectors.wire.plan import Array, Leaf, Plan, Step, inside, resolve
from dissectors.wire.varint import Unfit

LIKELY, LIKELY_BARE = 0.9, 0.97
"""An operation is named where it is so likely among all that fit; the second where the body is as good as empty."""

NOTED = 0.01
"""What is less likely is not counted among what would fit too."""

_SURPRISE = 16.0
"""Bits a layout may need more than bytes without any layout would, and still be believed."""

HOPELESS = 64.0
"""Bits by which a layout may be worse than another to count beside it at all: it is 2 ** 64 times as unlikely."""

_FEWEST_BYTES = 3
"""Bytes neither 0 nor 255 in a body from which anything is to be told: emptiness looks alike everywhere."""

_SHORT = 12
"""Bytes of a body from which on it says more than a throttle time and an error."""

_VALUES, _LARGE = 20_000, 1 << 20
"""Values looked at in a body, all layouts together, and one more for each four of its bytes up to `_LARGE`."""

_REMEMBERED = 512
"""Bytes of a body up to which its guess is remembered."""

_CODE = "guessed-layout"
_TEXT, _NOTHING, _UNDECIDED, _SECRET = "guessText", "nothing", "undecided", "secret"
_HEADER_TAGS: Piece = ("tags", ())
BODY = 8

UNFIT = (Unfit, IndexError, struct.error)
"""What Scales raise where bytes do not fit."""


@make_slotted
class KafkaGuessFinding(Finding):
    """The finding that a body was read by a guess, with what was guessed: API key and version."""

    key: int = -1
    version: int = -1


class Candidate(NamedTuple):
    """A layout that consumes a body exactly, and the bits that it takes to believe it."""

    bits: float
    key: int
    version: int

    @property
    def name(self) -> str:
        """The name of the operation and its version."""
        return f"{apis()[self.key].name} v{self.version}"


class Guess(NamedTuple):
    """The result of guessing an orphaned response: its finding, and the operation and version to read it as.

    secret: what it may be holds secrets, so its bytes are one.
    """

    finding: Finding
    key: int | None = None
    version: int | None = None
    secret: bool = False


def format_hints(guess: Guess | None) -> Mapping[str, str]:
    """Writes a guess as an extra context (Context.extra), with which a message is decoded without guessing again."""
    if guess is None:
        return {GUESS: _NOTHING}
    if guess.key is None or guess.version is None:
        return {GUESS: _SECRET if guess.secret else _UNDECIDED, _TEXT: guess.finding.text}
    return {GUESS: f"{guess.key} {guess.version}", _TEXT: guess.finding.text}


def read_hints(hints: Mapping[str, str]) -> Guess | None:
    """Returns the guess that format_hints wrote."""
    hint, text = hints[GUESS], hints.get(_TEXT, "")
    if is_skipped(hints):
        return Guess(SKIPPED_FINDING, secret=True)
    if hint == _NOTHING:
        return None
    if hint in (_SECRET, _UNDECIDED):
        return Guess(Finding(Severity.NOTE, _CODE, text), secret=hint == _SECRET)
    key, version = map(int, hint.split())
    return Guess(KafkaGuessFinding(Severity.NOTE, _CODE, text, key=key, version=version), key, version)


def format_guess(body: Body) -> str:
    """Formats the info line of an orphaned response: what it may be, and the line of that operation."""
    found = next((finding for finding in body.findings if isinstance(finding, KafkaGuessFinding)), None)
    if found is None:
        return info_line(body, Context(Role.RESPONSE))
    line = info_line(body, Context(Role.RESPONSE, found.key, found.version))
    perhaps = f"perhaps {apis()[found.key].name} v{found.version}"
    return f"{perhaps}: {line}" if line else perhaps


class Node(NamedTuple):
    """Layouts that begin alike: by their next piece, the most usual first, and those that end here.

    room: how many bytes they take from here on. rare: the price of the most usual of them.
    """

    edges: tuple[Edge, ...]
    ends: tuple[tuple[int, int, float], ...]
    room: Room
    rare: float


class Edge(NamedTuple):
    """The next piece of some layouts, and what is behind it. room: how many bytes both take."""

    piece: Piece
    behind: Node
    room: Room


@cache
def root() -> Node:
    """Returns the tree of all layouts of answers, which begins behind the correlation id."""
    layouts: list[tuple[Pieces, tuple[int, int, float]]] = []
    prior = table("guess")
    for key, api in apis().items():
        rare = prior["rarity"].get(api.name, prior["otherwise"])
        for version in range(api.versions.low, api.versions.high + 1):
            price = rare + prior["olderVersion"] * (api.versions.high - version)
            layouts.append((layout(key, version), (key, version, price)))
    return _make_node(layouts)


def _make_node(layouts: Sequence[tuple[Pieces, tuple[int, int, float]]]) -> Node:
    """Makes the tree of layouts, of which each is given by its pieces from here on, and key, version and price."""
    ends = tuple(end for rest, end in layouts if not rest)
    next_: dict[Piece, list[tuple[Pieces, tuple[int, int, float]]]] = {}
    for rest, end in layouts:
        if rest:
            next_.setdefault(rest[0], []).append((rest[1:], end))
    nodes = {piece: _make_node(behind) for piece, behind in next_.items()}
    edges = [Edge(piece, behind, measure((piece,)) + behind.room) for piece, behind in nodes.items()]
    rooms = [Room(0, 0)] * bool(ends) + [edge.room for edge in edges]
    room = Room(min(each.least for each in rooms), max(each.most for each in rooms))
    rare = min(price for _, (_, _, price) in layouts)
    return Node(tuple(sorted(edges, key=lambda edge: edge.behind.rare)), ends, room, rare)


def layout(key: int, version: int) -> Pieces:
    """Returns the pieces of an answer after its correlation id, the rest of the header included."""
    head = (_HEADER_TAGS,) if header_version(key, version, True) else ()
    return (*head, *pieces(_plan(key, version)))


def _plan(key: int, version: int) -> Plan:
    return resolve(body_schema(key, True), version)


def candidates(message: bytes) -> list[Candidate]:
    """Returns the layouts that consume an answer exactly, the likeliest first."""
    found: list[Candidate] = []
    descend(root(), Scales(message, count_values(len(message)), count_bits(len(message))), 0.0, BODY, found)
    return choose_believed(found)


def count_values(length: int) -> int:
    """Returns how many values are looked at in a message of so many bytes."""
    return _VALUES + min(length, _LARGE) // 4


def count_bits(length: int) -> float:
    """Returns how many bits are too many for a layout of a message of so many bytes to be believed."""
    return 8.0 * (length - BODY) + _SURPRISE


def choose_believed(found: Sequence[Candidate]) -> list[Candidate]:
    """Returns those that count beside the likeliest, the likeliest first, with the bits that they need more than it."""
    if len(found) < 2:
        return [each._replace(bits=0.0) for each in found]
    best = min(each.bits for each in found)
    return sorted(each._replace(bits=each.bits - best) for each in found if each.bits < best + HOPELESS)


def descend(node: Node, scales: Scales, bits: float, at: int, found: list[Candidate]) -> None:
    """Adds to `found` all layouts behind a node that take a message to its end, whose bytes before `at` took `bits`.

    Leaves out those that cannot be believed: of too many bits, or HOPELESS beside one that was found.
    """
    left = len(scales.data) - at
    if left == 0:
        for key, version, rare in node.ends:
            if bits + rare < scales.limit:
                found.append(Candidate(bits + rare, key, version))
                scales.limit = min(scales.limit, bits + rare + HOPELESS)
    for piece, behind, (least, most) in node.edges:
        if least <= left <= most:
            try:
                price, stop = scales.one(piece, at)
            except UNFIT:
                continue
            room = behind.room
            if room.least <= len(scales.data) - stop <= room.most and bits + price + behind.rare < scales.limit:
                descend(behind, scales, bits + price, stop, found)


def guess(message: bytes) -> Guess | None:
    """Returns the most likely operation and version of an orphaned answer; None if nothing fits."""
    if not is_whole(message):
        return None
    body = message[BODY:]
    return _guess_again(body) if len(body) <= _REMEMBERED else _guess_body(body)


def _guess_body(body: bytes) -> Guess | None:
    message = (len(body) + BODY - 4).to_bytes(4) + bytes(BODY - 4) + body
    return decide(message, candidates(message))


_guess_again = lru_cache(maxsize=8192)(_guess_body)
"""The same of bodies that are short: a connection has many that are equal."""


def is_whole(message: bytes) -> bool:
    """Returns whether a message has a correlation id and its full length."""
    return len(message) >= BODY and int.from_bytes(message[:4]) + 4 == len(message)


def decide(message: bytes, found: Sequence[Candidate]) -> Guess | None:
    """Returns what a whole answer may be whose candidates are these, the likeliest first; None where there is none."""
    if not found:
        return None
    body = message[BODY:]
    bare, short = len(body.translate(None, b"\0\xff")) < _FEWEST_BYTES, len(body) < _SHORT
    verdict = _judge(tuple(found), bare, short)
    secret = [_may_hide_secret(message, each) for each in verdict.likely] if verdict.may_tell_secret else [False]
    if verdict.guess is None or (any(secret) and not secret[0]):
        return Guess(_make_undecided_finding(verdict.likely), secret=any(secret))
    return verdict.guess


class _Verdict(NamedTuple):
    """Says what to think of candidates: those that count, and the best of them as a guess if it is certain enough."""

    likely: Sequence[Candidate]
    may_tell_secret: bool
    guess: Guess | None


@lru_cache(maxsize=1024)
def _judge(found: tuple[Candidate, ...], bare: bool, short: bool) -> _Verdict:
    shares = _shares(found)
    likely = [each for each, share in zip(found, shares, strict=True) if share >= NOTED]
    may_tell_secret = any(has_secrets(each.key, each.version) for each in likely)
    best = found[0]
    if not _is_certain(found, shares, bare, short):
        return _Verdict(likely, may_tell_secret, None)
    text = f"read as {best.name}; {_format_alternatives(best, likely[1:])}"
    finding = KafkaGuessFinding(Severity.NOTE, _CODE, text, key=best.key, version=best.version)
    return _Verdict(likely, may_tell_secret, Guess(finding, best.key, best.version))


def _is_certain(found: Sequence[Candidate], shares: Sequence[float], bare: bool, short: bool) -> bool:
    """Whether the best of them is much likelier than all that would say something else.

    Answers of other operations that have the same fields say the same; but in a short body there is nothing more than
    which operation it answers.
    """
    best = found[0]
    names = _names(best.key, best.version)
    same = (each.key == best.key or (not short and _names(each.key, each.version) == names) for each in found)
    share = sum(share for share, counts in zip(shares, same, strict=True) if counts)
    return share >= (LIKELY_BARE if bare else LIKELY)


@lru_cache(maxsize=1024)
def _names(key: int, version: int) -> tuple[Pieces, tuple[object, ...]]:
    """What an answer's fields are, and how they are called."""
    return layout(key, version), tuple(map(_name, _plan(key, version).steps))


def _name(step: Step) -> object:
    if isinstance(step, Leaf):
        return step.spec.name
    if isinstance(step, Array):
        return step.spec.name, _name(step.element)
    return tuple(map(_name, inside(step)))


def _shares(found: Sequence[Candidate]) -> list[float]:
    """How likely each of them is, if it is one of them."""
    odds = [2.0 ** (found[0].bits - each.bits) for each in found]
    total = sum(odds)
    return [each / total for each in odds]


def _may_hide_secret(message: bytes, candidate: Candidate) -> bool:
    """Whether this reading shows a secret."""
    if not has_secrets(candidate.key, candidate.version):
        return False
    start = body_offset(message, candidate.key, candidate.version, True)
    try:
        values, _ = values_decoder(_plan(candidate.key, candidate.version))(message, start, Budget())
    except FAILURES:
        return True
    return any_secret(values)


@lru_cache(maxsize=1024)
def has_secrets(key: int, version: int) -> bool:
    """Returns whether an answer of this layout may hold secrets."""
    return holds_secrets(_plan(key, version).steps)


def _format_alternatives(best: Candidate, rest: Sequence[Candidate]) -> str:
    """What else it may be: of those the likeliest of another operation, or else of another version."""
    if not rest:
        return "no other layout is as likely"
    named = next((each for each in rest if each.key != best.key), rest[0])
    more = f" and {len(rest) - 1} more" if len(rest) > 1 else ""
    return f"{named.name}{more} would fit too"


def _make_undecided_finding(likely: Sequence[Candidate]) -> Finding:
    names = list(_operations(likely))
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return Finding(Severity.NOTE, _CODE, f"too little to tell what it answers: {shown} would fit")


def _operations(found: Sequence[Candidate]) -> Iterator[str]:
    seen = set()
    for each in found:
        if each.key not in seen:
            seen.add(each.key)
            yield apis()[each.key].name
