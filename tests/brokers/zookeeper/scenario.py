"""What happens to an ensemble while it is recorded: clients, words, a leader that dies and comes back."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.brokers.kafka.recipe import COMPILER
from tests.brokers.lab.java import QUIET, Java, compiled
from tests.brokers.lab.maven import fetched
from tests.brokers.lab.recorder import recording
from tests.brokers.zookeeper.ensemble import Ensemble, ensembled, word
from tests.brokers.zookeeper.journal import Journal, client, of_python
from tests.brokers.zookeeper.recipe import (
    NEW,
    PASSWORD,
    SUPER,
    SUPER_PASSWORD,
    USER,
    Member,
    Release,
    members,
)

WORDS = ("ruok", "srvr", "stat", "mntr", "cons", "dump", "wchs", "wchp", "isro")
"""None that tells of the machine (conf, envi): what is recorded here is also to be shown."""

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Recording:
    """What one run left: the capture, what clients and words said, who led, and the Java with the servers' classes."""

    capture: Path
    journals: dict[str, Journal]
    words: dict[str, str | None]
    leaders: tuple[int, ...]
    members: tuple[Member, ...]
    server: Java


def record(folder: Path, release: Release = NEW, observers: int = 1) -> Recording:
    """Runs it all. Raises Missing where this machine lacks something for it."""
    everyone = members(3, observers)
    capture = folder / "ensemble.pcap"
    ports = sorted({port for member in everyone for port in member.ports.values()})
    with ensembled(release, everyone, folder) as ensemble, ExitStack() as stored:
        java = ensemble.sites[1].java
        program = None
        if release.dynamic:
            sources = [FOLDER / f"{name}.java" for name in ("JsonArchive", "JavaClient")]
            program = compiled(sources, java, fetched(COMPILER, java.path), folder / "client")
        stored.enter_context(recording(capture, ports))
        ensemble.start()
        first = ensemble.led_by()
        clients = {
            name: stored.enter_context(client(command, folder / f"{name}.log"))
            for name, command in _commands(ensemble, first, program).items()
        }
        for each in clients.values():
            each.hold()
        words = {each: word(ensemble.members[first], each) for each in WORDS}
        second = _lose(ensemble, first)
        journals = {name: each.finish() for name, each in clients.items()}
        if release.dynamic and find_spec("puresasl"):
            journals["sasl"] = _logged_in(ensemble.members[second], folder)
        _return(ensemble, first, second)
        ensemble.close()
    return Recording(capture, journals, words, (first, second), everyone, java)


def _commands(ensemble: Ensemble, leader: int, program: Java | None) -> dict[str, list[str]]:
    """kazoo goes to the leader, Java's client to the others."""
    others = [member.address for number, member in ensemble.members.items() if number != leader]
    found = {}
    if find_spec("kazoo"):
        addresses = ",".join([ensemble.members[leader].address, *others])
        found["kazoo"] = of_python("kazoo_client", addresses, *(["create2"] if program else []))
    if program is not None:
        joining = ensemble.members[max(ensemble.members)].line(dynamic=True)
        arguments = (",".join(others), f"{SUPER}:{SUPER_PASSWORD}", joining)
        found["java"] = program.command("org.apache.jute.JavaClient", *arguments, options=("-Xmx64m", QUIET))
    return found


def _lose(ensemble: Ensemble, leader: int) -> int:
    """The leader dies with all it has; gives the number of the next one."""
    ensemble.kill(leader)
    ensemble.empty(leader)
    ensemble.settle()
    return ensemble.led_by()


def _return(ensemble: Ensemble, lost: int, leader: int) -> None:
    """Who died comes back with nothing, and gets it all; another one is away for a moment and gets what it missed."""
    ensemble.start(lost)
    other = next(number for number in ensemble.members if number not in (lost, leader))
    ensemble.stop(other)
    ensemble.start(other)


def _logged_in(member: Member, folder: Path) -> Journal:
    with client(of_python("sasl_client", member.address, USER, PASSWORD), folder / "sasl.log") as found:
        return found.finish()
