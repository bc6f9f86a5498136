"""SASL state of a connection, by which its tokens are read one by one.

Facts. SaslHandshake asks for a mechanism; its answer agrees or names others. A client that re-authenticates (KIP-368)
begins with a handshake again. Otherwise the exchange starts again at the first token after an answer that ended it: an
error, an empty token, or the second token of SCRAM.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

SASL_MECHANISM, SASL_SENDER, SASL_ROUND, SASL_AGAIN = "mechanism", "sender", "round", "again"
CLIENT, SERVER = "client", "server"
_NAME = re.compile(r"[A-Z0-9_-]{1,20}")
_MOST_ROUNDS = 9
"""Rounds that are counted: contexts of rows are few and shared."""


@dataclass(slots=True)
class Sasl:
    """`rounds` of the exchange with this `mechanism` (None: unknown, and then so are they); `done`: it has ended.

    `again`: one has come to a good end before.
    """

    mechanism: str | None = None
    rounds: int = 0
    done: bool = False
    again: bool = False

    def ask(self, mechanism: object) -> None:
        """Handles a handshake: its mechanism counts until it is refused, because the answer may be lost."""
        known = isinstance(mechanism, str) and _NAME.fullmatch(mechanism) is not None
        self.mechanism = str(mechanism) if known else None
        self._begin()

    def handshake(self) -> Mapping[str, str] | None:
        """Returns the context of the handshake itself."""
        return {SASL_AGAIN: "yes"} if self.again else None

    def refuse(self) -> None:
        """Notes that the answer to the handshake is an error."""
        self.mechanism = None

    def send(self) -> Mapping[str, str]:
        """Handles a client's token; returns the context that decoding it needs."""
        if self.done:
            self._begin()
        self.rounds = min(self.rounds + 1, _MOST_ROUNDS)
        return self._hints(CLIENT)

    def answer(self, failed: bool, empty: bool) -> Mapping[str, str]:
        """Decodes the server's token, or its refusal of the client."""
        hints = self._hints(SERVER)
        scram = self.mechanism is not None and self.mechanism.startswith("SCRAM-")
        self.done = failed or empty or (scram and self.rounds >= 2)
        self.again = self.again or (self.done and not failed)
        return hints

    def _begin(self) -> None:
        self.rounds, self.done = 0, False

    def _hints(self, sender: str) -> Mapping[str, str]:
        hints = {SASL_SENDER: sender}
        if self.mechanism is not None:
            hints |= {SASL_MECHANISM: self.mechanism, SASL_ROUND: str(self.rounds)}
        if self.again:
            hints[SASL_AGAIN] = "yes"
        return hints
