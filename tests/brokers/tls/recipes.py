"""Servers with a port for TLS, each with a Java agent that writes a key log.

Facts. The agent knows the TLS that comes with Java. Netty takes OpenSSL instead where it finds it, and is told not to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tests.brokers.kafka.recipe import KAFKA
from tests.brokers.lab.java import find_java
from tests.brokers.lab.maven import Jars, fetched
from tests.brokers.lab.server import HOST, Recipe, Site
from tests.brokers.pulsar import recipe as pulsar
from tests.brokers.rocketmq import recipe as rocketmq
from tests.brokers.tls.certificates import Certificates
from tests.brokers.zookeeper import recipe as zookeeper

# Its project names a part of old JDKs, which is not needed to load the agent with a program.
AGENT = Jars("extract-tls-secrets-4.0.0", ("name.neykov:extract-tls-secrets:4.0.0",), alone=True)
NO_OPENSSL = "-Dio.netty.handler.ssl.noOpenSsl=true"

_KAFKA = """
listeners=PLAINTEXT://{broker},SASL_PLAINTEXT://{sasl},CONTROLLER://{controller},SSL://{tls}
advertised.listeners=PLAINTEXT://{broker},SASL_PLAINTEXT://{sasl},SSL://{tls}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL
ssl.keystore.type=PEM
ssl.keystore.location={both}
auto.create.topics.enable=true
"""

_ZOOKEEPER = """\
dataDir=data
admin.enableServer=false
secureClientPort={tls}
secureClientPortAddress={host}
serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory
ssl.keyStore.location={both}
ssl.trustStore.location={certificate}
ssl.clientAuth=none
"""

_PULSAR = """
brokerServicePortTls={tls}
tlsCertificateFilePath={certificate}
tlsKeyFilePath={key}
tlsProvider=JDK
"""

_ROCKETMQ = """\
tls.test.mode.enable=false
tls.server.need.client.auth=none
tls.server.certPath={certificate}
tls.server.keyPath={key}
"""


def agent_option(log: Path) -> str:
    """The option with which a Java writes a key log. Raises Missing."""
    (jar,) = fetched(AGENT, find_java(17)).glob("*.jar")
    return f"-javaagent:{jar}={log}"


def kafka(made: Certificates, log: Path) -> Recipe:
    """A broker whose port `tls` is for TLS."""
    return _extend(KAFKA, ("tls",), "server.properties", _KAFKA, made, log)


def pulsar_standalone(made: Certificates, log: Path) -> Recipe:
    """A standalone whose port `tls` is for TLS."""
    base = pulsar.recipe(pulsar.NEW)
    return _extend(base, ("tls",), "standalone.conf", _PULSAR, made, log, NO_OPENSSL)


def rocketmq_names(made: Certificates, log: Path) -> Recipe:
    """A name server; it takes TLS on the port that it has."""
    base = rocketmq.name_server(log.parent, rocketmq.JSON)
    options = (NO_OPENSSL, "-Dtls.server.mode=permissive", "-Dtls.config.file=tls.properties")
    return _extend(base, (), "tls.properties", _ROCKETMQ, made, log, *options)


def zookeeper_server(made: Certificates, log: Path) -> Recipe:
    """A single server with Netty, whose only port is `tls`."""
    base = Recipe(
        jars=zookeeper.NEW.jars,
        ports=(),
        prepare=lambda site: (site.folder / "data").mkdir(),
        command=lambda _: ("org.apache.zookeeper.server.quorum.QuorumPeerMain", "zoo.cfg"),
        ready=lambda site: site.listens("tls"),
        options=("-Xmx128m",),
        patience=30.0,
    )
    return _extend(base, ("tls",), "zoo.cfg", _ZOOKEEPER, made, log, NO_OPENSSL)


def _extend(
    base: Recipe, ports: tuple[str, ...], file: str, lines: str, made: Certificates, log: Path, *options: str
) -> Recipe:
    """A recipe with more ports, with lines behind those of a file, and with the agent."""

    def prepare(site: Site) -> None:
        base.prepare(site)
        values: Mapping[str, object] = {
            "host": HOST,
            "certificate": made.certificate,
            "key": made.key,
            "both": made.both,
            **{name: site.address(name) if base is KAFKA else port for name, port in site.ports.items()},
        }
        with (site.folder / file).open("a") as text:
            text.write(lines.format(**values))

    more = (*base.options, agent_option(log), *options)
    return replace(base, ports=(*base.ports, *ports), prepare=prepare, options=more)
