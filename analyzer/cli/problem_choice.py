"""Selects problems for `doctor` and its exit status: --severity, --fail-on, --ignore, --baseline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import orjson

from analyzer.errors import UserError
from analyzer.insight.diagnosis import load_triage
from analyzer.insight.problems import Problem
from dissectors import registry
from dissectors.finding import CODES, Severity
from dissectors.slotted import make_slotted

_Known = tuple[str | None, str, str | None, str | None]
"""Identifies a problem across captures: protocol, code, error, subject."""


@make_slotted
class ProblemChoice:
    """The options that select problems.

    severity: the lowest that is printed. fail_level, fail_codes: problems that make the command fail. ignored: codes
    and errors that are left out. known: problems of an earlier run.
    """

    severity: Severity
    fail_level: Severity | None
    fail_codes: frozenset[str]
    ignored: frozenset[str]
    known: frozenset[_Known]

    def select(self, problems: Iterable[Problem]) -> list[Problem]:
        """Returns the problems to print, in their order."""
        return [
            each
            for each in problems
            if each.severity >= self.severity and not ({each.code, each.error} & self.ignored) and not self._knows(each)
        ]

    def fails(self, problems: Iterable[Problem]) -> bool:
        """Returns whether one of these problems makes the command fail."""
        return any(
            (self.fail_level is not None and each.severity >= self.fail_level)
            or bool({each.code, each.error} & self.fail_codes)
            for each in problems
        )

    def _knows(self, problem: Problem) -> bool:
        return (
            problem.protocol or None,
            problem.code,
            problem.error or None,
            problem.subject or None,
        ) in self.known


def make_choice(severity: str, fail_on: str | None, ignore: Sequence[str], baseline: str | None) -> ProblemChoice:
    """Makes the choice from the options. Raises UserError for an unknown word, or a file that cannot be read."""
    words = _split_words(fail_on or "")
    levels = {each.name.lower(): each for each in Severity}
    ignored = [word for each in ignore for word in _split_words(each)]
    for option, each in [("--fail-on", word) for word in words if word not in levels] + [
        ("--ignore", word) for word in ignored
    ]:
        _check_code(option, each, list(levels) if option == "--fail-on" else [])
    return ProblemChoice(
        levels[severity],
        min((levels[word] for word in words if word in levels), default=None),
        frozenset(words) - levels.keys(),
        frozenset(ignored),
        frozenset() if baseline is None else frozenset(_read_baseline(Path(baseline))),
    )


def _split_words(text: str) -> list[str]:
    return [word for each in text.split(",") if (word := each.strip())]


def _check_code(option: str, word: str, levels: Sequence[str]) -> None:
    """Raises UserError for a word that is neither a code of a finding nor the name of an error."""
    if word in CODES:
        return
    errors = {name for each in registry.dissectors() if (triage := load_triage(each)) for name in triage.errors}
    if word in errors:
        return
    from difflib import get_close_matches  # only needed for a misspelt word

    near = get_close_matches(word, [*levels, *CODES, *errors], 1, 0.6)
    hint = f"Did you mean {near[0]}?" if near else "`wireanalyze protocols findings` prints the codes."
    raise UserError(f"{option} does not know {word!r}. {hint}")


def _read_baseline(path: Path) -> Iterable[_Known]:
    """Returns the problems of an earlier run."""
    try:
        text = path.read_bytes().strip()
        objects = orjson.loads(text) if text.startswith(b"[") else [orjson.loads(line) for line in text.splitlines()]
        return [(each["protocol"], each["code"], each["error"], each["subject"]) for each in objects]
    except OSError as error:
        raise UserError(f"--baseline cannot read {path}: {error.strerror}. Give an earlier output.") from None
    except (ValueError, KeyError, TypeError):
        raise UserError(
            f"--baseline cannot understand {path}. Give the output of `wireanalyze doctor --format ndjson`."
        ) from None
