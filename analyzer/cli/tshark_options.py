"""Options that people know from other programs and that a command does not have: what serves the same purpose here."""

from __future__ import annotations

from collections.abc import Mapping

_BODIES = "wireanalyze show FILE NUMBER prints one message field by field, list --format ndjson --fields every body"
_BYTES = "wireanalyze show FILE NUMBER prints the bytes of a message, follow FILE STREAM --as hex those of a connection"
_TIME = "--time-format iso, relative, delta or epoch says how times are printed"
_FIELDS = "-e FIELD chooses what is printed, --fields adds the decoded bodies"
_FILTER = "-Y FILTER is the display filter, and one pass is enough for it"
_WRITE = "wireanalyze export FILE -o OUT.pcapng writes packets to a file, sniff -w OUT.pcapng captures to one"
_CAPTURE = "wireanalyze sniff captures, this command reads files"
_SEPARATOR = "--format csv and --format tsv separate fields and print a header"
_LIVE = "rows from a pipe are printed as they come: leave the option out"
_CONFIGURED = "wireanalyze config path says where settings are"
_STATISTICS = (
    "for -z io,stat there is wireanalyze stats FILE --by time --interval 1s, for conv and endpoints there are"
    " stats --conversations and --endpoints, for follow there is wireanalyze follow FILE STREAM, for expert doctor FILE"
)
_NAMES = "names of hosts are shown where the capture has them, and -n leaves them out"
_HEAD = "--head N prints the first N rows, -c N stops reading after N messages"
_BROKER = "this program reads captures and never asks a broker; wireanalyze sniff captures the traffic of one"

HINTS: Mapping[str, str] = {
    "-V": _BODIES,
    "-O": f"{_BODIES}; -Y kafka chooses a protocol",
    "-x": _BYTES,
    "-X": _BYTES,
    "--hexdump": _BYTES,
    "-A": "wireanalyze follow FILE STREAM --as raw prints the bytes of a connection as they are",
    "-P": "list prints a line for each message by itself: leave the option out",
    "-z": _STATISTICS,
    "-q": "list prints rows alone, stats, doctor and report have no rows: leave the option out",
    "--quiet": "list prints rows alone, stats, doctor and report have no rows: leave the option out",
    "-w": _WRITE,
    "-F": "wireanalyze export writes pcapng, and the form is said by --as or by the end of the name",
    "-E": _SEPARATOR,
    "-S": _SEPARATOR,
    "-o": f"{_WRITE}, and {_CONFIGURED}",
    "--output": "wireanalyze export FILE -o OUT writes to a file, and the shell does with > OUT",
    "-C": _CONFIGURED,
    "-R": _FILTER,
    "-2": _FILTER,
    "--read-filter": _FILTER,
    "--display-filter": _FILTER,
    "--where": _FILTER,
    "--query": _FILTER,
    "--grep": "-Y 'info contains WORD' chooses messages by their line, and -Y by any field",
    "-t": _TIME,
    "-u": _TIME,
    "-D": "wireanalyze interfaces lists the interfaces",
    "--list-interfaces": "wireanalyze interfaces lists the interfaces",
    "-L": "wireanalyze interfaces lists the link types",
    "-G": "wireanalyze fields lists the fields, wireanalyze protocols the protocols",
    "-j": _FIELDS,
    "-J": _FIELDS,
    "-i": _CAPTURE,
    "-r": "wireanalyze list FILE and wireanalyze open FILE read a capture",
    "--read": "wireanalyze list FILE and wireanalyze open FILE read a capture",
    "-f": "-f is the capture filter of wireanalyze sniff; of a file -Y FILTER chooses messages",
    "-a": _CAPTURE,
    "-b": _CAPTURE,
    "-B": _CAPTURE,
    "-p": _CAPTURE,
    "-s": _CAPTURE,
    "-I": "monitor mode of wireless interfaces is not supported",
    "-l": _LIVE,
    "-U": _LIVE,
    "-N": _NAMES,
    "-H": _NAMES,
    "-K": "encrypted connections are not decrypted: capture on a listener without encryption",
    "-W": "comments and names of a pcapng are read without it: leave the option out",
    "-g": "the permissions of a file are those of your umask: leave the option out",
    "-y": "the link type is that of the interface: leave the option out",
    "-v": "wireanalyze --version prints the version",
    "--export-objects": "wireanalyze export FILE -o FOLDER --as objects writes what messages carry",
    "--limit": _HEAD,
    "--max-messages": _HEAD,
    "--first": _HEAD,
    "--last": "--tail N prints the last N rows",
    "--skip": "-Y 'number > N' leaves out the first N messages",
    "--topic": "-Y 'topic == NAME' chooses the messages of a topic",
    "--group": "-Y 'group == NAME' chooses the messages of a group",
    "--host": "-Y 'ip.addr == ADDRESS' chooses the messages of a host",
    "--port": "-Y 'tcp.port == PORT' chooses the messages of a port, -d PORT=kafka says what is spoken there",
    "--bootstrap-server": _BROKER,
    "--bootstrap-servers": _BROKER,
    "--zookeeper": _BROKER,
    "--from-beginning": "a capture is read from its beginning: leave the option out",
}
"""By option. Only options that a command does not have are looked up, so one command may have what another lacks."""
