"""Pages about RocketMQ's requests, header classes, codes and layouts: some in full."""

from __future__ import annotations

import re

import pytest

from dissectors.rocketmq.codes import operations
from dissectors.rocketmq.guide import GUIDE
from dissectors.rocketmq.tables import table

ACK = """\
ACK_MESSAGE (request code 200051)
  what      a message that was popped is done, named by its receipt handle
  asked of  a server
  binary    3443 in a binary header, whose code has 16 bits; Java servers refuse it with 3

Request header: AckMessageRequestHeader (extends TopicQueueRequestHeader, TopicRequestHeader, RpcRequestHeader)
  field          type
  consumerGroup  string  required
  topic          string  required
  queueId        int     required
  extraInfo      string  required; see receipt-handle
  offset         long    required
  liteTopic      string  later than 5.3
  lo             bool    of TopicRequestHeader
  ns             string  of RpcRequestHeader
  nsd            bool    of RpcRequestHeader
  bname          string  of RpcRequestHeader
  oway           bool    of RpcRequestHeader

Request body
  none that is known

Response header
  none that is known

Response body
  none that is known

Beside these any header may have those of extFields. See frame, json-header, binary-header, responses."""

RESPONSE = """\
POLLING_FULL (response code 209)
  what      too many requests wait for messages already
  formerly  UPDATE_AND_CREATE_ACL_CONFIG_FAILED"""


def text(name: str) -> str:
    return "\n".join(GUIDE.page(name, None).lines)


def facts(name: str) -> dict[str, str]:
    """What stands between a request's title and its header."""
    lines = text(name).split("\n\n")[0].splitlines()[1:]
    return dict(re.split(r" {2,}", line.strip(), maxsplit=1) for line in lines)


@pytest.mark.parametrize("name", ["ACK_MESSAGE", "ack-message", "Ack_Message", "200051", "3443"])
def test_a_request_in_full_by_any_of_its_names(name: str) -> None:
    assert text(name) == ACK


def test_a_response_code_in_full() -> None:
    assert text("polling-full") == RESPONSE


def test_everything_has_a_page() -> None:
    for code, operation in operations().items():
        assert text(str(code)).startswith(f"{operation.name} (request code {code})\n")
    codes = {int(code) for code in table("names")["responses"]}
    assert {GUIDE.page(name, None).data["code"] for name in table("names")["responses"].values()} == codes
    assert table("headers")["headers"].keys() < set(GUIDE.names())


def test_the_guide_speaks_of_what_there_is() -> None:
    guide, names = table("guide"), {each.name for each in operations().values()}
    headers = table("headers")["headers"]
    kinds = {kind for each in operations().values() for kind in (each.request_body, each.response_body)}
    assert guide["commands"].keys() < names
    assert kinds - {None} <= guide["kinds"].keys()
    assert guide["responses"].keys() <= set(table("names")["responses"].values())
    reported = [*guide["oneway"], *guide["removed"], *guide["newer"], *guide["raft"]]
    assert set(reported) | {int(code) for name in ("former", "empty", "classes") for code in guide[name]} < set(
        operations()
    )
    for name, fields in guide["newerFields"].items():
        assert set(fields) <= headers[name]["fields"].keys()
    for place in guide["formerFields"]:
        name, _, field = place.partition(".")
        assert field in headers[name]["fields"]
    assert {name for name in guide["properties"].values() if name not in table("meanings")["properties"]} == {
        guide["properties"][constant] for constant in guide["notProperties"]
    }
    for row in headers.values():
        assert set(row.get("required", ())) <= row["fields"].keys()


@pytest.mark.parametrize(
    ("name", "key", "said"),
    [
        ("PULL_MESSAGE", "ordinary",
         "19 PULL_NOT_FOUND, 20 PULL_RETRY_IMMEDIATELY, 21 PULL_OFFSET_MOVED: nothing went wrong"),
        ("CHECK_TRANSACTION_STATE", "asked of", "a client, by its server"),
        ("CHECK_TRANSACTION_STATE", "role", "request, or one-way: then nothing answers it"),
        ("VOTE", "asked of", "a controller, by another one"),
        ("51002", "success", "response code 200, as DLedger says it between controllers"),
        ("get-routeinto-by-topic", "formerly", "GET_ROUTEINTO_BY_TOPIC"),
        ("SEAL_TOPIC_LOGICAL_QUEUE", "until", "removed from later releases"),
        ("POP_LITE_MESSAGE", "since", "later than 5.3"),
    ],
)  # fmt: skip
def test_facts(name: str, key: str, said: str) -> None:
    assert facts(name)[key] == said


def test_what_is_not_known_is_not_reported() -> None:
    assert facts("HEART_BEAT_51002").keys() == {"asked of", "success"}
    assert "role" not in facts("PULL_MESSAGE")
    assert text("BROKER_NOT_EXIST").splitlines()[-1] == "  formerly  UPDATE_GLOBAL_WHITE_ADDRS_CONFIG_FAILED"
    assert text("NO_BUYER_ID") == "NO_BUYER_ID (response code 204)"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("SEND_MESSAGE_V2", "  f      sysFlag                int     required; see sysFlag"),
        ("SEND_MESSAGE_V2", "  what the application sends; compressed if header.sysFlag says so"),
        ("PULL_MESSAGE", "  sysFlag               int     required; see pullSysFlag"),
        ("HEART_BEAT", "  JSON: HeartbeatData"),
        ("REGISTER_BROKER", "  JSON, or compressed; see registration: RegisterBrokerBody"),
        ("PullMessageResponseHeader", "PullMessageResponseHeader (written by code of its own)"),
        ("PopMessageResponseHeader", "  used by  POP_MESSAGE response, PEEK_MESSAGE response"),
        ("TopicRequestHeader", "  lo     bool"),
        ("batch-item", "  totalSize         int32  bytes of all, these four among them"),
        ("extfields", "  SecurityToken             text     a token for some time; masked"),
        ("responses", "     3  REQUEST_CODE_NOT_SUPPORTED: the server knows no such request, or not here"),
        ("languages", "12      RUST"),
    ],
)  # fmt: skip
def test_lines(name: str, line: str) -> None:
    assert line in GUIDE.page(name, None).lines


def test_versions() -> None:
    page = GUIDE.page("versions", None)
    assert page.data["versions"][513] == "V5_5_0"
    assert any("513 V5_5_0" in line.split("  ") for line in page.lines)


def test_data() -> None:
    found = GUIDE.page("SEND_MESSAGE_V2", None).data
    assert (found["name"], found["code"], found["request"]["header"]) == (
        "SEND_MESSAGE_V2",
        310,
        "SendMessageRequestHeaderV2",
    )
    fields = {field["field"]: field for field in found["request"]["fields"]}
    assert fields["a"] == {"field": "a", "type": "string", "name": "producerGroup", "required": True}
    assert fields["bname"] == {"field": "bname", "type": "string", "of": "RpcRequestHeader"}
    assert GUIDE.page("VOTE", None).data["request"] == {"header": None, "fields": [], "body": "JSON"}
    assert GUIDE.page("message", None).data["parts"][1]["part"] == "magicCode"
    former = [row for row in GUIDE.page("responses", None).data["responses"] if row["code"] == "2010"]
    assert former[0]["formerly"] == "CONTROLLER_ALTER_SYNC_STATE_SET_FAILED"
    assert len(GUIDE.page("properties", None).data["properties"]) == 63
    assert {row["topic"]: row["what"] for row in GUIDE.page("topics", None).data["topics"]}["BenchmarkTest"]
