"""All dissectors through one door: built-in ones, and plug-ins that an installed package offers.

Theory. Dissectors are named as `module:Class`: built-in ones in a table, plug-ins in the entry points of their package
(group `wireanalyze.dissectors`). A program may also register a class. Nothing is imported before its first use.
Searching for plug-ins examines every installed package, so a lookup of a built-in name does not search. Python's own
importlib.metadata takes longer than the rest of the start, so it is used only if a file of entry points names the
group. A plug-in that cannot be loaded adds a sentence to problems() and harms nothing else.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from functools import cache, cached_property
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from dissectors.api import Dissector, load

if TYPE_CHECKING:
    from dissectors.raw import RawReader

GROUP = "wireanalyze.dissectors"


class BuiltIn(NamedTuple):
    """An entry of the registry for a built-in dissector.

    target: `module:Class`. signatures: offsets and bytes of which one must stand in a message before a probe of the
    dissector says more than CERTAIN; without any it never does. They spare an import, which takes longer than decoding
    a message.
    """

    target: str
    signatures: tuple[tuple[int, bytes], ...] = ()


BUILT_IN: Mapping[str, BuiltIn] = {
    "kafka": BuiltIn("dissectors.kafka:Kafka"),
    "zookeeper": BuiltIn("dissectors.zookeeper:ZooKeeper", ((4, b"\0\0\0\0"), (16, b"/"))),
    "zookeeper-quorum": BuiltIn("dissectors.zookeeper.quorum:ZooKeeperQuorum"),
    "zookeeper-election": BuiltIn("dissectors.zookeeper.election:ZooKeeperElection", ((0, b"\xff\xff\xff\xff"),)),
    "pulsar": BuiltIn("dissectors.pulsar:Pulsar", ((8, b"\x08"),)),
    "rocketmq": BuiltIn("dissectors.rocketmq:RocketMQ"),
    "rocketmq-ha": BuiltIn("dissectors.rocketmq.ha:RocketMQHA"),
}

CERTAIN = 95
"""When a dissector's probe says so much, only those are still asked that may be surer (may_be_surer)."""

UNDECODED = frozenset({"none", "raw"})
"""What the user calls a protocol that is to be left as it is."""


_T = TypeVar("_T")
_FORGET: list[Callable[[], None]] = []
_REGISTERED: dict[str, Dissector] = {}


class _Plugins(NamedTuple):
    dissectors: Mapping[str, Dissector]
    problems: tuple[str, ...]


def dissectors() -> tuple[Dissector, ...]:
    """Returns all dissectors, built-in ones first."""
    return (*(_load_built_in(name) for name in BUILT_IN), *_plugins().dissectors.values())


def by_name(name: str) -> Dissector:
    """Returns the dissector called `name`. Raises KeyError with a sentence that lists the known names."""
    if name in BUILT_IN:
        return _load_built_in(name)
    found = _plugins().dissectors.get(name)
    if found is None:
        raise KeyError(f"There is no protocol {name!r}. Give one of {', '.join(names())}")
    return found


def names() -> tuple[str, ...]:
    """Returns the names that by_name() knows."""
    return (*BUILT_IN, *_plugins().dissectors)


def may_be_surer(name: str, prefix: bytes) -> bool:
    """Returns whether a dissector may rate these bytes above CERTAIN; a plug-in always may."""
    row = BUILT_IN.get(name)
    if row is None:
        return True
    for at, signature in row.signatures:  # noqa: SIM110  each connection asks this, and any() takes twice the time
        if prefix.startswith(signature, at):
            return True
    return False


def raw_readers() -> Iterator[RawReader]:
    """Returns the dissectors that may know what unframed bytes are, in the order in which to try them."""
    return (dissector.raw for dissector in dissectors() if dissector.raw is not None)


def cache_by_plugins(ask: Callable[[], _T]) -> Callable[[], _T]:
    """Decorates a function whose result depends on the plug-ins only, so that it runs once."""
    found = cache(ask)
    _FORGET.append(found.cache_clear)
    return found


def problems() -> tuple[str, ...]:
    """Returns one sentence for each installed plug-in that cannot be used."""
    return _plugins().problems


def register(dissector: Dissector | type[Dissector]) -> Dissector:
    """Adds a dissector to those of this process, beside installed plug-ins; what is opened from now on knows it.

    Raises TypeError for what is no dissector, and for a name that another one has.
    """
    name = getattr(dissector, "name", "")
    made = _make_dissector(name, dissector)
    if name in names():
        raise TypeError(f"the name {name} is already taken")
    _REGISTERED[name] = made
    forget_plugins()
    return made


def forget_plugins() -> None:
    """Looks for plug-ins again at the next question: for a package that was installed meanwhile."""
    _plugins.cache_clear()
    for forget in _FORGET:
        forget()


class Ports:
    """Maps ports to dissectors: the user's rules (-d PORT=PROTOCOL), then the usual ports of each dissector."""

    def __init__(self, rules: Mapping[int, str] | None = None, known: tuple[Dissector, ...] | None = None) -> None:
        self.dissectors = dissectors() if known is None else known
        self._named = {dissector.name: dissector for dissector in self.dissectors}
        self._user_rules = {port: self.find_by_name(name) for port, name in (rules or {}).items()}
        self._own: dict[int, Dissector] = {}
        for dissector in self.dissectors:
            for port in dissector.ports:
                self._own.setdefault(port, dissector)

    @cached_property
    def decrypted(self) -> Ports:
        """Returns the ports for decrypted connections: ports of TLS listeners count, too."""
        found = copy(self)
        found._own = dict(self._own)
        for dissector in self.dissectors:
            for port in dissector.tls_ports:
                found._own.setdefault(port, dissector)
        return found

    def find_by_name(self, name: str) -> Dissector | None:
        """Returns the dissector of this name; None for UNDECODED. Raises KeyError."""
        return None if name in UNDECODED else self._named.get(name) or by_name(name)

    def has_user_rule(self, port: int) -> bool:
        """Returns whether the user has a rule for this port."""
        return port in self._user_rules

    def find_by_port(self, port: int) -> Dissector | None:
        """Returns the dissector of the user's rule for this port; None without one, or for UNDECODED."""
        return self._user_rules.get(port)

    def by_port(self, port: int) -> Dissector | None:
        """Returns the dissector of a port, by the user's rule or by its usual port."""
        return self._user_rules[port] if port in self._user_rules else self._own.get(port)


@cache
def _load_built_in(name: str) -> Dissector:
    return _make_dissector(name, load(BUILT_IN[name].target))


@cache
def _plugins() -> _Plugins:
    found = dict(_REGISTERED)
    wrong: list[str] = []
    for name, target, package in _entry_points():
        try:
            if name in BUILT_IN or name in found:
                raise TypeError("the name is already taken")
            found[name] = _make_dissector(name, load(target))
        except Exception as error:  # a stranger's code may fail in any way; it must not take the program with it
            why = " ".join(str(error).split()) or type(error).__name__
            wrong.append(f"The dissector {name!r} of package {package} is left out: {why}")
    return _Plugins(found, tuple(wrong))


def _entry_points() -> Iterator[tuple[str, str, str]]:
    if not _may_have_plugins():
        return
    from importlib.metadata import entry_points

    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        yield point.name, point.value, point.dist.name if point.dist is not None else "unknown"


def _may_have_plugins() -> bool:
    """Whether entry_points() could find the group; False only where that is certain.

    Distributions lie in folders of sys.path, as NAME.dist-info or NAME.egg-info; other places (an archive, a finder of
    somebody's own) are not looked into, so there the answer is yes.
    """
    if any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder is not PathFinder):
        return True
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except NotADirectoryError:
            return True
        except OSError:
            continue
        for name in names:
            if name.lower().endswith((".dist-info", ".egg-info", ".egg")) and _names_group(os.path.join(folder, name)):
                return True
    return False


def _names_group(distribution: str) -> bool:
    if distribution.lower().endswith(".egg"):
        return True
    try:
        with open(os.path.join(distribution, "entry_points.txt"), "rb") as file:
            return GROUP.encode() in file.read()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def _make_dissector(name: str, loaded: object) -> Dissector:
    made = loaded() if isinstance(loaded, type) else loaded
    if not isinstance(made, Dissector):
        raise TypeError(f"{loaded!r} is not a dissectors.api.Dissector")
    if made.name != name:
        raise TypeError(f"it calls itself {made.name!r}")
    return made
