"""Pulsar: a standalone, that is broker, storage and metadata in one process; the newest release and an old one.

Facts. A broker that asks who its clients are takes those that do not say for `anonymousUserRole`, so one broker has
clients with a token and without. What a broker stamps on each entry (brokerEntryMetadataInterceptors) is shown to
clients only where exposingBrokerEntryMetadataToClientEnabled says so. Clients are asked for a new token
(AUTH_CHALLENGE) when a round of authenticationRefreshCheckSeconds finds theirs expired.
"""

from __future__ import annotations

import json
import urllib.request
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from tests.brokers.lab.maven import Jars
from tests.brokers.lab.server import HOST, Recipe, Site, free_ports, vacant


@dataclass(frozen=True, slots=True)
class Release:
    """A release: its jars, the Java that it needs, its ports, what its configuration has beyond the common part.

    arguments: those of its command line, by the names of ports.
    """

    name: str
    jars: Jars
    java: int
    ports: Mapping[str, int]
    lines: str
    arguments: tuple[str, ...] = ()


SECRET = b64encode(b"a secret that signs tokens, made up for tests").decode()
"""What tokens are signed with: the broker and who makes tokens have it, and it passes over no wire."""

OPENED = (
    "--enable-native-access=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
    "--add-opens=java.base/java.util.zip=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    # Another binding comes with the broker, and which of them is first on a class path is chance.
    "-Dslf4j.provider=org.slf4j.simple.SimpleServiceProvider",
)
"""Java's options for all that uses these jars."""

_PORTS = {"broker": 6650, "web": 8080}

_COMMON = """\
clusterName=standalone
bindAddress={host}
advertisedAddress={host}
brokerServicePort={broker}
webServicePort={web}
managedLedgerDefaultEnsembleSize=1
managedLedgerDefaultWriteQuorum=1
managedLedgerDefaultAckQuorum=1
managedLedgerCacheSizeMB=16
numIOThreads=2
loadBalancerEnabled=false
brokerDeleteInactiveTopicsEnabled=false
"""

NEW = Release(
    "4.2.4",
    Jars(
        "pulsar-4.2.4",
        (
            "org.apache.pulsar:pulsar-broker:4.2.4",
            "org.apache.pulsar:pulsar-client-messagecrypto-bc:4.2.4",
            "org.slf4j:slf4j-simple:2.0.17",
        ),
        # Else two releases of OpenTelemetry meet, and the broker does not start.
        managed=("org.apache.pulsar:pulsar:4.2.4",),
    ),
    25,
    _PORTS,
    """\
numHttpServerThreads=4
transactionCoordinatorEnabled=true
acknowledgmentAtBatchIndexLevelEnabled=true
brokerEntryMetadataInterceptors=\\
org.apache.pulsar.common.intercept.AppendBrokerTimestampMetadataInterceptor,\\
org.apache.pulsar.common.intercept.AppendIndexMetadataInterceptor
exposingBrokerEntryMetadataToClientEnabled=true
delayedDeliveryTickTimeMillis=100
keepAliveIntervalSeconds=5
authenticationEnabled=true
anonymousUserRole=anonymous
authenticationProviders=org.apache.pulsar.broker.authentication.AuthenticationProviderToken
authenticationRefreshCheckSeconds=1
tokenSecretKey=data:;base64,{secret}
""",
)

OLD = Release(
    "2.8.2",
    Jars(
        "pulsar-2.8.2",
        ("org.apache.pulsar:pulsar-broker:2.8.2", "org.slf4j:slf4j-simple:1.7.36"),
        managed=("org.apache.pulsar:pulsar:2.8.2",),
    ),
    17,
    # Its metadata is in a ZooKeeper of its own, its storage has a port.
    {**_PORTS, "zookeeper": 2181, "bookkeeper": 3181},
    """\
zookeeperServers={host}:{zookeeper}
configurationStoreServers={host}:{zookeeper}
""",
    ("--zookeeper-port", "zookeeper", "--bookkeeper-port", "bookkeeper"),
)


def ports(release: Release) -> Mapping[str, int]:
    """The usual ones where nobody has them."""
    return release.ports if vacant(HOST, release.ports.values()) else free_ports(tuple(release.ports))


def _ready(site: Site) -> bool:
    """It makes its namespaces last, with its own API."""
    with (
        suppress(OSError),
        urllib.request.urlopen(f"http://{site.address('web')}/admin/v2/namespaces/public") as answer,
    ):
        return "public/default" in json.load(answer)
    return False


def recipe(release: Release) -> Recipe:
    """A standalone of that release."""

    def prepare(site: Site) -> None:
        text = (_COMMON + release.lines).format(host=site.host, secret=SECRET, **site.ports)
        (site.folder / "standalone.conf").write_text(text)

    def command(site: Site) -> tuple[str, ...]:
        arguments = (str(site.ports.get(each, each)) for each in release.arguments)
        common = ("--config", "standalone.conf", "-nss", "-nfw", "-a", site.host)
        return "org.apache.pulsar.PulsarStandaloneStarter", *common, *arguments

    return Recipe(
        jars=release.jars,
        ports=tuple(release.ports),
        prepare=prepare,
        command=command,
        ready=_ready,
        java=release.java,
        options=("-Xmx512m", "-XX:MaxDirectMemorySize=512m", *OPENED),
        patience=120.0,
    )
