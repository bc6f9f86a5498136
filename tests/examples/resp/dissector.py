"""RESP as a dissector: who answers whom, what looks like it, what can be asked. Not followed: replication, and
CLIENT REPLY, behind which answers are missing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from dissectors.api import HEADLESS, WEAK, Body, Context, Conversation, Dissector, MessageHeader, Outcome, Role
from dissectors.catalog import Catalog, FieldAlias, Layout, Member
from dissectors.field import Tree
from dissectors.pairing import PairInOrder, Waiting
from dissectors.slotted import replace
from dissectors.wire.guide.shelf import Shelf, list_page
from dissectors.wire.hiding import hide_node, hide_rest, hide_unread
from dissectors.wire.message import fold_tree, read_unframed
from dissectors.wire.secret import Secret
from tests.examples.resp.reading import COUNT, VALUE, RespFramer, error_name, read_message
from tests.examples.resp.tables import ERRORS, KEYS, PUSHES, SECRETS, SUBSCRIBES, TYPES, key_places, secret_places

NAME = re.compile(rb"(?:[*>]\d+\r\n(?:\$\d+\r\n|\+))?([A-Za-z][\w.-]{0,39})(?=\s)")
SENSITIVE = re.compile(rb"auth|pass|setuser", re.IGNORECASE)
REQUEST = (Member("command", "string"), Member("keys", "string", True), Member("arguments", "string", True))
ANSWER = (Member("value", "any", open=True),)


def named(prefix: bytes) -> str | None:
    """What an array, a push or a line begins with: a command, or the kind of a push."""
    found = NAME.match(prefix)
    return None if found is None else found[1].decode().upper()


@dataclass(slots=True)
class RespConversation(PairInOrder):
    """Pairs in order, but for subscriptions, whose confirmations come among messages, one for each channel."""

    subscribed: bool = False

    def step(self, handle: int, prefix: bytes, from_client: bool) -> Outcome:
        """See PairInOrder."""
        own, name = self.header(prefix, from_client), named(prefix)
        listens = own.role is Role.PUSH or (self.subscribed and prefix[:1] == b"*" and not from_client)
        if from_client and name in SUBSCRIBES:
            self.subscribed = True
            self.remember((True, name, 0), Waiting(handle, own))
            return Outcome(own)
        if listens and name in SUBSCRIBES and (request := self.claim((True, name, 0))) is not None:
            return Outcome(replace(own, role=Role.RESPONSE, operation=name), request.handle)
        if own.role is Role.PUSH or (listens and name in SUBSCRIBES + PUSHES):
            return Outcome(replace(own, role=Role.PUSH, operation=name))
        return PairInOrder.step(self, handle, prefix, from_client)


class _Catalog(Catalog):
    def layouts(self) -> Sequence[Layout]:
        asked = [Layout(name, Role.REQUEST, lambda: REQUEST) for name in sorted(KEYS)]
        return asked + [Layout(name, Role.RESPONSE, lambda: ANSWER) for name in (*sorted(KEYS), *PUSHES)]

    def field_aliases(self) -> Sequence[FieldAlias]:
        command = FieldAlias("command", "string", lambda context: (("command",),), about="what is done")
        return command, FieldAlias("key", "string", lambda context: (("keys",),), about="key of a command")

    def errors(self) -> Sequence[str]:
        return ERRORS


PAGES = {
    "types": lambda: list_page(("begins with", "type"), list(TYPES.items()), "types"),
    "commands": lambda: list_page(("name", "keys"), [(name, f"{KEYS[name]}") for name in KEYS], "commands"),
}


class Resp(Dissector):
    """RESP2 and RESP3: requests, pipelines, answers, pushes, attributes, inline commands."""

    name = "resp"
    ports = (6379,)
    columns = ("operation", "resp.key", "latency", "error", "info")
    color = "bright_red"
    catalog, guide = _Catalog(), Shelf("resp", lambda: PAGES, dict)

    def make_framer(self, from_client: bool, opening: bool) -> RespFramer:
        """See RespFramer."""
        return RespFramer(from_client)

    def probe(self, prefix: bytes, from_client: bool | None) -> int:
        """An array that begins with a command is nearly proof; a line of text is enough on our port alone."""
        name = named(prefix)
        if from_client is not False and prefix[:1] == b"*" and name is not None:
            return 95 if name in KEYS else 60
        if from_client is not False and name in KEYS and not re.search(rb" HTTP/|[^\s -~]", prefix[:200]):
            return WEAK // 2
        found = None if from_client else VALUE.match(prefix)
        return 0 if found is None else WEAK // 2 if prefix[:1] in b"+-_" else WEAK + 10

    def plausible(self, prefix: bytes, from_client: bool) -> bool:
        """Also a line of text."""
        return self.probe(prefix, from_client) > 0

    def header(self, prefix: bytes, from_client: bool) -> MessageHeader:
        """The command of a request, the kind of a push; answers say nothing of what was asked."""
        if not prefix:
            return HEADLESS
        if not from_client:
            return MessageHeader(Role.PUSH, named(prefix)) if prefix[:1] == b">" else MessageHeader(Role.RESPONSE)
        empty = re.match(rb"\*(?:0|-1)\r|\r?\n", prefix) is not None
        return MessageHeader(Role.ONEWAY if empty else Role.REQUEST, named(prefix))

    def conversation(self) -> Conversation:
        """See RespConversation."""
        return RespConversation(self.header)

    def values(self, message: bytes, context: Context) -> Body:
        """The tree, folded; of a request its parts by name. Errors have no numbers: ours are places in a table."""
        body = fold_tree(self.tree(message, context), error_name)
        values, error, words = body.values, body.error, body.values.get("value")
        if context.role in (Role.REQUEST, Role.ONEWAY) and isinstance(words, list) and words:
            keys = [words[at] for at in key_places(_upper(words))]
            values = {"command": _upper(words[:1])[0], "keys": keys, "arguments": words[1:]}
        return body._replace(values=values, error=error and (ERRORS.index(error[1]) + 1, error[1]))

    def tree(self, message: bytes, context: Context) -> Tree:
        """A request or a value. Passwords are hidden, and what could not be read of a request that may have one."""
        tree = read_unframed(message, read_message)
        nodes = [node for each in tree.fields[:1] for node in each.children if node.spec is not COUNT]
        asked = context.role in (Role.REQUEST, Role.ONEWAY)
        for at in secret_places(_upper([node.value for node in nodes])) if asked and nodes else ():
            hide_node(nodes[at], message[: nodes[at].offset + nodes[at].length - 2 * (message[:1] == b"*")])
        for before, node in pairwise(nodes):
            if not asked and not node.children and f"{before.value}".lower() in SECRETS:
                hide_node(node, message[: node.offset + node.length - 2])
        if tree.findings and asked and SENSITIVE.search(message):
            hide_unread(tree.fields)
            hide_rest(tree.fields)
        return tree

    def info(self, body: Body, context: Context) -> str:
        """`GET user:1`, `OK`, `ERR unknown command`."""
        value: Any = body.values.get("value", "")
        if "command" in body.values:
            return " ".join(map(_said, [body.values["command"], *body.values["arguments"][:8]]))
        return (
            " ".join(map(_said, value[:8])) if context.role is Role.PUSH and isinstance(value, list) else _said(value)
        )


def _upper(words: Sequence[object]) -> list[str]:
    """Words to be compared, as long as they may matter."""
    texts = (word.decode("latin-1") if isinstance(word, bytes) else f"{word}" for word in words)
    return [text[:64].upper() for text in texts]


def _said(value: object) -> str:
    if isinstance(value, bytes | list | dict):
        return f"{len(value)} {'bytes' if isinstance(value, bytes) else 'items'}"
    said = "(nil)" if value is None else "***" if isinstance(value, Secret) else f"{value}"
    return said if len(said) <= 80 else f"{said[:79]}…"
