"""Clients of Kafka over TLS, each with its own way to write a key log."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from tests.brokers.kafka.recipe import TOOLS
from tests.brokers.lab import golang
from tests.brokers.lab.java import QUIET, Java, find_java
from tests.brokers.lab.maven import fetched
from tests.brokers.lab.missing import Missing
from tests.brokers.rocketmq import recipe as rocketmq
from tests.brokers.tls.certificates import Certificates
from tests.brokers.tls.recipes import NO_OPENSSL, agent_option
from tests.documents import ROOT, read_blocks

TOPIC = "over-tls"
VARIABLE = "SSLKEYLOGFILE"

Client = Callable[[str, Certificates, Path], None]
"""Talks to the broker at an address, and leaves its secrets in a key log. Raises Missing."""


def run(command: Sequence[str], text: str = "", **environment: str) -> None:
    """Runs a client to its end."""
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=60, check=False, env=os.environ | environment
    )
    assert not done.returncode, done.stdout[-2000:] + done.stderr[-2000:]


def build_shim(folder: Path) -> Path:
    """The library of docs/how-to/tls.md. Raises Missing where there is no compiler for C."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise Missing("no cc: the library is written in C")
    source, library = folder / "keylog.c", folder / "keylog.so"
    source.write_text(read_blocks(ROOT / "docs" / "how-to" / "tls.md", "c")[0])
    run([compiler, "-shared", "-fPIC", "-Wall", "-Werror", "-o", str(library), str(source)])
    return library


def _kafka_python(address: str, made: Certificates, log: Path) -> None:
    _run_kafka_python(address, made, "kafka-python", log)


def _python_variable(address: str, made: Certificates, log: Path) -> None:
    _run_kafka_python(address, made, "variable", "", **{VARIABLE: str(log)})


def _run_kafka_python(address: str, made: Certificates, client: str, log: Path | str, **environment: str) -> None:
    if not find_spec("kafka"):
        raise Missing("kafka-python is not installed")
    program = [sys.executable, "-m", "tests.brokers.tls.python_client", address, str(made.certificate)]
    run([*program, TOPIC, client, str(log)], **environment)


def _kcat(address: str, made: Certificates, log: Path) -> None:
    program = shutil.which("kcat")
    if program is None:
        raise Missing("kcat is not installed")
    options = {"security.protocol": "ssl", "ssl.ca.location": str(made.certificate), "client.id": "kcat"}
    settings = [part for name, value in options.items() for part in ("-X", f"{name}={value}")]
    environment = {VARIABLE: str(log), "LD_PRELOAD": str(build_shim(log.parent))}
    run([program, "-b", address, *settings, "-P", "-t", TOPIC], "from kcat\n", **environment)


def _franz_go(address: str, made: Certificates, log: Path) -> None:
    program = golang.built(Path(__file__).parent / "go_client", "franz-go-client")
    run([str(program), address, str(made.certificate), TOPIC, str(log)])


def _java(address: str, made: Certificates, log: Path) -> None:
    java = find_java(17)
    tools = Java(java, (fetched(TOOLS, java),))
    settings = log.with_suffix(".properties")
    settings.write_text(
        f"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location={made.certificate}\nclient.id=java\n"
    )
    arguments = ("--bootstrap-server", address, "--topic", TOPIC, "--command-config", str(settings))
    options = ("-Xmx128m", QUIET, agent_option(log))
    run(tools.command("org.apache.kafka.tools.ConsoleProducer", *arguments, options=options), "from Java\n")


_NODE = """
const [address, authority] = process.argv.slice(1), [host, port] = address.split(":");
const socket = require("tls").connect({host, port, ca: require("fs").readFileSync(authority)}, () =>
  socket.write(Buffer.from("0000000e00120000000000010004" + Buffer.from("node").toString("hex"), "hex")));
socket.once("data", () => socket.end());
"""


def _node(address: str, made: Certificates, log: Path) -> None:
    program = shutil.which("node")
    if program is None:
        raise Missing("node is not installed")
    run([program, f"--tls-keylog={log}", "-e", _NODE, "--", address, str(made.certificate)])


CLIENTS: dict[str, Client] = {
    "kafka-python": _kafka_python,
    "variable": _python_variable,
    "kcat": _kcat,
    "franz-go": _franz_go,
    "java": _java,
    "node": _node,
}
"""By the client ids that they send."""


_KAZOO = """
import sys
from kazoo.client import KazooClient
client = KazooClient(sys.argv[1], use_ssl=True, ca=sys.argv[2])
client.start(30)
client.create("/over-tls", b"from kazoo")
client.stop()
"""


def run_kazoo(address: str, made: Certificates, log: Path) -> None:
    """A client of ZooKeeper, with the library that writes key logs."""
    environment = {VARIABLE: str(log), "LD_PRELOAD": str(build_shim(log.parent))}
    _run_python("kazoo", _KAZOO, address, made, **environment)


_PULSAR = """
import sys
import pulsar
client = pulsar.Client(f"pulsar+ssl://{sys.argv[1]}", tls_trust_certs_file_path=sys.argv[2])
client.create_producer("over-tls").send(b"from C++")
client.close()
"""


def run_pulsar(address: str, made: Certificates, log: Path) -> None:
    """Pulsar's client in C++, which writes no key log."""
    _run_python("pulsar", _PULSAR, address, made)


def run_rocketmq_admin(address: str, made: Certificates, log: Path) -> None:
    """RocketMQ's tool in Java, with the agent."""
    java = find_java(17)
    tools = Java(java, (fetched(rocketmq.JARS, java),))
    options = ("-Xmx128m", NO_OPENSSL, "-Dtls.enable=true", "-Dtls.client.authServer=false", agent_option(log))
    main = "org.apache.rocketmq.tools.command.MQAdminStartup"
    run(tools.command(main, "getNamesrvConfig", "-n", address, options=(*options, f"-Duser.home={log.parent}")))


def _run_python(package: str, program: str, address: str, made: Certificates, **environment: str) -> None:
    if not find_spec(package):
        raise Missing(f"{package} is not installed: requirements/brokers.lock has it")
    run([sys.executable, "-c", program, address, str(made.certificate)], **environment)
