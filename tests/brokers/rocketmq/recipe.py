"""RocketMQ: a name server, brokers and a controller, of the newest release; frames with headers of either kind.

Facts. A broker registers with its name server by `brokerIP1`. It opens three ports: its own, the one for clients that
are told to use a VIP channel (always its own less two), and the one for slaves. Its settings may be changed while it
runs, and it writes them into the file that it was given. Logs go into the home of its user, whatever that is called.
`rocketmq.serialize.type` is a Java property on either side, and says how headers are written by who has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.brokers.lab.maven import Jars
from tests.brokers.lab.server import HOST, Recipe, Site, free_ports, vacant

RELEASE = "5.5.0"
JARS = Jars(
    f"rocketmq-{RELEASE}",
    (
        f"org.apache.rocketmq:rocketmq-broker:{RELEASE}",
        f"org.apache.rocketmq:rocketmq-namesrv:{RELEASE}",
        f"org.apache.rocketmq:rocketmq-tools:{RELEASE}",
        "org.slf4j:slf4j-simple:2.0.17",
    ),
)

JSON, BINARY = "JSON", "ROCKETMQ"
"""Ways to write a header, by the names that RocketMQ has for them."""

NAMES = {"names": 9876}
BROKER = {"vip": 10909, "broker": 10911, "ha": 10912}
CONFIGURATION = "server.conf"
VIP = 2
"""So much less than the broker's own port is that for VIP channels."""

_NAMES = """\
listenPort={names}
kvConfigPath={folder}/kv.json
configStorePath={folder}/names.conf
"""

_BROKER = """\
brokerClusterName=cluster
brokerName=broker-a
brokerId=0
brokerIP1={host}
brokerIP2={host}
namesrvAddr={address}
listenPort={broker}
haListenPort={ha}
storePathRootDir={folder}/store
mappedFileSizeCommitLog=16777216
mappedFileSizeTimerLog=1048576
timerWheelSlots=3600
maxHashSlotNum=10000
maxIndexNum=10000
autoCreateTopicEnable=false
enablePropertyFilter=true
defaultTopicQueueNums=2
sendMessageThreadPoolNums=1
messageDelayLevel=1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s
transactionTimeOut=1500
transactionOpBatchInterval=50
transactionCheckInterval=1000
recallMessageEnable=true
deleteWhen=04
diskMaxUsedSpaceRatio=99
"""
"""Delays of a second, so that what is tried again comes soon; one thread that stores, so that it can be kept busy.

What was decided of a transaction is written in batches; until then the broker asks for it as if nothing was known.
"""


CONTROLLER = "controller"
_CONTROLLER = """\
controllerDLegerGroup=controllers
controllerDLegerPeers=n0-{host}:{controller}
controllerDLegerSelfId=n0
controllerStorePath={folder}/controller
scanNotActiveBrokerInterval=1000
"""


def ports() -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Of the name server and of the broker: the usual ones where nobody has them."""
    if vacant(HOST, [*NAMES.values(), *BROKER.values()]):
        return NAMES, BROKER
    while True:
        chosen = free_ports(tuple(BROKER))
        chosen["vip"] = chosen["broker"] - VIP
        if len(set(chosen.values())) == len(chosen) and vacant(HOST, chosen.values()):
            return free_ports(tuple(NAMES)), chosen


def name_server(folder: Path, kind: str) -> Recipe:
    """Knows which broker has which topic; writes headers of that kind."""
    return _recipe("org.apache.rocketmq.namesrv.NamesrvStartup", NAMES, _NAMES, folder, kind, "")


def broker(folder: Path, kind: str, names: str, settings: str = "") -> Recipe:
    """One that registers with the name server at the address `names`; the last of equal settings counts."""
    return _recipe("org.apache.rocketmq.broker.BrokerStartup", BROKER, _BROKER + settings, folder, kind, names)


def controller(folder: Path, kind: str) -> Recipe:
    """Elects the masters of brokers that are told its address."""
    main = "org.apache.rocketmq.controller.ControllerStartup"
    return _recipe(main, {CONTROLLER: 0}, _CONTROLLER, folder, kind, "")


def _recipe(main: str, ports: Mapping[str, int], lines: str, folder: Path, kind: str, address: str) -> Recipe:
    def prepare(site: Site) -> None:
        (site.folder / CONFIGURATION).write_text(
            lines.format(folder=site.folder, host=site.host, address=address, **site.ports)
        )

    return Recipe(
        jars=JARS,
        ports=tuple(ports),
        prepare=prepare,
        command=lambda site: (main, "-c", CONFIGURATION),
        ready=lambda site: "boot success" in site.logged(),
        options=(
            "-Xmx320m",
            "-XX:MaxDirectMemorySize=256m",
            f"-Drocketmq.serialize.type={kind}",
            f"-Drocketmq.home.dir={folder}",
            f"-Duser.home={folder}",
        ),
    )
