"""Pages about Pulsar's commands: some in full."""

from __future__ import annotations

import re

import pytest

from dissectors.pulsar.commands import commands, library
from dissectors.pulsar.guide import GUIDE
from dissectors.pulsar.tables import table

GET_LAST = """\
GET_LAST_MESSAGE_ID (command type 29)
  what         the id of the topic's last message
  from         client
  role         request
  answered by  GET_LAST_MESSAGE_ID_RESPONSE or ERROR
  paired       by request_id; 2^64-1 is none
  since        protocol version 12
  payload      none

CommandGetLastMessageId, in field 29 getLastMessageId of BaseCommand
  number  field        type    label
  1       consumer_id  uint64  required
  2       request_id   uint64  required

Frame
  part         type
  totalSize    uint32       bytes of all behind it
  commandSize  uint32       bytes of the command
  command      BaseCommand  its type, and in the field of that number what is said"""

MESSAGE_PARTS = [
    "totalSize", "commandSize", "command", "magic", "size", "broker_entry_metadata",
    "magic", "checksum", "size", "metadata", "payload",
]  # fmt: skip

KEY_VALUE = """\
KeyLongValue
  used by  CommandAck.properties

  number  field  type    label
  1       key    string  required
  2       value  uint64  required"""


def text(name: str) -> str:
    return "\n".join(GUIDE.page(name, None).lines)


def facts(name: str) -> dict[str, str]:
    """What stands between a command's title and its fields."""
    lines = text(name).split("\n\n")[0].splitlines()[1:]
    return dict(re.split(r" {2,}", line.strip(), maxsplit=1) for line in lines)


def test_pages_in_full() -> None:
    assert text("GET_LAST_MESSAGE_ID") == text("29") == GET_LAST
    assert text("KeyLongValue") == KEY_VALUE
    assert text("txnaction").splitlines()[2:] == ["", "  0  COMMIT", "  1  ABORT"]


@pytest.mark.parametrize("name", ["get-last-message-id", "GET-LAST_message_ID", "get_last_message_id"])
def test_names_in_any_spelling(name: str) -> None:
    assert text(name) == GET_LAST


def test_everything_has_a_page_and_a_sentence() -> None:
    guide, names = table("guide"), {each.name for each in commands().values()}
    assert names == guide["commands"].keys()
    assert guide["since"].keys() < names
    assert {each.counts for each in commands().values()} - {None} == guide["pairing"].keys()
    assert guide["versions"].keys() == table("enums")["ProtocolVersion"].keys()
    assert {*names, *table("messages")["messages"], *table("enums")} < set(GUIDE.names())
    for place in guide["fields"]:
        message, _, field = place.partition(".")
        assert field in {row.name for row in library().message(message).fields.values()}


@pytest.mark.parametrize(
    ("name", "key", "said"),
    [
        ("ACK", "role", "request; oneway without request_id"),
        ("CLOSE_CONSUMER", "role", "request; the broker's own a push"),
        ("CLOSE_CONSUMER", "from", "client or broker"),
        ("SCALABLE_TOPIC_UPDATE", "role", "push; the first one with its number a response"),
        ("AUTH_CHALLENGE", "role", "request"),
        ("CONNECT", "answered by", "CONNECTED, AUTH_CHALLENGE or ERROR"),
        ("SUCCESS", "answers",
         "SUBSCRIBE, UNSUBSCRIBE, CLOSE_PRODUCER, CLOSE_CONSUMER, SEEK or WATCH_TOPIC_LIST_CLOSE"),
        ("ERROR", "answers", "any command with a request_id"),
        ("WATCH_TOPIC_UPDATE", "payload", "none"),
        ("MESSAGE", "payload", "may follow"),
        ("TOPIC_MIGRATED", "since", "protocol version 20"),
    ],
)  # fmt: skip
def test_facts(name: str, key: str, said: str) -> None:
    assert facts(name)[key] == said


def test_what_is_not_known_is_not_reported() -> None:
    assert "since" not in facts("SUBSCRIBE")
    assert "answers" not in facts("SUBSCRIBE")
    assert "paired" not in facts("FLOW")


def test_data() -> None:
    found = GUIDE.page("MESSAGE", None).data
    assert (found["name"], found["code"], found["from"], found["message"]) == ("MESSAGE", 9, "broker", "CommandMessage")
    assert [part["part"] for part in found["frame"]] == MESSAGE_PARTS
    assert [field["number"] for field in found["fields"]] == [1, 2, 3, 4, 5]
    inner = found["fields"][1]["fields"]
    assert inner[6]["name"] == "first_chunk_message_id"
    assert "fields" not in inner[6], "a message id within a message id is not told twice"
    connect = GUIDE.page("CONNECT", None).data["fields"]
    assert [field["name"] for field in connect if field.get("secret")] == ["auth_data", "original_auth_data"]
    assert GUIDE.page("END_TXN", None).data["fields"][3]["values"] == {"0": "COMMIT", "1": "ABORT"}
    assert "SEND" not in GUIDE.page("ERROR", None).data["answers"]
    assert GUIDE.page("markers", None).data["markers"][0]["payload"] == "ReplicatedSubscriptionsSnapshotRequest"


def test_a_command_without_fields() -> None:
    assert "CommandPing, in field 18 ping of BaseCommand\n  nothing\n" in text("PING")
