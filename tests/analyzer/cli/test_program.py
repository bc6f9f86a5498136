"""The program around the commands."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import termios
import time

import click
import pytest

from analyzer.cli import program as module
from analyzer.cli.program import COMMANDS, run
from analyzer.errors import UserError
from tests.waiting import until


def call(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "analyzer.cli", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **environment}
    )


def loaded_by(code: str) -> set[str]:
    """The modules that a fresh interpreter has imported after `code`."""
    code = f"import sys\n{code}\nprint('LOADED', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    return set(done.stdout.rpartition("LOADED")[2].split())


HEAVY = {"textual", "pyspark", "numpy", "scapy", "scapy.all", "rich", "pyarrow", "analyzer.capture", "analyzer.session"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["decode", "0000000e00120000000000010004" + "61626364"],
        ["decode", "0000000e00120000000000010004" + "61626364", "--json"],
        ["protocols"],
        ["--help"],
        ["completion", "zsh"],
    ],
)
def test_a_command_imports_only_what_it_needs(arguments: list[str]) -> None:
    loaded = loaded_by(f"from analyzer.cli.program import run\nrun({arguments!r})")
    assert not loaded & HEAVY


def test_reading_a_capture_imports_no_masked_arrays() -> None:
    commands = "; ".join(f"run([{name!r}, 'captures/kafka.pcap'])" for name in ("list", "stats", "doctor"))
    loaded = loaded_by(f"from analyzer.cli.program import run\n{commands}")
    assert not loaded & {"numpy.ma", "rich", "scapy.all", "textual", "tui"}


def test_importing_the_command_line_is_cheap() -> None:
    assert not loaded_by("import analyzer.cli") & (HEAVY | {"click", "orjson"})


def test_help_and_version() -> None:
    done = call("--help")
    assert done.returncode == 0
    assert all(name in done.stdout and text in done.stdout for name, text in COMMANDS.items())
    assert call().stdout == done.stdout
    version = call("--version")
    assert (version.returncode, version.stdout[:12], version.stderr) == (0, "wireanalyze ", "")


@pytest.mark.parametrize("name", ["decode", "protocols", "completion"])
def test_help_of_commands(name: str) -> None:
    done = call(name, "-h")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"wireanalyze {name}" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["nope"], "nope is neither a command nor a file. Did you mean open?"),
        (["--nope"], "list has no option --nope. See wireanalyze list --help."),
    ],
)
def test_wrong_usage(arguments: list[str], text: str) -> None:
    done = call(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"wireanalyze: {text}\n")


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """A command that raises what the test puts into this list."""
    errors: list[BaseException] = []

    @click.command("list")
    def command() -> None:
        raise errors[0]

    monkeypatch.setattr(module.Commands, "get_command", lambda *_: command)
    return errors


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (UserError("a.pcap is empty:\n\x1bgive it packets"), 2, "wireanalyze: a.pcap is empty: \\x1bgive it packets\n"),
        (
            FileNotFoundError(2, "No such file or directory", "a.pcap"),
            2,
            "wireanalyze: a.pcap: No such file or directory.\n",
        ),
        (KeyboardInterrupt(), 130, ""),
        (click.Abort(), 130, ""),
    ],
)
def test_ends(
    error: BaseException, status: int, said: str, failing: list[BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    failing.append(error)
    assert run(["list"]) == status
    assert capsys.readouterr() == ("", said)


def test_a_defect_is_reported_as_one(
    failing: list[BaseException], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing.append(KeyError("\x1b[31mtopic"))
    assert run(["list"]) == 70
    text = capsys.readouterr().err
    assert "defect of the program" in text
    assert "KeyError" in text
    assert "version: wireanalyze" in text
    assert "test_program.py" in text
    assert "\x1b" not in text
    assert "Traceback" not in text
    monkeypatch.setenv("WIREANALYZE_DEBUG", "1")
    with pytest.raises(KeyError):
        run(["list"])


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    if shutil.which(shell) is None and shell == "bash":
        pytest.skip("click asks bash for its version")
    done = call("completion", shell)
    assert done.returncode == 0
    assert "_WIREANALYZE_COMPLETE" in done.stdout


def test_completion_names_the_commands_without_importing_them() -> None:
    done = call(_WIREANALYZE_COMPLETE="bash_complete", COMP_WORDS="wireanalyze dec", COMP_CWORD="1")
    assert done.stdout == "plain,decode\n"
    done = call(_WIREANALYZE_COMPLETE="bash_complete", COMP_WORDS="wireanalyze protocols k", COMP_CWORD="2")
    assert done.stdout == "plain,kafka\n"


def test_ctrl_c_is_quiet() -> None:
    waiting = subprocess.Popen(
        [sys.executable, "-m", "analyzer.cli", "decode", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert waiting.stdin is not None
    waiting.stdin.write(b"00")
    waiting.stdin.flush()
    until("an empty pipe", lambda: not any(fcntl.ioctl(waiting.stdin, termios.FIONREAD, bytes(4))))
    waiting.send_signal(signal.SIGINT)
    out, err = waiting.communicate(timeout=60)
    assert (waiting.returncode, out, err) == (130, b"", b"")


def test_a_stopped_program_continues_its_output_where_it_was() -> None:
    """A write to a full pipe ends early then; an unbuffered standard output leaves the rest to its caller."""
    command = [sys.executable, "-m", "analyzer.cli", "list", "captures/kafka.pcap", "--format", "ndjson", "--fields"]
    whole = subprocess.run(command, check=True, capture_output=True).stdout
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"PYTHONUNBUFFERED": "1"}) as stopped:
        assert stopped.stdout is not None
        until_full(stopped.stdout.fileno())
        stopped.send_signal(signal.SIGSTOP)
        stopped.send_signal(signal.SIGCONT)
        assert stopped.stdout.read() == whole


def until_full(pipe: int) -> None:
    """Waits until a pipe takes no more bytes."""
    end, size = time.monotonic() + 60, fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ)
    while int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder) < size:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_closed_standard_output_is_no_defect() -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m analyzer.cli list captures/kafka.pcap >&-"], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_narrow_locale_does_not_end_it() -> None:
    done = call("decode", "0000000a", PYTHONIOENCODING="ascii")
    assert "Traceback" not in done.stderr
