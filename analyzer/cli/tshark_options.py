"""Options that people know from other programs and that a command does not have: what serves the same purpose here."""

from __future__ import annotations

from collections.abc import Mapping

_BODIES = (
    "wireanalyze show FILE NUMBER prints one message field by field; list --format ndjson --fields prints every body."
)
_BYTES = (
    "wireanalyze show FILE NUMBER prints the bytes of a message; wireanalyze follow FILE STREAM --as hex prints"
    " those of a connection."
)
_TIME = "--time-format iso, relative, delta or epoch chooses how times are printed."
_FIELDS = "-e FIELD chooses the columns; --fields adds the decoded bodies."
_FILTER = "-Y FILTER is the display filter, and one pass is enough for it."
_WRITE = (
    "wireanalyze export FILE -o OUT.pcapng writes packets to a file; wireanalyze sniff -w OUT.pcapng captures to one."
)
_CAPTURE = "wireanalyze sniff captures on an interface."
_SEPARATOR = "--format csv and --format tsv separate fields and print a header."
_LIVE = "Leave it out: rows from a pipe are printed as they come."
_CONFIGURED = "wireanalyze config path prints where settings are."
_STATISTICS = (
    "Instead of -z io,stat use wireanalyze stats FILE --by time --interval 1s; for conv and endpoints stats"
    " --conversations and --endpoints; for follow wireanalyze follow FILE STREAM; for expert wireanalyze doctor FILE."
)
_NAMES = "Host names are shown if the capture has them; -n leaves them out."
_HEAD = "--head N prints the first N rows; -c N stops reading after N messages."
_BROKER = "This program reads captures and never connects to a broker. wireanalyze sniff captures the traffic of one."

HINTS: Mapping[str, str] = {
    "-V": _BODIES,
    "-O": f"{_BODIES} -Y PROTOCOL selects the messages of a protocol.",
    "-x": _BYTES,
    "-X": _BYTES,
    "--hexdump": _BYTES,
    "-A": "wireanalyze follow FILE STREAM --as raw prints the bytes of a connection.",
    "-P": "Leave it out: list always prints a line for each message.",
    "-z": _STATISTICS,
    "-q": "Leave it out: list prints only rows; stats, doctor and report print none.",
    "--quiet": "Leave it out: list prints only rows; stats, doctor and report print none.",
    "-w": _WRITE,
    "-F": "wireanalyze export chooses the format by --as or by the name of the file.",
    "-E": _SEPARATOR,
    "-S": _SEPARATOR,
    "-o": f"{_WRITE} {_CONFIGURED}",
    "--output": "wireanalyze export FILE -o OUT writes to a file, and so does > OUT in the shell.",
    "-C": _CONFIGURED,
    "-R": _FILTER,
    "-2": _FILTER,
    "--read-filter": _FILTER,
    "--display-filter": _FILTER,
    "--where": _FILTER,
    "--query": _FILTER,
    "--grep": "-Y 'info contains WORD' selects messages by their line; -Y can compare any field.",
    "-t": _TIME,
    "-u": _TIME,
    "-D": "wireanalyze interfaces lists the interfaces.",
    "--list-interfaces": "wireanalyze interfaces lists the interfaces.",
    "-L": "wireanalyze interfaces lists the link types.",
    "-G": "wireanalyze fields lists the fields; wireanalyze protocols lists the protocols.",
    "-j": _FIELDS,
    "-J": _FIELDS,
    "-i": _CAPTURE,
    "-r": "wireanalyze list FILE and wireanalyze open FILE read a capture.",
    "--read": "wireanalyze list FILE and wireanalyze open FILE read a capture.",
    "-f": "-f is the capture filter of wireanalyze sniff. For a file, -Y FILTER selects messages.",
    "-a": _CAPTURE,
    "-b": _CAPTURE,
    "-B": _CAPTURE,
    "-p": _CAPTURE,
    "-s": _CAPTURE,
    "-I": "Monitor mode of wireless interfaces is not supported.",
    "-l": _LIVE,
    "-U": _LIVE,
    "-N": _NAMES,
    "-H": _NAMES,
    "-K": "Kerberos is not decrypted. --keylog FILE decrypts TLS.",
    "--keylog-file": "--keylog FILE decrypts TLS.",
    "-W": "Leave it out: comments and names of a pcapng file are always read.",
    "-g": "Leave it out: your umask decides the permissions of a file.",
    "-y": "Leave it out: the interface decides the link type.",
    "-v": "wireanalyze --version prints the version.",
    "--export-objects": "wireanalyze export FILE -o FOLDER --as objects writes the payloads of messages.",
    "--limit": _HEAD,
    "--max-messages": _HEAD,
    "--first": _HEAD,
    "--last": "--tail N prints the last N rows.",
    "--skip": "-Y 'number > N' leaves out the first N messages.",
    "--topic": "-Y 'topic == NAME' selects the messages of a topic.",
    "--group": "-Y 'group == NAME' selects the messages of a group.",
    "--host": "-Y 'ip.addr == ADDRESS' selects the messages of a host.",
    "--port": "-Y 'tcp.port == PORT' selects the messages of a port; -d PORT=PROTOCOL says how to decode it.",
    "--bootstrap-server": _BROKER,
    "--bootstrap-servers": _BROKER,
    "--zookeeper": _BROKER,
    "--from-beginning": "Leave it out: a capture is always read from its beginning.",
}
"""By option. Only options that a command does not have are looked up, so one command may have what another lacks."""
