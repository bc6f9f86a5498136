"""Chooses the layout of a frame's body, and finds problems with that choice before a byte is read.

Theory. Usually key, version and direction determine the plan. Four exceptions show only in the bytes. A broker that
does not know the requested version of ApiVersions answers in version 0 (error 35). Some releases wrote another layout
under the same version number before it was final (tables/variants.json): such a variant is used if it takes all the
bytes and the usual layout does not, because a client may leave bytes behind a body, but none fits exactly by chance. A
version that is a little newer than the tables is read as the newest known one, as far as it fits. And the operation of
an answer without a request is guessed (guessing).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from dissectors.api import Context, Role
from dissectors.finding import Finding, Severity
from dissectors.guess_hints import GUESS
from dissectors.kafka.header import NEWER, body_offset
from dissectors.kafka.schemas import apis, body_schema, list_variants
from dissectors.kafka.sensitive import may_hide
from dissectors.kafka.tables import table
from dissectors.wire.budget import Budget
from dissectors.wire.emit import FAILURES, values_decoder
from dissectors.wire.plan import Plan, resolve

API_VERSIONS = 18


class Reading(NamedTuple):
    """The plan that a frame is read with, and the findings about this choice.

    plan: of its body; None: the body is one leaf. key, version: the operation it is read as. doubts: what is to be said
    of that. newer: the plan is of an older version than the frame's. secret: a body without plan may hold a secret.
    """

    plan: Plan | None
    key: int | None
    version: int | None
    doubts: tuple[Finding, ...] = ()
    newer: bool = False
    secret: bool = False


@lru_cache(maxsize=1024)
def body_plan(key: int, version: int, response: bool) -> Plan | None:
    """The plan of a body; of the newest known version for a newer one; None for an unknown key or no version."""
    api = apis().get(key)
    if api is None or not api.versions.low <= version <= api.versions.high + NEWER:
        return None
    return resolve(body_schema(key, response), min(version, api.versions.high))


def reading_of(message: bytes, context: Context) -> Reading:
    """Chooses the plan of a frame by its context and, where these do not decide, by its bytes."""
    key, version, response = context.code, context.version, context.role is Role.RESPONSE
    if context.role is Role.RAW:
        return Reading(None, key, version)
    if key is None or version is None:
        return (
            _orphan(message, context.extra or {})
            if response and key is None
            else Reading(None, key, version, secret=True)
        )
    if response and key == API_VERSIONS and version != 0:
        fallback = _fallback(message, version)
        if fallback is not None:
            return Reading(fallback, key, version)
    plan = body_plan(key, version, response)
    if plan is None:
        return Reading(None, key, version, (_unreadable(key, version),), secret=may_hide(message, key, response))
    if plan.version != version:
        text = f"version {version} is newer than the tables, read as version {plan.version}"
        return Reading(plan, key, version, (Finding(Severity.WARNING, "unsupported-version", text),), newer=True)
    return _variant(message, plan, key, response) or Reading(plan, key, version)


def _unreadable(key: int, version: int) -> Finding:
    if key not in apis():
        return Finding(Severity.NOTE, "unknown-operation", f"API key {key} is not in the tables")
    return Finding(Severity.NOTE, "unsupported-version", f"there is no version {version} of this API")


def _fallback(message: bytes, version: int) -> Plan | None:
    """The plan of ApiVersions v0 when this answer is one although another version was asked for.

    In a version that exists, error 35 may also stand in that version's own layout: then only a body that fits exactly
    is one of version 0.
    """
    rule = table("quirks")["apiVersionsFallback"]
    if message[8:10] != int(rule["error"]).to_bytes(2, "big"):
        return None
    plan = body_plan(API_VERSIONS, rule["parseAs"], True)
    assert plan is not None
    if version not in apis()[API_VERSIONS].versions:
        return plan
    return plan if _is_exact(plan, message, 8) else None


def _is_exact(plan: Plan, message: bytes, at: int) -> bool:
    try:
        return values_decoder(plan)(message, at, Budget())[1] == len(message)
    except FAILURES:
        return False


@lru_cache(maxsize=1024)
def has_variants(key: int, version: int, response: bool) -> bool:
    """Returns whether a release wrote this version with another layout."""
    plan = body_plan(key, version, response)
    return plan is not None and bool(list_variants(plan.name, plan.version))


def _variant(message: bytes, plan: Plan, key: int, response: bool) -> Reading | None:
    """The other layout of this version that takes all of a whole frame, where the usual one does not."""
    others = list_variants(plan.name, plan.version)
    if not others or int.from_bytes(message[:4]) + 4 != len(message):
        return None
    try:
        start = body_offset(message, key, plan.version, response)
    except FAILURES:
        return None
    if _is_exact(plan, message, start):
        return None
    for other in others:
        if _is_exact(other.plan, message, start):
            text = f"only {other.releases} wrote version {plan.version} in this layout, before it was final"
            finding = Finding(Severity.NOTE, "early-access-layout", text)
            return Reading(other.plan, key, plan.version, (finding,))
    return None


def _orphan(message: bytes, hints: Mapping[str, str]) -> Reading:
    from dissectors.kafka.guessing.guess import guess, read_hints  # hardly a capture has many

    found = read_hints(hints) if GUESS in hints else guess(message)
    if found is None:
        return Reading(None, None, None, secret=True)  # any answer, and a SASL token, too
    if found.key is None or found.version is None:
        return Reading(None, None, None, (found.finding,), secret=found.secret)
    return Reading(body_plan(found.key, found.version, True), found.key, found.version, (found.finding,))


Extra = tuple[tuple[str, str], ...] | None
"""Context.extra as a key of a cache."""


def extra_key(extra: Mapping[str, str] | None) -> Extra:
    """Converts Context.extra to a hashable key for caches."""
    return None if extra is None else tuple(sorted(extra.items()))
