"""The options of `sniff` about a capture: where, what, how long, into which files, and as which user.

Theory. Options have the names of tshark and dumpcap if these have the same option (-i -f -w -c -a -b -s -B -p), else of
tcpdump (-Z).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import Any, TypeVar, get_args

import click

from analyzer.cli.amounts import Limits
from analyzer.cli.memory import memory_option
from analyzer.cli.parameters import OneOf, Whole
from analyzer.cli.settings import settings
from analyzer.errors import UserError
from analyzer.live.capture_request import AUTO, SSH, CaptureBounds, CaptureRequest
from analyzer.live.launcher import Via
from analyzer.live.privilege import SUDO_USER, impersonate_sudo_caller

_Command = TypeVar("_Command", bound=Callable[..., Any])

STDOUT = "-"


@dataclass(frozen=True, slots=True)
class Capturing:
    """The options of a capture. write: the file for the packets. memory: bytes for its tables; None: no limit."""

    request: CaptureRequest
    write: str | None
    via: Via
    memory: int | None


def capture_options(command: _Command) -> Callable[..., Any]:
    """Adds the options of a capture; the command gets `capturing`. Raises UserError for contradictions."""

    @click.argument("uris", nargs=-1, metavar="[ssh://HOST/IF]...")
    @click.option(
        "-i",
        "--interface",
        "interfaces",
        multiple=True,
        metavar="IF",
        help="Capture on this interface, by name or number, or on another machine: ssh://HOST/IF. Repeat it for more."
        " any: all that are up.",
    )
    @click.option(
        "-f",
        "--capture-filter",
        "expression",
        default="",
        metavar="BPF",
        help="Capture only what passes this filter in the language of tcpdump, such as 'tcp port 9092'. auto: the usual"
        " ports of the protocols, if a server listens there.",
    )
    @click.option("-w", "--write", metavar="FILE", help="Write the packets to a pcapng file.")
    @click.option(
        "-b",
        "--ring",
        multiple=True,
        type=Limits(),
        help="Begin a new file of -w after size:100M, duration:1h or packets:N. files:5 keeps the last five files.",
    )
    @click.option("-c", "--count", "most", type=Whole(1), default=None, metavar="N", help="Stop after N packets.")
    @click.option(
        "-a",
        "--autostop",
        "until",
        multiple=True,
        type=Limits(),
        help="Stop after duration:60s, size:1G, packets:N or files:N.",
    )
    @click.option(
        "-s", "--snaplen", type=Whole(0), default=0, metavar="N", help="Capture at most N bytes of each packet. 0: all."
    )
    @click.option(
        "-B",
        "--buffer",
        type=Whole(1, 2047),
        default=CaptureRequest().buffer >> 20,
        show_default=True,
        metavar="MIB",
        help="Size of the kernel's buffer for each interface, in MiB.",
    )
    @click.option(
        "--netns",
        multiple=True,
        metavar="PID|NAME",
        help="Capture in the network namespace of a process, or in one of `ip netns`. Repeat it for more.",
    )
    @click.option(
        "--container",
        "containers",
        multiple=True,
        metavar="NAME",
        help="Capture in the network namespace of a container of docker or containerd, by name, id or NAMESPACE/POD."
        " Repeat it for more.",
    )
    @click.option("-p", "--no-promiscuous", is_flag=True, help="Do not put the interfaces into promiscuous mode.")
    @click.option("-Z", "--user", default="", metavar="USER", help="Become this user once the interfaces are open.")
    @click.option(
        "--via",
        type=OneOf(get_args(Via)),
        default="auto",
        show_default=True,
        help="Open the interfaces with this program (self), with this program run by sudo, or with dumpcap."
        " auto: self if it may capture, else dumpcap.",
    )
    @memory_option("1G", "1G; 256M with --headless")
    @wraps(command)
    def with_capture(
        *args: Any,
        uris: tuple[str, ...],
        interfaces: tuple[str, ...],
        expression: str,
        write: str | None,
        ring: tuple[CaptureBounds, ...],
        most: int | None,
        until: tuple[CaptureBounds, ...],
        snaplen: int,
        buffer: int,
        no_promiscuous: bool,
        user: str,
        netns: tuple[str, ...],
        containers: tuple[str, ...],
        via: Via,
        memory: int | None,
        **rest: Any,
    ) -> Any:
        bounds = _join_filters(until)
        packets = min((each for each in (most or 0, bounds.packets) if each), default=0)
        request = CaptureRequest(
            interfaces=(*interfaces, *map(_check_uri, uris)),
            filter=expression,
            snaplen=snaplen,
            until=replace(bounds, packets=packets),
            ring=_join_filters(ring),
            promiscuous=not no_promiscuous,
            buffer=buffer << 20,
            user=user,
            netns=netns,
            containers=containers,
        )
        _look(request, write)
        if expression == AUTO:
            request = replace(request, ports=list_known_ports())
        return command(*args, capturing=Capturing(request, write, via, memory), **rest)

    return with_capture


def _check_uri(uri: str) -> str:
    """Returns an interface on another machine. Raises UsageError for any other argument."""
    if not uri.startswith(SSH):
        raise click.UsageError(f"Got unexpected extra argument ({uri})", click.get_current_context())
    return uri


def list_known_ports() -> tuple[int, ...]:
    """Returns the ports on which servers of known protocols usually listen, and those of the configuration."""
    from analyzer.messages.decode_as import collect_ports, make_rules, merge_rules

    known, _ = make_rules(merge_rules(settings().ports.items()))
    usual = (port for dissector in known.dissectors for port in (*dissector.ports, *dissector.tls_ports))
    return tuple(sorted({*usual, *collect_ports(settings().ports.items())}))


def _join_filters(parts: Sequence[CaptureBounds]) -> CaptureBounds:
    """Joins the bounds of several options; the last one of a kind wins."""
    bounds = {
        each.name: getattr(part, each.name)
        for part in parts
        for each in fields(CaptureBounds)
        if getattr(part, each.name)
    }
    return CaptureBounds(**bounds)


def _look(request: CaptureRequest, write: str | None) -> None:
    """Checks the options and reads the configuration with the rights of the user who called sudo. Raises UserError."""
    if SUDO_USER in os.environ:
        import analyzer.config.reading  # noqa: F401 (the caller of sudo may be unable to read modules)
    with impersonate_sudo_caller():
        _check(request, write)
        settings()


def _check(request: CaptureRequest, write: str | None) -> None:
    """Raises UserError for options that exclude each other, and for a file that cannot be written on any system."""
    ring, files = request.ring, request.until.files
    if request.filter:
        _check_capture_filter(request.filter)
    if ring and write is None:
        raise UserError("--ring writes a series of files. Give their name with -w, such as -w a.pcapng.")
    if ring and not (ring.packets or ring.seconds or ring.size):
        keeps = f"--ring files:{ring.files} only says how many files to keep"
        raise UserError(f"{keeps}. Say also when a new one begins, such as size:100M or duration:1h.")
    if files and not ring:
        raise UserError(
            f"-a files:{files} counts the files of a ring. Say when a new one begins, such as --ring size:100M."
        )
    if write == STDOUT:
        raise UserError("-w - would mix packets with rows. Give a file, or use tcpdump -w - or dumpcap -w -.")
    if write is not None:
        folder = os.path.dirname(write) or os.curdir
        if os.path.isdir(write) or not os.path.basename(write):
            raise UserError(f"Cannot write {write}: it is a folder. Give a file in it.")
        if not os.path.isdir(folder):
            raise UserError(f"Cannot write {write}: there is no folder {folder}. Create it, or give another one.")
        if os.path.exists(write) and not os.path.isfile(write):
            raise UserError(
                f"Cannot write {write}: it is a pipe or a device. Give a regular file, because rows are read from it."
            )


def _check_capture_filter(text: str) -> None:
    """Raises UserError for a display filter; libpcap checks the syntax later."""
    from analyzer.query.filter.capture_filter import is_display_filter  # imports the filter modules

    if is_display_filter(text):
        raise UserError(
            f"-f {text} is a display filter. Give it with -Y; -f takes a capture filter, such as 'tcp port 9092'."
        )
