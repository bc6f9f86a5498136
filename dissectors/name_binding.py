"""Name bindings: a message tells the name of an id in others. They enrich decoding and are never part of it.

Theory. Many messages use ids that another message, often on another connection, binds to names: a topic's id, a
broker's number. Such a message returns its Lessons, and References tell which values of a message are ids.
analyzer.decode.name_resolver combines the two and tells which message taught a name. Decoding never needs this, and an
id without a known name stays an id.

Kinds are words for people and the same in all protocols: "topic", "broker", "producer", "member". Within a kind, an id
and a name are texts; numbers are written in decimal. A number that a client counts anew on each connection is an id in
a `scope`: a word for the counted things ("consumer"), valid within one connection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from dissectors.message import Context, Path, Role, Values
from dissectors.slotted import make_slotted


class NameBinding(NamedTuple):
    """The thing of a `kind` with id `key` is called `value`. scope: None if this holds everywhere."""

    kind: str
    key: str
    value: str
    scope: str | None = None


class BindingSource(NamedTuple):
    """The messages that give names for ids of a `kind`.

    client: only those of clients whose name begins so. alike: messages of one version that are the same from this byte
    on teach the same; None where it also matters who sent them, or what they answer. scoped: what they teach has a
    scope, so that who goes on with the connection in another process needs them.
    """

    kind: str
    code: int
    role: Role
    client: str = ""
    alike: int | None = None
    scoped: bool = False


class BoundName(NamedTuple):
    """A message that gives names for ids, with what is known of it beside its values.

    request: the values of the request that it answers, decoded when asked for; None where that is unknown. client: as
    in MessageHeader. host: the address of the connection's client, without its port.
    """

    values: Values
    context: Context
    request: Callable[[], Values | None]
    client: str | None
    host: str


class Reference(NamedTuple):
    """The place of an id of a kind in a message's values. scope: as in NameBinding."""

    kind: str
    path: Path
    scope: str | None = None


class Exchange(NamedTuple):
    """A request of a connection and its answer, each decoded on demand; None where it is unknown."""

    number: int
    request: Callable[[], Values | None]
    answer: Callable[[], Values | None]


class SessionPartition(NamedTuple):
    """A partition in a session, with the offset that was last requested. `topic` is a name or an id."""

    topic: str
    partition: int
    offset: int | None


class SessionContents(NamedTuple):
    """The contents of a session; a request in it names only what has changed.

    since: the number of the request that began the session; None where it is not in the capture, and then the session
    holds this at least.
    """

    id: int
    epoch: int
    partitions: tuple[SessionPartition, ...]
    since: int | None


def nothing(*given: object) -> tuple[()]:
    """Returns no bindings; the default of the functions of NameBindings."""
    return ()


@make_slotted(eq=False)
class NameBindings:
    """The ids in a protocol's messages and the names for them. No function raises: values may lack anything.

    references: where the values of messages of a context have ids; the same for equal contexts. binding sources: which
    messages say what ids mean. name bindings: what one of these says. constants: names of ids that are the same
    everywhere, so that no message tells them.
    """

    references: Callable[[Context], tuple[Reference, ...]]
    binding_sources: Callable[[], Iterable[BindingSource]] = nothing
    name_bindings: Callable[[BoundName], Iterable[NameBinding]] = nothing
    constants: Callable[[], Iterable[NameBinding]] = nothing
