"""Pages about ZooKeeper's layouts: some in full."""

from __future__ import annotations

from dissectors.guide import Page
from dissectors.zookeeper.guide import CLIENTS, ELECTION, QUORUM
from dissectors.zookeeper.quorum.header import packets
from dissectors.zookeeper.schemas import operations
from dissectors.zookeeper.tables import table

CREATE_TTL = """\
createTTL (opcode 21)
  what         a node that goes when nobody has changed it for so long
  since        3.5.3
  headers      request RequestHeader (int xid, int opcode); response ReplyHeader (int xid, long zxid, int err)
  error        a ReplyHeader with its code, and nothing behind it
  in a multi   yes, answered as create2
  transaction  CreateTTLTxn

Request: CreateTTLRequest
  field       type
  path        ustring
  data        buffer
  acl         []ACL
    perms     int      1 READ, 2 WRITE, 4 CREATE, 8 DELETE, 16 ADMIN
    id        Id
      scheme  ustring
      id      ustring  masked
"""

DELETE = """\
delete (opcode 2)
  what         removes a node without children, if it has the expected version
  headers      request RequestHeader (int xid, int opcode); response ReplyHeader (int xid, long zxid, int err)
  error        a ReplyHeader with its code, and nothing behind it
  in a multi   yes
  transaction  DeleteTxn

Request: DeleteRequest
  field    type
  path     ustring
  version  int

Response
  nothing

Transaction: DeleteTxn
  field  type
  path   ustring"""

PING = """\
PING (packet type 5)
  what                the leader asks, the learner answers with its sessions and their timeouts
  from                both
  role                the leader's a request, the learner's a response
  data                none
  data of the answer  SessionTimeout, up to the end
"""

NOTIFICATION = """\
Notification
  behind an int size: a vote, or of a server that has a leader, that one

  version 0  28 bytes, 3.3
  version 1  36 bytes, 3.4
  version 2  40 bytes, later 3.4
  version 3  44 bytes and more, 3.5.0
  field          type     versions
  state          int      0+        0 LOOKING, 1 FOLLOWING, 2 LEADING, 3 OBSERVING
  leader         long     0+
  zxid           long     0+        epoch above, counter below
  electionEpoch  long     0+
  peerEpoch      long     1+
  version        int      2+
  config         ustring  3+"""


def text(page: Page) -> str:
    return "\n".join(page.lines)


def test_pages_in_full() -> None:
    assert text(CLIENTS.page("createttl", None)).startswith(CREATE_TTL)
    assert text(CLIENTS.page("2", None)) == DELETE
    assert text(QUORUM.page("PING", None)).startswith(PING)
    assert text(ELECTION.page("notification", None)) == NOTIFICATION


def test_everything_has_a_page_and_a_sentence() -> None:
    content = table("guide")
    assert {each.name for each in operations().values()} == content["operations"].keys()
    assert {each.name for each in packets().values()} == content["packets"].keys()
    assert {*table("operations")["fourLetterWords"], "telnetClose"} == content["words"].keys()
    assert content["since"].keys() < content["operations"].keys()
    assert set(table("enums")["watchEventType"].values()) == content["events"].keys()
    wanted = {*content["operations"], *content["words"], *table("records")["records"], "connect"}
    assert wanted < set(CLIENTS.names())
    assert set(content["packets"]) < set(QUORUM.names())


def test_data() -> None:
    found = CLIENTS.page("create", None).data
    assert (found["name"], found["code"]) == ("create", 1)
    assert [each["of"] for each in found["layouts"]] == ["request", "response", "transaction", "transaction"]
    assert found["layouts"][0]["layout"]["fields"][2]["fields"][1]["fields"][1]["secret"] is True
    assert CLIENTS.page("multi", None).data["layouts"][1]["layout"]["items"]["delete"] is None
    assert CLIENTS.page("types", None).data["types"][0]["type"] == "int"
    assert {"code": -101, "name": "NONODE"} in CLIENTS.page("errors", None).data["errors"]
    assert QUORUM.page("LearnerInfo", None).data["sizes"]["version 1"] == "12 bytes, 3.4.0"


def test_names_that_differ_in_their_case_are_two() -> None:
    assert text(CLIENTS.page("stat", None)).startswith("stat (four-letter word)")
    assert text(CLIENTS.page("Stat", None)).startswith("Stat\n")
    assert text(CLIENTS.page("GETDATA", None)).startswith("getData (opcode 4)")
