"""The lab without its servers: what it says where something is missing, and that it ends what it started."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.brokers.kafka.journal import RECORDS, Journal, said
from tests.brokers.lab import golang, java, maven, server
from tests.brokers.lab.java import Java
from tests.brokers.lab.missing import Missing
from tests.brokers.lab.recorder import recording
from tests.brokers.lab.server import Recipe, ServerError, Site, running

ROOT = Path(__file__).parents[3]
JARS = maven.Jars("made-up", ("group:name:1",))


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine without programs, settings and a cache."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("JAVA_HOME", maven.REGISTRY):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_without_maven_it_says_what_to_do(bare: pytest.MonkeyPatch) -> None:
    with pytest.raises(Missing, match=maven.REGISTRY):
        maven.fetched(JARS, sys.executable)
    assert not any(maven.cache().iterdir())


def test_a_registry_that_does_not_answer(bare: pytest.MonkeyPatch) -> None:
    bare.setenv(maven.REGISTRY, f"http://127.0.0.1:{server.free_ports(['nobody'])['nobody']}/")
    with pytest.raises(Missing, match="could not be fetched from http://127"):
        maven.fetched(JARS, sys.executable)


def test_what_was_fetched_is_not_fetched_again(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "mvn").write_text("#!/bin/sh\nfor each; do case $each in -DoutputDirectory=*) break;; esac; done\n")
    with (tmp_path / "mvn").open("a") as script:
        script.write('exec /bin/mkdir "${each#*=}"\n')
    (tmp_path / "mvn").chmod(0o755)
    first = maven.fetched(JARS, sys.executable)
    assert list(maven.cache().iterdir()) == [first]
    (tmp_path / "mvn").unlink()
    assert maven.fetched(JARS, sys.executable) == first
    with pytest.raises(Missing):
        maven.fetched(maven.Jars("made-up", ("group:name:2",)), sys.executable)


def test_without_go_it_says_so(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(Missing, match="no go"):
        golang.built(tmp_path, "client")


def test_a_client_is_built_once_and_again_when_it_changes(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    go, sources = tmp_path / "go", tmp_path / "sources"
    sources.mkdir()
    (sources / "main.go").write_text("package main")
    script = 'while [ "$1" != -o ]; do shift; done; echo built > "$2"\n'
    go.write_text(f"#!/bin/sh\n{script}")
    go.chmod(0o755)
    first = golang.built(sources, "client")
    assert first.read_text() == "built\n"
    go.write_text("#!/bin/sh\necho 'no such module' >&2; exit 1\n")
    assert golang.built(sources, "client") == first
    (sources / "main.go").write_text("package other")
    with pytest.raises(Missing, match="no such module"):
        golang.built(sources, "client")
    assert list(maven.cache().iterdir()) == [first]


def test_versions_are_those_of_a_project_that_is_named(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "mvn").write_text("#!/bin/sh\necho '[ERROR]' $(/bin/cat \"$5\")\nexit 1\n")
    (tmp_path / "mvn").chmod(0o755)
    given = maven.Jars("made-up", JARS.artifacts, managed=("group:parent:2",))
    imported = "<artifactId>parent</artifactId><version>2</version><type>pom</type><scope>import</scope></dependency>"
    with pytest.raises(Missing, match=imported):
        maven.fetched(given, sys.executable)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Could not find artifact group:name:jar:1 in central (https://repo)", maven.WrongRecipe),
        ("group:name:jar:1 was not found in https://repo during a previous attempt", maven.WrongRecipe),
        ("Checksum validation failed, expected a but is b", maven.WrongRecipe),
        ("Could not transfer artifact group:name:pom:1 from/to central: Unknown host repo", Missing),
    ],
    ids=["no such artifact", "not before either", "another content", "no network"],
)
def test_a_skip_hides_no_failure(
    bare: pytest.MonkeyPatch, tmp_path: Path, said: str, expected: type[Exception]
) -> None:
    (tmp_path / "mvn").write_text(f"#!/bin/sh\necho '[ERROR] {said}'\nexit 1\n")
    (tmp_path / "mvn").chmod(0o755)
    with pytest.raises(expected, match=said[:9]):
        maven.fetched(JARS, sys.executable)


def test_what_was_started_ends_with_who_started_it() -> None:
    """Killed, so that nothing is cleaned up."""
    script = """if True:
        import subprocess, sys, time
        from tests.brokers.lab.leash import leashed
        process = subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL)
        with leashed(process):
            print(process.pid, flush=True)
            time.sleep(60)
        """
    run = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=ROOT)
    assert run.stdout is not None
    with run.stdout as printed:
        started = int(printed.readline())
    run.kill()
    run.wait()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and _lives(started):
        time.sleep(0.02)
    assert not _lives(started)


def _lives(process: int) -> bool:
    """Whether it runs; one that ended and that nobody waited for does not."""
    try:
        state = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=True)
    except subprocess.CalledProcessError:
        return False
    return not state.stdout.startswith("Z")


def test_without_a_recorder_it_says_so(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(Missing, match="neither tcpdump nor dumpcap"), recording(tmp_path / "a.pcap", [1]):
        pass


def test_without_java_it_says_so(bare: pytest.MonkeyPatch) -> None:
    bare.setattr(java, "find_spec", lambda name: None)
    with pytest.raises(Missing, match="no Java 17"):
        java.find_java(17)


def test_a_newer_java_next_to_the_one_on_the_path_is_found(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, version in (("old", 17), ("new", 25)):
        program = tmp_path / name / "bin" / "java"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}.0.1\"' >&2\n")
        program.chmod(0o755)
    bare.setenv("PATH", str(tmp_path / "old" / "bin"))
    bare.setattr(java, "find_spec", lambda name: None)
    assert java.find_java(17) == str(tmp_path / "old" / "bin" / "java")
    assert java.find_java(25) == str(tmp_path / "new" / "bin" / "java")


NEVER_READY = Recipe(JARS, (), lambda _: None, lambda _: ("Main",), lambda _: False, options=(), patience=0.5)


@pytest.mark.parametrize(
    ("program", "told"),
    [("print('no such disk')\nraise SystemExit(3)", "no such disk"), ("while True: pass", "was not ready")],
    ids=["ended", "not ready"],
)
def test_a_server_that_does_not_come_up(tmp_path: Path, program: str, told: str) -> None:
    (tmp_path / "java").write_text(f"#!{sys.executable}\n{program}\n")
    (tmp_path / "java").chmod(0o755)
    site = Site(tmp_path, {}, Java(str(tmp_path / "java"), (tmp_path,)))
    with pytest.raises(ServerError, match=told), running(NEVER_READY, site):
        pass


def test_what_does_not_want_to_stop_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "GRACE", 0.2)
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    with process.stdout as printed:
        printed.readline()
    server.stop(process)
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


def test_a_journal_is_read_as_it_was_printed() -> None:
    records = [said(("topic", 0, number), 5, record) for number, record in enumerate(RECORDS)]
    journal = Journal("client", {"topic": 1}, records, records[:1], "group", ["member"], [("topic", 0, 6)])
    assert Journal.read(journal.printed()) == journal


def test_ports_that_somebody_has_are_not_vacant() -> None:
    with socket.create_server((server.HOST, 0)) as taken:
        port = taken.getsockname()[1]
        assert not server.vacant(server.HOST, [port])
    assert server.vacant(server.HOST, [port])
    # Set aside for documents (RFC 5737): nobody's address.
    assert not server.vacant("192.0.2.1", [port])


def test_what_is_killed_says_nothing_more_and_is_taken_away(tmp_path: Path) -> None:
    program = "import time\nprint('ready', flush=True)\ntry: time.sleep(60)\nfinally: print('ended', flush=True)"
    (tmp_path / "java").write_text(f"#!{sys.executable}\n{program}\n")
    (tmp_path / "java").chmod(0o755)
    recipe = Recipe(JARS, (), lambda _: None, lambda _: ("Main",), lambda site: "ready" in site.logged(), options=())
    site = Site(tmp_path, {}, Java(str(tmp_path / "java"), (tmp_path,)))
    assert site.logged() == ""
    with running(recipe, site) as process:
        server.kill(process)
    assert site.logged() == "ready\n"
    assert process.returncode not in (None, 0)
