"""Packets of another machine: dumpcap or tcpdump there, started through ssh.

Theory. To the capturing process, a remote interface is a dumpcap whose program is a shell script. The script starts
ssh, and ends it by closing its input. The script on the other machine ends dumpcap or tcpdump when its own input ends,
whether on request, because a process was killed, or because the connection was lost. Nothing is installed there, and
the filter runs there. ssh uses the keys and settings of the user; it asks for no password.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from analyzer.errors import CaptureError
from analyzer.live.classic_filter import LONGEST
from analyzer.live.dumpcap import DumpcapTap

CONNECT_SECONDS = 8
"""Seconds in which ssh has to connect: fewer than a program has to begin, so that ssh reports why it cannot."""

HERE = """
folder=$(mktemp -d) && mkfifo "$folder/in" || exit 1
"$@" <"$folder/in" &
running=$!
exec 5>"$folder/in"
rm -r "$folder"
trap 'exec 5>&-' TERM
wait "$running"
wait "$running"
"""
"""Runs ssh until SIGTERM, or until the process that started this script dies, which ends its input."""

THERE = """
filter={filter}
if [ -n "$SSH_CONNECTION" ]; then
  set -- $SSH_CONNECTION
  filter="${{filter:+($filter) and }}not (host ${{1%%%*}} and port $2 and host ${{3%%%*}} and port $4)"
fi
exec 4<&0
tcpdump=$(command -v tcpdump)
if command -v dumpcap >/dev/null && {{ [ -z "$tcpdump" ] || dumpcap -i {interface} -L >/dev/null 2>&1; }}; then
  set -- dumpcap -q -n {options} -f "$filter"
elif [ -n "$tcpdump" ]; then
  set -- tcpdump -U -n {options} -- "$filter"
else
  echo "tcpdump: there is no tcpdump and no dumpcap" >&2
  exit 1
fi
"$@" </dev/null 4<&- &
running=$!
{{ cat; kill -TERM "$running"; }} <&4 >/dev/null 2>&1 &
waiting=$!
wait "$running"
kill "$waiting" 2>/dev/null
"""
"""Captures on the other machine, except the packets of this connection itself, until its input ends."""

REASONS = re.compile(r"^(?:dumpcap|tcpdump): (?!listening on|verbose output|data link type)(.+)$", re.MULTILINE)
"""Matches the message of a program that cannot capture."""


@dataclass(frozen=True, slots=True)
class RemoteInterface:
    """Describes an interface of another machine: the machine's name for ssh, its port or None, and the interface."""

    host: str
    port: int | None
    interface: str

    @classmethod
    def parse(cls, uri: str) -> RemoteInterface:
        """Parses ssh://[USER@]HOST[:PORT]/INTERFACE. Raises CaptureError."""
        found = re.fullmatch(r"ssh://((?:[\w.-]+@)?(?:[\w.-]+|\[[\w:.]+\]))(?::(\d{1,5}))?/([\w.:@-]+)", uri)
        if found is None or found[1].startswith("-") or found[3].startswith("-"):
            raise CaptureError(f"{uri} is no interface of another machine. Give ssh://HOST/INTERFACE.")
        return cls(found[1], None if found[2] is None else int(found[2]), found[3])

    @property
    def name(self) -> str:
        """The name of the interface in the file."""
        return f"{self.interface}@{self.host}"

    @property
    def destination(self) -> list[str]:
        """The arguments with which ssh finds the machine."""
        port = [] if self.port is None else ["-p", str(self.port)]
        return [*port, self.host.translate({ord("["): None, ord("]"): None})]

    def build_command(self, expression: str, snaplen: int, promiscuous: bool) -> list[str]:
        """Returns the command that writes the packets of the interface to its standard output."""
        options = ["-i", self.interface, *([] if promiscuous else ["-p"]), "-s", str(snaplen or LONGEST), "-w", "-"]
        script = THERE.format(
            interface=shlex.quote(self.interface), filter=shlex.quote(expression), options=shlex.join(options)
        )
        settings = ("BatchMode=yes", "ServerAliveInterval=15", f"ConnectTimeout={CONNECT_SECONDS}")
        ssh = ["ssh", "-T", *(word for setting in settings for word in ("-o", setting)), *self.destination]
        return ["/bin/sh", "-c", HERE, "sh", *ssh, f"exec sh -c {shlex.quote(script)}"]


class SshTap(DumpcapTap):
    """Taps an interface of another machine. number: of the interface in the file. Raises CaptureError."""

    def __init__(self, number: int, uri: str, expression: str, snaplen: int, promiscuous: bool) -> None:
        self._remote = RemoteInterface.parse(uri)
        command = self._remote.build_command(expression, snaplen, promiscuous)
        super().__init__(number, self._remote.name, expression, snaplen, command=command)

    def explain(self, output: str) -> str:
        """Returns the last message of ssh, or of the program on the other machine."""
        if self._expression and ("Invalid capture filter" in output or "syntax error" in output):
            return f"-f {self._expression}: this is not a capture filter"
        lines = REASONS.findall(output) or [line.strip() for line in output.splitlines() if line.strip()]
        reason = lines[-1].strip().rstrip(".") if lines else "the connection ended"
        attempt = f"Try: ssh {' '.join(self._remote.destination)} tcpdump -c 1"
        return f"Cannot capture on {self._remote.name} by ssh: {reason}. {attempt}"
