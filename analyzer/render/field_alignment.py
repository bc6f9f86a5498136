"""Two trees of fields side by side: which fields belong together, and which differ.

Theory. Fields belong together by their names. Elements of an array of structures belong together by what names them: a
topic, a partition, an id; other elements by their position. A request and its response call things by different names
(`topicData` and `responses`, `partition` and `partitionIndex`): so fields of one side alone are paired with those of
the other that mean the same. A secret is compared by what is shown of it, so that a comparison tells nothing more.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from analyzer.decode.masking import has_hidden_parts, has_hidden_value, is_secret
from analyzer.render.tree_json import mask_value
from dissectors.field import Field
from dissectors.wire.secret import Secret

_KEY_NAMES: Sequence[Sequence[str]] = (
    ("topic", "topicName", "name", "topicId", "groupId", "memberId", "resourceName", "transactionalId", "path"),
    ("partition", "partitionIndex", "partitionId", "index", "nodeId", "brokerId", "queueId", "id", "key"),
)
"""Names of fields that name the structure around them; names of a row mean the same. The first ones count more."""

_MEANINGS: Mapping[str, int] = {name: meaning for meaning, names in enumerate(_KEY_NAMES) for name in names}


class FieldState(Enum):
    """Whether the two fields of a row are the same."""

    SAME = "same"
    CHANGED = "changed"
    ONLY_LEFT = "only left"
    ONLY_RIGHT = "only right"


class AlignedField(NamedTuple):
    """Two fields that belong together, or one without another. hidden: below a secret, so values must not be shown.

    changed: whether it, or anything below it, is not the same.
    """

    depth: int
    left: Field | None
    right: Field | None
    state: FieldState
    changed: bool
    hidden: bool = False

    @property
    def is_alone(self) -> bool:
        """Whether one side has no such field."""
        return self.left is None or self.right is None

    @property
    def name(self) -> str:
        """The name of both fields, or both names."""
        names = dict.fromkeys(each.spec.name for each in (self.left, self.right) if each is not None)
        return " / ".join(names)


def align_fields(left: Sequence[Field], right: Sequence[Field]) -> list[AlignedField]:
    """Aligns two lists of fields with all that is below them; each row stands before those below it."""
    return list(_align(left, right, 0, hidden=False))


def _align(left: Sequence[Field], right: Sequence[Field], depth: int, *, hidden: bool) -> Iterator[AlignedField]:
    for one, other in _pair_fields(left, right):
        below_is_hidden = hidden or any(has_hidden_parts(each) for each in (one, other) if each is not None)
        below = list(
            _align(
                () if one is None else one.children,
                () if other is None else other.children,
                depth + 1,
                hidden=below_is_hidden,
            )
        )
        state = _compare(one, other, hidden=hidden)
        changed = state is not FieldState.SAME or any(each.changed for each in below)
        yield AlignedField(depth, one, other, state, changed, hidden)
        yield from below


def _compare(left: Field | None, right: Field | None, *, hidden: bool) -> FieldState:
    if right is None:
        return FieldState.ONLY_LEFT
    if left is None:
        return FieldState.ONLY_RIGHT
    if left.children and right.children:
        return FieldState.SAME  # the rows below say what differs
    one, other = (_find_shown_value(each, hidden=hidden) for each in (left, right))
    is_same = bool(left.children) == bool(right.children) and type(one) is type(other) and one == other
    return FieldState.SAME if is_same else FieldState.CHANGED


def _find_shown_value(node: Field, *, hidden: bool) -> object:
    value = mask_value(node) if hidden or is_secret(node) or has_hidden_value(node) else node.value
    return ("secret", len(value)) if isinstance(value, Secret) else value


def _pair_fields(left: Sequence[Field], right: Sequence[Field]) -> Iterator[tuple[Field | None, Field | None]]:
    """Pairs fields that belong together, in the order of both sides."""
    partners = _find_partners(left, right)
    taken, following = set(partners.values()), 0
    for place, one in enumerate(left):
        partner = partners.get(place)
        if partner is not None and partner >= following:
            yield from ((None, right[each]) for each in range(following, partner) if each not in taken)
            following = partner + 1
        yield one, None if partner is None else right[partner]
    yield from ((None, right[each]) for each in range(following, len(right)) if each not in taken)


def _find_partners(left: Sequence[Field], right: Sequence[Field]) -> dict[int, int]:
    """Returns the place of the partner on the right by each place on the left that has one."""
    found: dict[int, int] = {}
    for identify in (_identify_by_name, _identify_by_meaning):
        taken = set(found.values())
        open_places: dict[Hashable, list[int]] = {}
        for place in range(len(right) - 1, -1, -1):
            key = None if place in taken else identify(right[place])
            if key is not None:
                open_places.setdefault(key, []).append(place)
        for place, one in enumerate(left):
            if place not in found and open_places.get(key := identify(one)):
                found[place] = open_places[key].pop()
    return found


def _identify_by_name(node: Field) -> Hashable:
    """Identifies an element by what names it, and any other field by its name."""
    name = node.spec.name
    key = find_key(node) if name.startswith("[") else None
    return name if key is None else key


def _identify_by_meaning(node: Field) -> Hashable | None:
    """Identifies a field that names the structure around it, or an array of such structures, by what it means."""
    if not node.children:
        return _MEANINGS.get(node.spec.name)
    element = next((each for each in node.children if each.spec.name.startswith("[")), None)
    key = None if element is None else find_key(element)
    return None if key is None else ("array", key.meaning)


class StructureKey(NamedTuple):
    """What names a structure: the meaning of the field that does, and its value."""

    meaning: int
    value: str | int


def find_key(node: Field) -> StructureKey | None:
    """Returns what names a structure; None if nothing does."""
    best: tuple[int, int] | None = None
    found: StructureKey | None = None
    for child in node.children:
        meaning = _MEANINGS.get(child.spec.name)
        if meaning is not None and isinstance(child.value, str | int) and not is_secret(child):
            rank = _KEY_NAMES[meaning].index(child.spec.name)
            if best is None or (meaning, rank) < best:
                best, found = (meaning, rank), StructureKey(meaning, child.value)
    return found
