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
from analyzer.cli.usage import HINTS
from dissectors.registry import BUILT_IN
from tests.analyzer.cli.conftest import Call
from tests.analyzer.cli.test_report import NAMES as REPORTS

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
    ("list", "No capture was given. Give FILE, or - for standard input."),
    ("stats", "No capture was given."),
    ("doctor", "No capture was given."),
    ("list kafak.pcap", "Cannot open kafak.pcap: No such file or directory. Did you mean kafka.pcap?"),
    ("list other.pcap", "Cannot open other.pcap: No such file or directory. Check the name."),
    ("list nodir/a.pcap", "Cannot open nodir/a.pcap: No such file or directory. There is no folder nodir."),
    ("list *.pcapng", "No file matches *.pcapng. Check the folder and the pattern."),
    ("list ''", "The name of a file is empty. Check that the shell variable is set."),
    ("list 7", "There is no file 7. To stop after 7 messages, give -c 7;"),
    ("list folder", "folder is a directory. Give the capture files in it, such as folder/*.pcap."),
    ("list empty.pcap", "empty.pcap is empty. No packet was captured, or the file was not written completely."),
    ("list notes.txt", "notes.txt is not a capture but text. Give a pcap or pcapng file,"),
    ("list a.zip", "a.zip is not a capture but a zip archive. Unpack it and give the capture in it."),
    ("list a.tar.gz", "a.tar.gz is not a capture but a tar archive. Unpack it"),
    ("list cut.pcap.gz", "cut.pcap.gz has no gzip data that can be decompressed. Copy it again."),
    ("list snoop.cap", "a capture of snoop. Convert it with Wireshark's editcap -F pcapng."),
    (
        "list https://example.org/a.pcap",
        "https://example.org/a.pcap: this command reads files, not URLs. Download it first.",
    ),
    ("list s3a://bucket/a.pcap", "wireanalyze pipeline, or download it first."),
    ("list file:///a.pcap", "Give the path after file://."),
    ("list kafka.pcap –Y error", "–Y begins with a long dash, as word processors write it. Type -Y instead."),
    ("show", "No capture and no NUMBER were given. Use wireanalyze show FILE NUMBER."),
    ("show 7", "No capture was given. Use wireanalyze show FILE 7."),
    ("show 7 kafka.pcap", "NUMBER comes after the files. Use wireanalyze show kafka.pcap 7."),
    ("show kafka.pcap", "No NUMBER was given. Use wireanalyze show kafka.pcap NUMBER; list prints the NUMBER."),
    ("show kafka.pcap seven", "seven is neither a NUMBER that list prints nor a file."),
    ("show kafka.pcap 0", "There is no message 0. The input has 648 messages, counted from 1."),
    ("show kafka.pcap 999999", "There is no message 999999. The input has 648 messages, counted from 1."),
    ("follow kafka.pcap", "No STREAM was given. Use wireanalyze follow kafka.pcap STREAM; list prints the STREAM."),
    ("follow 3 kafka.pcap", "STREAM comes after the files. Use wireanalyze follow kafka.pcap 3."),
    ("follow kafka.pcap 99", "There is no stream 99. The input has 37 streams, counted from 0."),
    ("report topics kafka.pcap", "There is no report and no file topics. Reports are kafka.groups,"),
    ("report kafka.pcap topics", "There is no report and no file topics. Reports are kafka.groups,"),
    ("report groups", "No capture was given. Use wireanalyze report groups FILE."),
    ("report --list none", f"There is no report none. Reports are {REPORTS}."),
    ("report --format csv kafka.pcap", f"--format csv needs the name of a report. Reports are {REPORTS}."),
    ("report upgrade --to 9.9 kafka.pcap", "Release 9.9 is unknown. Releases are 2.2, "),
    (
        "report groups --to 4.0 kafka.pcap",
        "--to is an option of the report upgrade. Use wireanalyze report upgrade --to 4.0 FILE.",
    ),
    ("follow kafka.pcap '1.1.1.1:1>2.2.2.2:2'", "There is no stream 1.1.1.1:1>2.2.2.2:2."),
]

VALUES = [
    ("list kafka.pcap -c abc", "-c/--count: Give a whole number, 0 or more, not 'abc'."),
    ("list kafka.pcap -c -1", "-c/--count: Give a whole number, 0 or more, not '-1'."),
    ("list kafka.pcap --head 1.5", "--head: Give a whole number, 0 or more, not '1.5'."),
    ("list kafka.pcap --head", "--head needs a value."),
    ("list kafka.pcap --fields=x", "--fields takes no value. Leave out = and the text after it."),
    ("list kafka.pcap --bytes-limit x", "--bytes-limit: Give a number or all, not 'x'."),
    ("list kafka.pcap --max-decompressed x", "--max-decompressed: 'x' is not a size. Give one such as 512MiB."),
    ("list kafka.pcap --memory 10", "--memory: 10 is too little. Give 256M or more, or none"),
    ("list kafka.pcap --format nonsense", "--format: 'nonsense' is not one of table, ndjson, json, csv, tsv."),
    ("list kafka.pcap --format jsonl", "Did you mean ndjson?"),
    ("list kafka.pcap --format ndjsn", "Did you mean ndjson?"),
    ("list kafka.pcap --format parquet", "wireanalyze export FILE --as parquet -o FOLDER"),
    ("doctor kafka.pcap --format parquet", "wireanalyze export FILE --as parquet -o FOLDER"),
    ("info kafka.pcap --format xml", "'xml' is not one of table, json."),
    ("list kafka.pcap --json --format csv", "--json means --format ndjson,"),
    ("list kafka.pcap --time-format epch", "Did you mean epoch?"),
    ("list kafka.pcap --reader wireshark", "--reader: 'wireshark' is not one of native, scapy."),
    ("list kafka.pcap -d nonsense", "-d: 'nonsense' is not PORT=PROTOCOL,"),
    ("list kafka.pcap -d 9092=http", "-d: There is no protocol 'http'. Give one of kafka,"),
    ("list kafka.pcap -d 99999=kafka", "-d: '99999' is neither a port nor a stream. Give PORT=PROTOCOL,"),
    ("list kafka.pcap -e nonsense", "-e nonsense: There is no field nonsense. wireanalyze fields lists all fields."),
    ("list kafka.pcap -e ''", "-e is empty. Give a key or field, such as -e latency."),
    ("list kafka.pcap --columns nonsense", "There is no such set of columns. Give one of default, wide,"),
    ("list kafka.pcap --sort nonsense", "--sort nonsense: There is no field nonsense."),
    ("stats kafka.pcap --top 0", "--top: Give a whole number, 1 or more, not '0'."),
    ("stats kafka.pcap --by time --interval 5", "Give one with its unit, such as 500ms, 1s or 5m."),
    ("stats kafka.pcap --interval 5s", "needs --by time. Add it, or leave out --interval."),
    (
        "stats kafka.pcap --by topic --sort latency",
        "--sort latency is neither a key of --by nor a figure. Give one of topic,",
    ),
    ("doctor kafka.pcap --fail-on eror", "--fail-on does not know 'eror'. Did you mean error?"),
    ("protocols kafka Fetch x", "VERSION: Give a whole number, 0 or more, not 'x'."),
    ("protocols kafka Nosuch", "'Nosuch'. wireanalyze protocols kafka lists the operations."),
    ("list kafka.pcap -d 9092", "'9092' is not PORT=PROTOCOL, FIRST-LAST=PROTOCOL, stream==NUMBER,PROTOCOL or CLIENT>"),
    ("list kafka.pcap -e latensy", "-e latensy: There is no field latensy. Did you mean latency"),
    ("list kafka.pcap -e kafka.topc", "Did you mean kafka.topic"),
    ("list kafka.pcap -e kafka", "-e kafka: This is a protocol. Give one of"),
    ("list kafka.pcap --columns kafak", "--columns kafak: There is no such set of columns. Did you mean kafka?"),
    ("list kafka.pcap --sort fields", "--sort fields: This is a structure."),
    ("list kafka.pcap --head -1", "--head: Give a whole number, 0 or more, not '-1'."),
    ("list kafka.pcap --time-format utc", "--time-format: 'utc' is not one of iso, relative,"),
    ("stats kafka.pcap --by nonsense", "no field nonsense"),
    ("stats kafka.pcap --by client,client", "twice"),
    ("stats kafka.pcap --by ,", "--by is empty"),
    ("stats kafka.pcap --by kafka", "is a protocol"),
    ("stats kafka.pcap --by kafka.Fetch.request.topics", "its fields; wireanalyze"),
    ("stats kafka.pcap --by client --endpoints", "different views"),
    ("stats kafka.pcap --by time --interval soon", "'soon' is not a duration."),
    ("stats kafka.pcap --by time --interval 0s", "'0s' is not a duration."),
    ("stats kafka.pcap --sort bytes", "--by"),
    ("stats kafka.pcap --by topic --sort paths", "neither a key of --by nor a figure. Give one of topic, messages"),
    ("stats kafka.pcap --top 3", "--top needs --by, --conversations or --endpoints."),
    ("stats kafka.pcap --by error --no-errors", "--no-errors"),
    ("protocols kafak", f"no protocol 'kafak'. Give one of {', '.join(BUILT_IN)}, or findings."),
    ("protocols kafak Fetch", "no protocol 'kafak'."),
    ("protocols kafka Fecth", "Did you mean Fetch?"),
    ("protocols kafka Fetch 77", "Fetch has no version 77. It has 0-18."),
    ("protocols zookeeper getData 1", "getData has no versions"),
    ("protocols rocketmq-ha REPORT", "rocketmq-ha has only a list of operations. Leave out REPORT."),
    ("completion tcsh", "SHELL: 'tcsh' is not one of bash, zsh, fish."),
    ("completion", "completion needs SHELL: bash, zsh, fish"),
    ("config x", "config has no command x. Its commands are path, show."),
]

OPTIONS = [
    ("list kafka.pcap --filer x", "list has no option --filer. Did you mean --filter?"),
    ("list kafka.pcap --colum x", "list has no option --colum. Did you mean --columns or --count?"),
    ("list kafka.pcap --color always", "list has no option --color. It is an option of follow, show, decode, diagram."),
    ("list kafka.pcap --config a.toml", "--config. Write it before the command: wireanalyze --config ... list"),
    ("list kafka.pcap --nope", "list has no option --nope. See wireanalyze list --help."),
    ("list kafka.pcap -V", "wireanalyze show FILE NUMBER prints one message field by field"),
    ("list kafka.pcap -z io,stat,1", "wireanalyze stats FILE --by time --interval 1s"),
    ("-D", "wireanalyze interfaces lists the interfaces"),
    ("sniff -r kafka.pcap", "wireanalyze list FILE and wireanalyze open FILE read a capture"),
    ("sniff kafka.pcap", "sniff does not take kafka.pcap. It captures on an interface (-i IF)."),
    ("interfaces eth0", "interfaces does not take eth0. To capture on an interface, use wireanalyze sniff -i NAME."),
    ("lits kafka.pcap", "lits is neither a command nor a file. Did you mean list?"),
    ("kafka", "Did you mean protocols?"),
    ("--config", "--config needs a value."),
    ("--config none.toml list kafka.pcap", "There is no configuration file none.toml:"),
    ("--config folder list kafka.pcap", "the configuration file folder: Is a directory. Give another"),
    ("--config bad.toml list kafka.pcap", "bad.toml, last line: this is not TOML: "),
    ("--config key.toml list kafka.pcap", "key.toml, line 2: There is no key list.nmes. Did you mean names?"),
    ("--config top.toml list kafka.pcap", "top.toml, line 1: There is no table 'names'. Did you mean names in the"),
]

FILTERS = [
    ("tcp port 9092", "this is a capture filter, as sniff -f takes it. The display filter is tcp.port == 9092."),
    ("tcp and dst port 9092", "The display filter is tcp.dstport == 9092."),
    ("host 10.0.0.1 and not port 22", "The display filter is ip.addr == 10.0.0.1 and not tcp.port == 22."),
    ("client contains port 3", "expected and, or, or the end, found 3"),
    ("net 10.0.0.0/8", "The display filter is ip.addr == 10.0.0.0/8."),
    ("operation = Fetch", "found =. Did you mean ==?"),
    ("operation == “Fetch”", "this is a quotation mark of word processors: write \" or '"),
    ("opration == Fetch", "There is no field opration. Did you mean operation"),
    ("role == reqest", "role is one of request, response, oneway, push, raw. Did you mean request?"),
    ("latency > abc", "latency is a duration. Write a number, such as 50ms or 1.5s."),
    ("(operation == Fetch", "expected a closing parenthesis, found the end"),
    ("operation == 'Fetch", "the closing quote is missing"),
    ("", "it is empty. Write a field or a comparison, such as error or latency > 50ms."),
    ("kafka &&", "expected a field, found the end"),
]

OUTPUTS = [
    ("export kafka.pcap", "export needs -o OUT: the file or folder to write; - is standard output"),
    ("export kafka.pcap -o out", "The name out does not show the format of the export. Add --as ndjson,"),
    ("export kafka.pcap -o out --as cvs", "--as/--format: 'cvs' is not one of ndjson, json, csv,"),
    ("pipeline", "pipeline needs SOURCE..."),
    ("pipeline kafka.pcap", "pipeline needs -o DIR: the folder for the tables"),
    ("pipeline kafka.pcap -o out --settle x", "--settle: Give seconds, 0 or more, such as 2.5, not 'x'."),
    ("sniff", "sniff needs a terminal for keys, screen and errors. Use --headless to print rows instead."),
    ("sniff --headless -f 'kafka.topic == a'", "it with -Y; -f takes a capture filter, such as 'tcp port 9092'."),
    ("sniff --headless -f 'latency > 50ms'", "50ms is a display filter. Give it with -Y; -f takes"),
    ("decode", "decode needs HEX..."),
    ("decode 00ffa", "line 1, column 5: 'a' is half a byte, hex digits come in pairs"),
    ("decode kafka.pcap", "kafka.pcap is a file. Use wireanalyze decode @kafka.pcap for hex or bytes, or wireanalyze"),
    ("decode @kafka.pcap", "kafka.pcap is a capture, but decode reads messages. Use wireanalyze list kafka.pcap."),
    ("decode @other", "Cannot read other: No such file or directory. Give a file after @."),
    (f"decode {HEX} --api Fetch", "--api describes the request that a response answers. Give --response, too."),
    (
        f"decode {HEX} --version 3",
        "--version describes the request that a response answers. Give --response --api NAME, too.",
    ),
    (f"decode {HEX} --response --api Nope -p kafka", "kafka has no operation 'Nope'. wireanalyze protocols"),
    (f"decode {HEX} -p nope", "no protocol 'nope'. Give one of kafka,"),
    (f"decode {HEX} --response --api 3", "Give --version N, too."),
    (f"decode {HEX} --response --version 3", "Give --response --api NAME, too."),
    (f"decode {HEX} --max-items x", "--max-items: Give a number or all, not 'x'."),
    ("decode zz", "the input is not hex: line 1, column 1: 'z'"),
    (f"decode {HEX} --request --response", "--request and --response exclude each other. Give one of them, or none."),
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
    check(call("list", "kafka.pcap", "-Y", "operation", "==", "Fetch"), "filter in quotes: -Y 'operation == Fetch'.")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read(desk: Path, call: Call) -> None:
    (desk / "kafka.pcap").chmod(0)
    check(call("list", "kafka.pcap"), "cannot open kafka.pcap: Permission denied; check the name and its permissions")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is asked for an interface before it is asked for rights")
def test_an_interface_that_is_not_there(call: Call) -> None:
    done = call("sniff", "--headless", "-Z", "root", "-i", "nosuch0")
    check(done, "There is no interface nosuch0. Interfaces are ")


@pytest.mark.parametrize("option", [each for each in HINTS if len(each) == 2])
def test_every_short_option_of_tshark_has_its_hint(option: str, call: Call) -> None:
    """Asked of the command that has no short options."""
    assert call("interfaces", option) == (2, "", f"wireanalyze: interfaces has no option {option}. {HINTS[option]}\n")


def test_hints_name_commands_that_there_are() -> None:
    named = {hint.split("wireanalyze ")[1].split()[0] for hint in HINTS.values() if "wireanalyze " in hint}
    assert {each.rstrip(".,;:") for each in named} <= {*COMMANDS, "--version"}


def check(done: tuple[int, str, str], text: str) -> None:
    status, printed, output = done
    assert (status, printed, output.count("\n")) == (2, "", 1)
    assert output.startswith("wireanalyze: ")
    assert text in output
    assert not any(each in output for each in CLICK)
