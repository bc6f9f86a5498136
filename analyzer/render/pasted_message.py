"""Recognises and decodes a message without a capture, for printing."""

from __future__ import annotations

from analyzer.errors import UserError
from analyzer.hexinput import pasted
from analyzer.messages import defects
from analyzer.render.tree_json import PrintedMessage
from dissectors import registry
from dissectors.api import Dissector, State
from dissectors.field import Tree
from dissectors.foreign import foreign
from dissectors.slotted import replace


def choose_dissector(data: bytes, protocol: str | None, is_response: bool) -> tuple[Dissector, str | None]:
    """Returns the dissector to use, and why it may be the wrong one."""
    if protocol is not None:
        try:
            return registry.by_name(protocol), None
        except KeyError as error:
            raise UserError(f"{error.args[0]}.") from None
    found = pasted.recognise_any(data, is_response)
    other = foreign(data)
    # a user who installs one for a foreign protocol wants it decoded
    is_plugin = found.dissector.name not in registry.BUILT_IN
    if other is not None and not (found.fits and is_plugin):
        return found.dissector, f"No protocol fits: {other.text}."
    if found.fits:
        return found.dissector, None
    name = found.dissector.name
    return found.dissector, f"No protocol fits. The best guess is shown: {name}. If it is right, give -p {name}."


def decode_pasted(dissector: Dissector, piece: pasted.PastedMessage, guess: bool) -> tuple[PrintedMessage, Tree]:
    """Decodes a message to a tree; `guess`: its dissector is uncertain."""
    body = defects.decode_values(dissector, piece.data, piece.context)
    tree = defects.decode_tree(dissector, piece.data, piece.context)
    header = piece.header
    if guess and header.state is not State.UNDECODED:
        header = replace(header, state=State.GUESSED)
    known = {(finding.code, finding.text) for finding in tree.findings}
    more = tuple(finding for finding in body.findings if (finding.code, finding.text) not in known)
    info = defects.format_info(dissector, body, piece.context)
    return PrintedMessage(dissector.name, header, body.error, info, more), tree
