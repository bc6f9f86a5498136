"""What the program says of mistakes that newcomers make: what is wrong, where, and what to do."""

from __future__ import annotations

import gzip
import io
import os
import shlex
import tarfile
import zipfile
from pathlib import Path

import pytest

from analyzer.cli.program import COMMANDS
from analyzer.cli.tshark_options import HINTS
from tests.analyzer.cli.conftest import Call

CAPTURE = (Path(__file__).parents[3] / "captures" / "kafka.pcap").read_bytes()
HEX = "0000000e00120000000000010004" + "61626364"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the mistakes are made."""
    monkeypatch.chdir(tmp_path)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        info = tarfile.TarInfo("kafka.pcap")
        info.size = 5000
        archive.addfile(info, io.BytesIO(CAPTURE[:5000]))
    with zipfile.ZipFile("a.zip", "w") as zipped:
        zipped.writestr("kafka.pcap", CAPTURE[:5000])
    contents = {
        "kafka.pcap": CAPTURE,
        "empty.pcap": b"",
        "notes.txt": b"port 9092 was slow\n",
        "a.tar.gz": packed.getvalue(),
        "cut.pcap.gz": gzip.compress(CAPTURE, 1)[:30],
        "snoop.cap": b"snoop\0\0\0\0\0\0\2" + bytes(32),
        "bad.toml": b"list = [",
        "key.toml": b"[list]\nnmes = true\n",
        "top.toml": b"names = true\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    return tmp_path


FILES = [
    ("list", "no capture was named: give FILE, or - for standard input"),
    ("stats", "no capture was named"),
    ("doctor", "no capture was named"),
    ("list kafak.pcap", "cannot open kafak.pcap: No such file or directory; did you mean kafka.pcap?"),
    ("list other.pcap", "cannot open other.pcap: No such file or directory; check the name"),
    ("list nodir/a.pcap", "cannot open nodir/a.pcap: No such file or directory; there is no folder nodir"),
    ("list *.pcapng", "no file matches *.pcapng: check the folder and the pattern"),
    ("list ''", "the name of a file is empty: check whether a variable of the shell is set"),
    ("list 7", "there is no file 7: a number of messages stands behind an option, such as -c 7"),
    ("list folder", "folder is a directory: name the capture files in it, such as folder/*.pcap"),
    ("list empty.pcap", "empty.pcap is empty: no packet was captured, or it was not written to the end"),
    ("list notes.txt", "notes.txt is not a capture but text: give a pcap or pcapng file"),
    ("list a.zip", "a.zip is not a capture but a zip archive: unpack it and name the capture in it"),
    ("list a.tar.gz", "a.tar.gz is not a capture but a tar archive: unpack it"),
    ("list cut.pcap.gz", "cut.pcap.gz holds no gzip data that can be unpacked: copy it again"),
    ("list snoop.cap", "a capture of snoop: editcap -F pcapng of Wireshark converts it"),
    ("list https://example.org/a.pcap", "it is a URL, and this command reads files: download it first"),
    ("list s3a://bucket/a.pcap", "wireanalyze pipeline reads it, or download it first"),
    ("list file:///a.pcap", "name the path behind file://"),
    ("list kafka.pcap –Y error", "–Y begins with a long dash, as word processors write it: type -Y"),
    ("show", "no capture and no NUMBER were named: wireanalyze show FILE NUMBER"),
    ("show 7", "no capture was named: wireanalyze show FILE 7"),
    ("show 7 kafka.pcap", "NUMBER stands behind the files: wireanalyze show kafka.pcap 7"),
    ("show kafka.pcap", "no NUMBER was named: wireanalyze show kafka.pcap NUMBER, as list prints it"),
    ("show kafka.pcap seven", "seven is not a NUMBER as list prints it, and not a file"),
    ("show kafka.pcap 0", "there is no message 0: the input has 648, counted from 1"),
    ("show kafka.pcap 999999", "there is no message 999999: the input has 648, counted from 1"),
    ("follow kafka.pcap", "no STREAM was named: wireanalyze follow kafka.pcap STREAM, as list prints it"),
    ("follow 3 kafka.pcap", "STREAM stands behind the files: wireanalyze follow kafka.pcap 3"),
    ("follow kafka.pcap 99", "there is no stream 99: the input has 37 streams, counted from 0"),
    ("report topics kafka.pcap", "topics: there is no such report, and no such file; reports are kafka.groups,"),
    ("report kafka.pcap topics", "topics: there is no such report, and no such file; reports are kafka.groups,"),
    ("report groups", "no capture was named: wireanalyze report groups FILE"),
]

VALUES = [
    ("list kafka.pcap -c abc", "-c/--count: give a whole number, 0 or more, not 'abc'"),
    ("list kafka.pcap -c -1", "-c/--count: give a whole number, 0 or more, not '-1'"),
    ("list kafka.pcap --head 1.5", "--head: give a whole number, 0 or more, not '1.5'"),
    ("list kafka.pcap --head", "--head needs a value behind it"),
    ("list kafka.pcap --fields=x", "--fields takes no value: leave out = and what stands behind it"),
    ("list kafka.pcap --bytes-limit x", "--bytes-limit: give a number or all, not 'x'"),
    ("list kafka.pcap --max-decompressed x", "--max-decompressed: 'x' is not a size: give one such as 512MiB"),
    ("list kafka.pcap --memory 10", "--memory: 10 is too little: give 256M or more, or none"),
    ("list kafka.pcap --format nonsense", "--format: 'nonsense' is none of table, ndjson, json, csv, tsv"),
    ("list kafka.pcap --format jsonl", "did you mean ndjson?"),
    ("list kafka.pcap --json --format csv", "drop one"),
    ("list kafka.pcap --time-format epch", "did you mean epoch?"),
    ("list kafka.pcap --reader wireshark", "--reader: 'wireshark' is none of native, scapy"),
    ("list kafka.pcap -d nonsense", "-d: 'nonsense' is not PORT=PROTOCOL,"),
    ("list kafka.pcap -d 9092=http", "-d: no protocol is called 'http'; there are kafka,"),
    ("list kafka.pcap -d 99999=kafka", "-d: '99999' names no port and no stream; give PORT=PROTOCOL"),
    ("list kafka.pcap -e nonsense", "-e nonsense: there is no field nonsense; wireanalyze fields lists them"),
    ("list kafka.pcap -e ''", "-e names nothing: give a key or field, such as -e latency"),
    ("list kafka.pcap --columns nonsense", "there is no such set of columns; there are default, wide,"),
    ("list kafka.pcap --sort nonsense", "--sort nonsense: there is no field nonsense"),
    ("stats kafka.pcap --top 0", "--top: give a whole number, 1 or more, not '0'"),
    ("stats kafka.pcap --by time --interval 5", "give one with its unit, such as 500ms, 1s or 5m"),
    ("stats kafka.pcap --interval 5s", "add --by time, or leave it out"),
    (
        "stats kafka.pcap --by topic --sort latency",
        "--sort latency: that is neither a figure nor a key of --by; there are topic,",
    ),
    ("doctor kafka.pcap --fail-on eror", "--fail-on: 'eror' is none of note, warning, error; did you mean error?"),
    ("protocols kafka Fetch x", "VERSION: give a whole number, 0 or more, not 'x'"),
    ("protocols kafka Nosuch", "; wireanalyze protocols kafka lists operations"),
    ("completion tcsh", "SHELL: 'tcsh' is none of bash, zsh, fish"),
    ("completion", "completion needs SHELL: bash, zsh, fish"),
    ("config x", "config has no command x; there are path, show"),
]

OPTIONS = [
    ("list kafka.pcap --filer x", "list has no option --filer; did you mean --filter?"),
    ("list kafka.pcap --colum x", "list has no option --colum; did you mean --columns"),
    ("list kafka.pcap --color always", "list has no option --color; follow, show, decode have it"),
    ("list kafka.pcap --config a.toml", "it stands before the command, wireanalyze --config ... list"),
    ("list kafka.pcap --nope", "list has no option --nope; see wireanalyze list --help"),
    ("list kafka.pcap -V", "wireanalyze show FILE NUMBER prints one message field by field"),
    ("list kafka.pcap -z io,stat,1", "wireanalyze stats FILE --by time --interval 1s"),
    ("-D", "wireanalyze interfaces lists the interfaces"),
    ("sniff -r kafka.pcap", "wireanalyze list FILE and wireanalyze open FILE read a capture"),
    ("sniff kafka.pcap", "sniff does not take kafka.pcap: it reads an interface (-i IF)"),
    ("interfaces eth0", "interfaces does not take eth0: wireanalyze sniff -i NAME captures on one of them"),
    ("lits kafka.pcap", "lits is neither a command nor a file; did you mean list?"),
    ("kafka", "did you mean protocols?"),
    ("--config", "--config needs a value behind it"),
    ("--config none.toml list kafka.pcap", "there is no configuration none.toml"),
    ("--config folder list kafka.pcap", "the configuration folder can't be read: Is a directory; name another"),
    ("--config bad.toml list kafka.pcap", "bad.toml, at its end: this is not TOML: "),
    ("--config key.toml list kafka.pcap", "key.toml, line 2: there is no key list.nmes; did you mean names?"),
    (
        "--config top.toml list kafka.pcap",
        "top.toml, line 1: there is no table 'names'; did you mean names, which",
    ),
]

FILTERS = [
    ("tcp port 9092", "this is a capture filter, as sniff -f takes it; the display filter is tcp.port == 9092"),
    ("tcp and dst port 9092", "the display filter is tcp.dstport == 9092"),
    ("host 10.0.0.1 and not port 22", "the display filter is ip.addr == 10.0.0.1 and not tcp.port == 22"),
    ("client contains port 3", "expected and, or, or the end, found 3"),
    ("net 10.0.0.0/8", "the display filter is ip.addr == 10.0.0.0/8"),
    ("operation = Fetch", "found =; did you mean ==?"),
    ("operation == “Fetch”", "this is a quotation mark of word processors: write \" or '"),
    ("opration == Fetch", "there is no field opration; did you mean operation"),
    ("role == reqest", "role is one of request, response, oneway, push, raw; did you mean request?"),
    ("latency > abc", "latency is a duration: expected a number, as 50ms or 1.5s"),
    ("(operation == Fetch", "expected a closing parenthesis, found the end"),
    ("operation == 'Fetch", "the closing quote is missing"),
    ("", "it is empty: write a field, as in error or latency > 50ms"),
    ("kafka &&", "expected a field, found the end"),
]

OUTPUTS = [
    ("export kafka.pcap", "export needs -o OUT: the file or folder to write; - is standard output"),
    ("export kafka.pcap -o out", "the end of out does not say the form of the export: add --as ndjson,"),
    ("export kafka.pcap -o out --as cvs", "--as/--format: 'cvs' is none of ndjson, json, csv,"),
    ("export kafka.pcap -o notes.txt --as csv", "notes.txt is there already: name another, or give --force"),
    ("export kafka.pcap -o nodir/out.csv", "cannot write nodir/out.csv: there is no folder nodir"),
    ("export kafka.pcap -o folder --as csv", "folder is a folder: name a file"),
    ("export kafka.pcap -o x.csv --table messages", "--table is for parquet, and this is to be csv: leave it out"),
    ("export kafka.pcap -o x.bin --as stream --stream 99", "there is no stream 99: the input has 37 streams"),
    ("pipeline", "pipeline needs SOURCE..."),
    ("pipeline kafka.pcap", "pipeline needs -o DIR: the folder for the tables"),
    ("pipeline kafka.pcap -o out --settle x", "--settle: give seconds, 0 or more, such as 2.5, not 'x'"),
    ("sniff", "sniff needs a terminal for keys, screen and errors: say --headless to print rows instead"),
    ("sniff --headless -w folder", "cannot write folder: it is a folder; name a file in it"),
    ("sniff --headless -w nodir/a.pcapng", "there is no folder nodir; make it, or name another one"),
    ("sniff --headless -c 0", "-c/--count: give a whole number, 1 or more, not '0'"),
    ("sniff --headless -f 'kafka.topic == a'", "which -Y takes; -f takes a capture filter: tcp port 9092"),
    ("sniff --headless -f 'latency > 50ms'", "this is a display filter, which -Y takes"),
    ("decode", "decode needs HEX..."),
    ("decode 00ffa", "line 1, column 5: 'a' is half a byte, hex digits come in pairs"),
    ("decode kafka.pcap", "kafka.pcap is a file: wireanalyze decode @kafka.pcap reads hex or bytes from it"),
    ("decode @kafka.pcap", "kafka.pcap is a capture, and decode reads a message: wireanalyze list kafka.pcap reads it"),
    ("decode @other", "cannot read other: No such file or directory; name a file behind @"),
    (f"decode {HEX} --api Fetch", "--api says what a response answers: give --response too"),
    (f"decode {HEX} --version 3", "--version says the version of --api NAME: give --response --api NAME too"),
    (
        f"decode {HEX} --response --api Nope -p kafka",
        "kafka has no operation 'Nope'; wireanalyze protocols",
    ),
    (f"decode {HEX} -p nope", "no protocol is called 'nope'; there are kafka,"),
    (f"decode {HEX} --request --response", "--request and --response exclude each other: give one of them, or none"),
]

CLICK = (
    "invalid value for",
    "Invalid value for",
    "valid integer",
    "in the range",
    "Option '",
    "Error:",
    "Usage:",
    "nobody",
)
"""Words that click would say."""


@pytest.mark.parametrize(("line", "text"), [*FILES, *VALUES, *OPTIONS, *OUTPUTS])
@pytest.mark.usefixtures("desk")
def test_a_mistake_has_one_sentence(line: str, text: str, call: Call) -> None:
    check(call(*shlex.split(line)), text)


@pytest.mark.parametrize(("text", "said"), FILTERS)
@pytest.mark.usefixtures("desk")
def test_a_wrong_filter_has_one_sentence(text: str, said: str, call: Call) -> None:
    check(call("list", "kafka.pcap", "-Y", text), said)


@pytest.mark.usefixtures("desk")
def test_a_filter_without_quotes(call: Call) -> None:
    check(
        call("list", "kafka.pcap", "-Y", "operation", "==", "Fetch"),
        "stands in quotes, such as -Y 'operation == Fetch'",
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read(desk: Path, call: Call) -> None:
    (desk / "kafka.pcap").chmod(0)
    check(call("list", "kafka.pcap"), "cannot open kafka.pcap: Permission denied; check the name and its permissions")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is asked for an interface before it is asked for rights")
def test_an_interface_that_is_not_there(call: Call) -> None:
    done = call("sniff", "--headless", "-Z", "nobody", "-i", "nosuch0")
    check(done, "there is no interface nosuch0: there are ")


@pytest.mark.parametrize("option", [each for each in HINTS if len(each) == 2])
def test_every_short_option_of_tshark_has_its_hint(option: str, call: Call) -> None:
    """Asked of the command that has no short options."""
    assert call("interfaces", option) == (2, "", f"wireanalyze: interfaces has no option {option}: {HINTS[option]}\n")


def test_hints_name_commands_that_there_are() -> None:
    named = {hint.split("wireanalyze ")[1].split()[0] for hint in HINTS.values() if "wireanalyze " in hint}
    assert {each.rstrip(",;:") for each in named} <= {*COMMANDS, "--version"}


def check(done: tuple[int, str, str], text: str) -> None:
    status, printed, said = done
    assert (status, printed, said.count("\n")) == (2, "", 1)
    assert said.startswith("wireanalyze: ")
    assert text in said
    assert not any(each in said for each in CLICK)
