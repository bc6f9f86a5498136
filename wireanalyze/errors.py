"""Errors that a caller can correct, with the sentences that the command line prints."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import analyzer.errors


class WireanalyzeError(Exception):
    """Base of all errors that this package raises on purpose; its text says what happened, where, and what to do."""


class CaptureError(WireanalyzeError):
    """A capture cannot be opened or made, or is closed. Damage inside a capture is a finding."""


class FilterError(WireanalyzeError, ValueError):
    """A filter is wrong. `span` is the place of the mistake in its text: first character, and the one behind it."""

    def __init__(self, text: str, span: tuple[int, int] = (0, 0)) -> None:
        super().__init__(text)
        self.span = span


class DecodeError(WireanalyzeError, ValueError):
    """Bytes are no hex, or no message of the protocol that was asked for."""


class UsageError(WireanalyzeError, ValueError):
    """An argument names something that does not exist, such as a field, a report or a protocol."""


class MissingExtra(WireanalyzeError, ImportError):
    """An optional package is not installed. The text has the command that installs it."""


@contextmanager
def translate_errors(default: type[WireanalyzeError] = UsageError) -> Iterator[None]:
    """Raises errors of the analyzer as those of this package. default: what an error without its own kind becomes."""
    try:
        yield
    except analyzer.errors.CaptureError as error:
        raise CaptureError(str(error)) from error
    except analyzer.errors.UserError as error:
        from analyzer.query.filter import FilterError as Wrong  # lazy: only who filters has it

        if isinstance(error, Wrong):
            raise FilterError(str(error), (error.span.start, error.span.stop)) from error
        raise default(str(error)) from error


def require_extra(extra: str, what: str) -> None:
    """Raises MissingExtra if an extra is not installed. what: the part of the package that needs it."""
    from analyzer.render import extras

    with translate_errors(MissingExtra):
        extras.require_extra(extra, what)
