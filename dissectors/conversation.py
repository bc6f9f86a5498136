"""State that one connection keeps between its messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

from dissectors.message import Outcome


class Conversation(ABC):
    """The state of one connection: requests not yet answered, and what decoding needs later.

    It is pickled between blocks and processes, so it is plain data (a dissector's bound method pickles too), and what
    it remembers is bounded, for a capture may hold requests and no answers. dissectors.pairing.PairByKey is a ready
    one.
    """

    @abstractmethod
    def step(self, handle: int, prefix: bytes, from_client: bool) -> Outcome:
        """Takes the next message of either direction, in order of completion. Never raises.

        handle: the engine's number for it, given back as `partner` of its answer. prefix: its first bytes
        (Dissector.prefix at most, fewer if the message is shorter or cut), length prefix included.
        """

    client: str | None = None
    """What the client is called in all rows of the connection that name none themselves, once that is known."""

    def note_loss(self, from_client: bool) -> None:  # noqa: B027 - most protocols repeat a number, and need not know
        """Notes that bytes of a direction are lost after the latest message of step(). Does nothing by default.

        Never raises.
        """

    def is_unrequested(self, prefix: bytes, from_client: bool) -> bool:
        """Returns whether what may be a message behind a gap would answer none of the requests that wait. Never raises.

        prefix: its first bytes, as `plausible` gets them. By default, and where no request waits, nobody knows: False.
        """
        return False

    @property
    def beginning(self) -> bool:
        """Whether it will soon do no more than its fast path says, and goes alone until then; for speed alone."""
        return False

    def handles(self) -> Iterable[int]:
        """Returns the handles that step() may still give back as a partner, in any order.

        By default it is not told, and then no later run of the pipeline can go on with the connection.
        """
        raise NotImplementedError

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Replaces the numbers in handles() by new ones in the same order; later messages come after them."""
        raise NotImplementedError
