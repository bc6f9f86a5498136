"""What can be asked of a protocol's messages by name: the fields of each operation, and short names across them.

Theory. Nobody remembers whether a topic stands in `topics.name` or in `topicData.topic`, and nobody should be answered
with silence because of a slip of the pen. So a protocol tells which fields its messages may have (of all versions
together), for whoever checks a path, completes one, or lists them; and it tells the few things that people ask of any
message (its topic, its group, its path) as shorts, wherever they stand. A path is names from the body inwards, as
Body.values has them; arrays on the way are implicit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from dissectors.api import Context, Role
    from dissectors.lesson import Path


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
    """The fields of one operation in one role; `role` None where the roles have the same."""

    operation: str
    role: Role | None
    members: Callable[[], Sequence[Member]]


class Short(NamedTuple):
    """Something that people ask of any message of a protocol, `PROTOCOL.name`.

    paths: where it stands in messages of such a context; none where it is not. The same for equal contexts. kind: what
    messages may also carry ids of (dissectors.lesson), whose names are then meant too. inherited: an answer that says
    none of its own has its request's.
    """

    name: str
    type: str
    paths: Callable[[Context], Sequence[Path]]
    kind: str | None = None
    inherited: bool = True
    label: Callable[[int], str | None] | None = None
    about: str | None = None


class Alias(NamedTuple):
    """Another program's name for something: keys of a row and paths of ours, any of which it may mean.

    keys: names of a row's keys (`code`), with the roles that have it; None: all. paths: as of a Short.
    """

    name: str
    type: str
    key: str | None = None
    roles: frozenset[Role] | None = None
    paths: Callable[[Context], Sequence[Path]] | None = None
    label: Callable[[int], str | None] | None = None
    about: str | None = None


class Catalog(ABC):
    """The names of one protocol."""

    @abstractmethod
    def layouts(self) -> Sequence[Layout]:
        """All operations, each role that has a body of its own."""

    def shorts(self) -> Sequence[Short]:
        """What may be asked of any message; by default nothing."""
        return ()

    def aliases(self) -> Mapping[str, Alias]:
        """What others call things, by whole name (`kafka.api_key`); by default nothing."""
        return {}
