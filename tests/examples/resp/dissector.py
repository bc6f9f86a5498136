"""RESP as a dissector: who answers whom, what looks like it, what can be asked. CLIENT REPLY is not followed."""

import re
from dataclasses import dataclass
from functools import partial

from dissectors.api import HEADLESS, WEAK, Body, Context, Conversation, Dissector, MessageHeader, Outcome, Role
from dissectors.catalog import ListedCatalog, Member
from dissectors.field import Tree
from dissectors.pairing import PairInOrder, Waiting
from dissectors.wire.amounts import value_text
from dissectors.wire.guide import Shelf, list_page
from dissectors.wire.hiding import hide_node, hide_rest, hide_unread
from dissectors.wire.lines import LineFramer
from dissectors.wire.message import fold_tree, read_unframed
from dissectors.wire.specs import LayoutSpec
from tests.examples.resp.reading import REQUEST, VALUE, error_name, measure_line, read_message
from tests.examples.resp.tables import KEYS, PUSHES, SUBSCRIBES, TYPES, key_places, secret_places

NAME = re.compile(rb"(?:[*>]\d+\r\n(?:\$\d+\r\n|\+))?([A-Za-z][\w.-]{0,39})(?=\s)")
SENSITIVE = re.compile(rb"auth|pass|setuser", re.IGNORECASE)
MEMBERS = [
    Member("command", "string", about="what is done"), Member("keys", "string", True, about="keys of a command"),
    Member("arguments", "string", repeated=True), Member("value", "any", open=True),
]  # fmt: skip
PAGES = {
    "types": lambda: list_page(("begins with", "type"), list(TYPES.items()), "types"),
    "commands": lambda: list_page(("name", "keys"), [(name, f"{KEYS[name]}") for name in KEYS], "commands"),
}


@dataclass(slots=True)
class RespConversation(PairInOrder):
    """Pairs in order, but for subscriptions, whose confirmations come among messages, one for each channel."""

    subscribed: bool = False

    def step(self, handle: int, prefix: bytes, from_client: bool) -> Outcome:
        name = read_name(prefix)
        if from_client and name in SUBSCRIBES:
            self.subscribed = True
            self.remember((True, name, 0), Waiting(handle, MessageHeader(Role.REQUEST, name)))
            return Outcome(MessageHeader(Role.REQUEST, name))
        listens = self.subscribed and prefix[:1] == b"*" and name in SUBSCRIBES + PUSHES
        if from_client or not (listens or prefix[:1] == b">"):
            return PairInOrder.step(self, handle, prefix, from_client)
        request = self.claim((True, name, 0))
        if request is None:
            return Outcome(MessageHeader(Role.PUSH, name))
        return Outcome(MessageHeader(Role.RESPONSE, name), request.handle)


class Resp(Dissector):
    """RESP2 and RESP3: requests, pipelines, answers, pushes, attributes, inline commands."""

    name, ports, color = "resp", (6379,), "bright_red"
    columns = ("operation", "resp.key", "latency", "error", "info")
    catalog = ListedCatalog((*KEYS, *PUSHES), MEMBERS, {"command": "command", "key": "keys"})
    guide = Shelf("resp", lambda: PAGES, dict)

    def make_framer(self, from_client: bool, opening: bool) -> LineFramer:
        return LineFramer(partial(measure_line, form=REQUEST if from_client else VALUE), measure_line, 513 << 20)

    def probe(self, prefix: bytes, from_client: bool | None) -> int:
        """An array that begins with a command is nearly proof; a line of text is enough on our port alone."""
        name = read_name(prefix)
        if from_client is not False and name is not None and prefix[:1] == b"*":
            return 95 if name in KEYS else 60
        if from_client is not False and name in KEYS and not re.search(rb" HTTP/|[^\s -~]", prefix[:200]):
            return WEAK // 2
        if from_client or VALUE.match(prefix) is None:
            return 0
        return WEAK // 2 if prefix[:1] in b"+-_" else WEAK + 10

    def plausible(self, prefix: bytes, from_client: bool) -> bool:
        return self.probe(prefix, from_client) > 0

    def header(self, prefix: bytes, from_client: bool) -> MessageHeader:
        """The command of a request, the kind of a push. Answers do not say what was asked; nothing answers no words."""
        name = read_name(prefix)
        if from_client and prefix:
            return MessageHeader(Role.REQUEST if name else Role.ONEWAY, name)
        if prefix[:1] == b">":
            return MessageHeader(Role.PUSH, name)
        return MessageHeader(Role.RESPONSE) if prefix else HEADLESS

    def conversation(self) -> Conversation:
        return RespConversation(self.header)

    def values(self, message: bytes, context: Context) -> Body:
        """The tree, folded; of a request its parts by name. Errors have no numbers."""
        body = fold_tree(self.tree(message, context), error_name)
        values, error, words = body.values, body.error, body.values.get("value")
        if context.role in (Role.REQUEST, Role.ONEWAY) and isinstance(words, list) and words:
            names = [f"{word}"[:64].upper() for word in words]
            values = {"command": names[0], "keys": [words[at] for at in key_places(names)], "arguments": words[1:]}
        return body._replace(values=values, error=error and (1, error[1]))

    def tree(self, message: bytes, context: Context) -> Tree:
        """A request or a value. Passwords are hidden, and what could not be read of a request that may have one."""
        tree = read_unframed(message, read_message)
        nodes = [node for each in tree.fields[:1] for node in each.children if not isinstance(node.spec, LayoutSpec)]
        words = [f"{node.value}"[:64].upper() for node in nodes]
        is_request = context.role in (Role.REQUEST, Role.ONEWAY)
        for at in secret_places(words[0] if words and is_request else "", words):
            nodes[at].children.clear()
            hide_node(nodes[at], message[: nodes[at].offset + nodes[at].length].removesuffix(b"\r\n"))
        if tree.findings and is_request and SENSITIVE.search(message):
            hide_unread(tree.fields)
            hide_rest(tree.fields)
        return tree

    def info(self, body: Body, context: Context) -> str:
        """`GET user:1`, `OK`, `ERR unknown command`."""
        text = body.values.get("value", "")
        if "command" in body.values:
            text = [body.values["command"], *body.values["arguments"]]
        elif context.role is not Role.PUSH or not isinstance(text, list):
            text = [text]
        return " ".join(value_text(value, null="(nil)") for value in text[:9])


def read_name(prefix: bytes) -> str | None:
    """What an array, a push or a line begins with: a command, or the kind of a push."""
    found = NAME.match(prefix)
    return None if found is None else found[1].decode().upper()
