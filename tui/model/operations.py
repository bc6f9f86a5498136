"""Operations of protocols as groups: what filters say of them, and what a person calls them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from analyzer.query.response_errors import nothing_new
from tui.model.leads import one_of

Label = tuple[str, str | None]
"""A protocol, and one of its operations; None for messages that name none."""


def _nothing_now() -> str:
    by_codes: dict[Sequence[int], list[str]] = {}
    for (_, operation), codes in nothing_new().items():
        by_codes.setdefault(codes, []).append(operation)
    parts = [
        f"operation in {{{', '.join(operations)}}} and error.code in {{{', '.join(map(str, codes))}}}"
        for codes, operations in by_codes.items()
    ]
    return f"({' or '.join(parts)})"


NOTHING_NOW = _nothing_now()
"""The filter that keeps answers which report as an error that there is nothing now, and is none."""


def condition_of(labels: Iterable[Label]) -> Callable[[Label], str]:
    """The filter that keeps an operation; it names the protocol only where several have an operation of this name."""
    known = Counter(operation for _, operation in labels)

    def condition(label: Label) -> str:
        protocol, operation = label
        said = one_of("operation", operation)
        return said if operation is not None and known[operation] == 1 else f"{one_of('protocol', protocol)} and {said}"

    return condition
