"""`wireanalyze follow`: one conversation, in order, as lines, fields, hex or bytes."""

from __future__ import annotations

from pathlib import Path

from analyzer.decode.content import read_cell, read_message
from analyzer.session import Session
from tests.program import run

CAPTURE = str(Path(__file__).parents[3] / "captures" / "kafka.pcap")


def lines(*arguments: str) -> list[str]:
    done = run("follow", CAPTURE, *arguments)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode().splitlines()


def test_a_dialogue_has_a_line_for_each_message() -> None:
    head, *found = lines("2")
    assert head == "stream 2: 127.0.0.1:33890>127.0.0.1:29092, 6 messages"
    assert [line.split()[:4] for line in found[:3]] == [
        ["9", "0.000000", ">", "ApiVersions"],
        ["10", "0.000759", "<", "ApiVersions"],
        ["11", "0.003975", ">", "Metadata"],
    ]
    assert "759us after 9" in found[1]


def test_topics_have_names_as_in_the_list() -> None:
    produced = [line for line in lines("3", "--only", "client") if "> Produce" in line]
    listed = run("list", CAPTURE).stdout.decode()
    assert produced
    for line in produced:
        info = line.split(" bytes  ", 1)[1]
        assert "jg[" in info
        assert info in listed


def test_a_stream_may_be_named_by_its_id() -> None:
    assert lines("127.0.0.1:33890>127.0.0.1:29092") == lines("2")


def test_one_side_alone() -> None:
    both, client, server = lines("2"), lines("2", "--only", "client"), lines("2", "--only", "server")
    assert sorted(both[1:]) == sorted(client[1:] + server[1:])
    assert {line.split()[2] for line in client[1:]} == {">"}


def test_a_filter_chooses_among_its_messages() -> None:
    assert lines("2", "-Y", "role == response")[1:] == lines("2", "--only", "server")[1:]
    nobody = run("follow", CAPTURE, "2", "-Y", "kafka.topic == nobody")
    assert nobody.stdout == b"stream 2: 127.0.0.1:33890>127.0.0.1:29092, 0 messages\n"
    assert nobody.stderr == b"wireanalyze: 0 of 6 messages pass the filter.\n"


def test_a_number_of_any_length_is_no_defect() -> None:
    done = run("follow", CAPTURE, "9" * 5000)
    assert (done.returncode, b"defect" in done.stderr) == (2, False)


def test_fields_stand_beneath_their_message() -> None:
    found = lines("2", "--as", "fields", "--only", "client")
    assert any('clientId: "producer-1"' in line for line in found)
    assert sum(not line.startswith(" " * 20) for line in found) == 1 + 3


def test_hex_is_of_the_whole_message() -> None:
    found = lines("2", "--as", "hex", "--only", "client")
    assert "00 00 00 33 00 12 00 05" in found[2]


def test_raw_bytes_are_the_stream_and_say_that_nothing_is_masked() -> None:
    done = run("follow", CAPTURE, "2", "--as", "raw", "--only", "client")
    with Session([CAPTURE]).load() as session:
        own = [read_message(session, row) for row in range(len(session.rows)) if read_cell(session, "stream", row) == 2]
    assert done.stdout == b"".join(own[::2])
    assert b"not masked" in done.stderr
