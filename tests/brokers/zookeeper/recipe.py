"""ZooKeeper: members of an ensemble, each a server of its own, in the newest release and in an old one.

Theory. A member's configuration names all others, so where they live is chosen before the first one is prepared: on
addresses of loopback of their own and the usual ports, as on machines of their own, or where these are taken (or a
system has only one such address) on free ports of one address.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass

from tests.brokers.lab.maven import Jars
from tests.brokers.lab.server import HOST, Recipe, Site, free_ports, vacant

PORTS = {"client": 2181, "quorum": 2888, "election": 3888}

USER, PASSWORD = "alice", "a-password-made-up-for-tests"
"""Who may log in by SASL."""

SUPER, SUPER_PASSWORD = "super", "another-password-made-up-for-tests"
"""Who may change the configuration."""


OWNER, OWNER_PASSWORD = "alice", "a-third-password-made-up-for-tests"
"""Whose nodes nobody else may read, by the scheme `digest`."""


@dataclass(frozen=True, slots=True)
class Release:
    """A release: its jars, what its configuration has beyond the common part, Java's options.

    dynamic: whether members may be told to leave and to join; such a release has the client port in a member's line.
    """

    name: str
    jars: Jars
    lines: str
    options: tuple[str, ...]
    dynamic: bool


@dataclass(frozen=True, slots=True)
class Member:
    """Where the server of this number lives, and whether it only watches."""

    number: int
    host: str
    ports: Mapping[str, int]
    observes: bool = False

    @property
    def address(self) -> str:
        """host:port for clients."""
        return f"{self.host}:{self.ports['client']}"

    def line(self, dynamic: bool) -> str:
        """What the configuration of all members says of this one."""
        role = "observer" if self.observes else "participant"
        line = f"server.{self.number}={self.host}:{self.ports['quorum']}:{self.ports['election']}:{role}"
        return f"{line};{self.address}" if dynamic else line


def digest(user: str, password: str) -> str:
    """A user as ACLs of the scheme `digest` name it (DigestAuthenticationProvider.generateDigest)."""
    content = hashlib.sha1(f"{user}:{password}".encode()).digest()
    return f"{user}:{b64encode(content).decode()}"


NEW = Release(
    "3.9.5",
    Jars(
        "zookeeper-3.9.5",
        (
            "org.apache.zookeeper:zookeeper:3.9.5",
            "io.dropwizard.metrics:metrics-core:4.2.30",
            "org.xerial.snappy:snappy-java:1.1.10.7",
            "org.slf4j:slf4j-simple:2.0.13",
        ),
    ),
    # MD5 is not allowed where Java shall be as the FIPS wants it, which is how a server starts.
    f"""\
admin.enableServer=false
4lw.commands.whitelist=*
reconfigEnabled=true
standaloneEnabled=false
extendedTypesEnabled=true
fips-mode=false
authProvider.sasl=org.apache.zookeeper.server.auth.SASLAuthenticationProvider
DigestAuthenticationProvider.superDigest={digest(SUPER, SUPER_PASSWORD)}
""",
    ("-Xmx128m", "-Djava.security.auth.login.config=jaas.conf", "-Dznode.container.checkIntervalMs=500"),
    dynamic=True,
)

OLD = Release(
    "3.4.14",
    Jars("zookeeper-3.4.14", ("org.apache.zookeeper:zookeeper:3.4.14",)),
    """\
quorum.auth.enableSasl=true
quorum.auth.learnerRequireSasl=true
quorum.auth.serverRequireSasl=true
""",
    (
        "-Xmx128m",
        "-Djava.security.auth.login.config=jaas.conf",
        "-Dlog4j.configuration=file:log4j.properties",
        "-Dzookeeper.jmx.log4j.disable=true",
    ),
    dynamic=False,
)

_COMMON = """\
tickTime=500
initLimit=20
syncLimit=10
dataDir=data
"""

_JAAS = f"""\
Server {{
    org.apache.zookeeper.server.auth.DigestLoginModule required user_{USER}="{PASSWORD}";
}};
QuorumServer {{
    org.apache.zookeeper.server.auth.DigestLoginModule required user_{USER}="{PASSWORD}";
}};
QuorumLearner {{
    org.apache.zookeeper.server.auth.DigestLoginModule required username="{USER}" password="{PASSWORD}";
}};
"""

_LOG4J = """\
log4j.rootLogger=INFO, CONSOLE
log4j.appender.CONSOLE=org.apache.log4j.ConsoleAppender
log4j.appender.CONSOLE.layout=org.apache.log4j.PatternLayout
log4j.appender.CONSOLE.layout.ConversionPattern=%p %c: %m%n
"""


def members(participants: int, observers: int = 0) -> tuple[Member, ...]:
    """So many servers, numbered from 1, with places of their own."""
    numbers = range(1, participants + observers + 1)
    hosts = [f"127.0.0.{number}" for number in numbers]
    if all(vacant(host, PORTS.values()) for host in hosts):
        places = [(host, PORTS) for host in hosts]
    else:
        taken = free_ports([f"{name}-{number}" for number in numbers for name in PORTS])
        places = [(HOST, {name: taken[f"{name}-{number}"] for name in PORTS}) for number in numbers]
    return tuple(
        Member(number, host, ports, number > participants)
        for number, (host, ports) in zip(numbers, places, strict=True)
    )


def recipe(release: Release, member: Member, ensemble: tuple[Member, ...]) -> Recipe:
    """One of the ensemble. It is called ready when it looks for the others: alone it will never be more."""

    def prepare(site: Site) -> None:
        lines = _COMMON + release.lines
        if not release.dynamic:
            lines += f"clientPort={member.ports['client']}\nclientPortAddress={member.host}\n"
        if member.observes:
            lines += "peerType=observer\n"
        lines += "".join(f"{each.line(release.dynamic)}\n" for each in ensemble)
        (site.folder / "zoo.cfg").write_text(lines)
        (site.folder / "jaas.conf").write_text(_JAAS)
        (site.folder / "log4j.properties").write_text(_LOG4J)
        (site.folder / "data").mkdir()
        (site.folder / "data" / "myid").write_text(f"{member.number}\n")

    return Recipe(
        jars=release.jars,
        ports=tuple(PORTS),
        prepare=prepare,
        command=lambda _: ("org.apache.zookeeper.server.quorum.QuorumPeerMain", "zoo.cfg"),
        ready=lambda site: "LOOKING" in site.logged(),
        options=release.options,
        patience=30.0,
    )
