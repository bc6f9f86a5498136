"""Catalog of a protocol's field names: the fields of each operation, and short names across them.

Theory. Nobody remembers whether a topic is in `topics.name` or in `topicData.topic`, and a misspelt name must not give
an empty result. So a protocol lists the fields that its messages may have, in all versions together; the analyzer uses
the list to check, complete and print paths. A protocol also declares field aliases: short names for common subjects
(topic, group, path), whose fields differ between messages. A path is the names from the body inwards, as in
Body.values; arrays on the way are implicit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from dissectors.message import Context, Path, Role


class VersionRange(Protocol):
    """An inclusive range of versions."""

    @property
    def low(self) -> int: ...  # noqa: D102
    @property
    def high(self) -> int: ...  # noqa: D102


class Operation(Protocol):
    """An operation without its number: its name, and its `versions` (None if the protocol has no versions)."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def versions(self) -> VersionRange | None: ...  # noqa: D102


class Member(NamedTuple):
    """A field of a body, of all versions together.

    type: the protocol's own type name, as in a tree, of one element where `repeated`; `struct` where it has members.
    label: as of a FieldSpec, for numbers that have names. members: what is inside, called when somebody asks. open:
    inside may also be names that no table knows (maps, JSON, what bytes may hold).
    """

    name: str
    type: str
    repeated: bool = False
    label: Callable[[int], str | None] | None = None
    members: Callable[[], Sequence[Member]] | None = None
    open: bool = False
    about: str | None = None


class Layout(NamedTuple):
    """The fields of one operation. role: RESPONSE, or REQUEST for whatever is none (a oneway message has the body of a
    request); None where all have the same.
    """

    operation: str
    role: Role | None
    members: Callable[[], Sequence[Member]]


class Place(NamedTuple):
    """A path that counts only where the field `discriminator`, in the struct that the path ends in, has this number."""

    path: Path
    discriminator: str
    number: int

    @property
    def discriminator_path(self) -> Path:
        """The path at which the number stands."""
        return (*self.path[:-1], self.discriminator)


class FieldAlias(NamedTuple):
    """Something that people ask of any message of a protocol, `PROTOCOL.name`.

    paths: where it stands in messages of such a context; none where it is not. The same for equal contexts. kind: what
    messages may also carry ids of (dissectors.name_binding), whose names are then meant too. inherited: an answer that
    says none of its own has its request's. places: where it stands if a field beside it says so. nothing: values that
    stand for none. session: which part of what a session holds is meant, too ("topics", "partitions"; see
    dissectors.session_state).
    """

    name: str
    type: str
    paths: Callable[[Context], Sequence[Path]]
    kind: str | None = None
    inherited: bool = True
    label: Callable[[int], str | None] | None = None
    about: str | None = None
    places: Callable[[Context], Sequence[Place]] | None = None
    nothing: frozenset[int | str] = frozenset()
    session: str | None = None


class Alias(NamedTuple):
    """Another program's name for something: a key of a row, or paths of ours.

    key: of a row (`code`), with the roles that have it; None: all. paths: as of a FieldAlias. add: to a number, where
    the other counts otherwise. made: what the other makes of a value at one of the paths, None for nothing.
    """

    name: str
    type: str
    key: str | None = None
    roles: frozenset[Role] | None = None
    paths: Callable[[Context], Sequence[Path]] | None = None
    label: Callable[[int], str | None] | None = None
    about: str | None = None
    add: int = 0
    made: Callable[[Any], Any] | None = None


class Catalog(ABC):
    """The names of one protocol."""

    @abstractmethod
    def layouts(self) -> Sequence[Layout]:
        """Returns the layouts of all operations, one for each role that has a body."""

    def field_aliases(self) -> Sequence[FieldAlias]:
        """Returns the short names for fields of all messages; by default none."""
        return ()

    def aliases(self) -> Mapping[str, Alias]:
        """Returns other programs' names for fields, by whole name (`kafka.api_key`); by default none."""
        return {}

    def errors(self) -> Collection[str] | None:
        """Returns the names of the errors that messages report; None, the default, where nobody wrote them down."""
        return None


class ListedCatalog(Catalog):
    """The names of a protocol whose operations all have the same members; `aliases` lead to some of these."""

    def __init__(self, operations: Sequence[str], members: Sequence[Member], aliases: Mapping[str, str]) -> None:
        self._operations, self._members, self._aliases = operations, members, aliases

    def layouts(self) -> Sequence[Layout]:
        """Returns one layout for each operation; all have the same members."""
        return [Layout(name, None, lambda: self._members) for name in self._operations]

    def field_aliases(self) -> Sequence[FieldAlias]:
        """Returns the aliases, each of which leads to a member of that name."""
        members = {member.name: member for member in self._members}
        named = [(alias, members[name]) for alias, name in self._aliases.items()]
        return [FieldAlias(alias, each.type, partial(_lead_to, each), about=each.about) for alias, each in named]


def _lead_to(member: Member, context: Context) -> Sequence[Path]:
    return ((member.name,),)


def merge_members(*lists: Iterable[Member]) -> list[Member]:
    """Returns the members of several structs that may stand in one place, each name once, in the order of their coming.

    A name that has several types is of any; one whose labels differ has none.
    """
    named: dict[str, list[Member]] = {}
    for members in lists:
        for member in members:
            named.setdefault(member.name, []).append(member)
    return [found[0] if len(found) == 1 else _unite(found) for found in named.values()]


def _unite(found: Sequence[Member]) -> Member:
    first = found[0]
    inside = [each.members for each in found if each.members is not None]
    kinds = {each.type.rstrip("0123456789") for each in found}
    return first._replace(
        type=first.type if len(kinds) == 1 else "any",
        repeated=any(each.repeated for each in found),
        label=first.label if all(each.label is first.label for each in found) else None,
        members=partial(_all_inside, inside) if inside else None,
        open=any(each.open for each in found),
    )


def _all_inside(inside: Sequence[Callable[[], Sequence[Member]]]) -> list[Member]:
    return merge_members(*(members() for members in inside))


def holding(member: Member, structures: Callable[[], Sequence[Member]], open_: bool = False) -> Member:
    """Returns a bytes field that may hold a structure: what that is called, and below `value` its members."""
    return member._replace(
        members=lambda: (Member("as", "string"), Member("value", "struct", members=structures, open=open_))
    )
