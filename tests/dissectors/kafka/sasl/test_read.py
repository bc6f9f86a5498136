"""Tokens by their mechanism, and by their form alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.kafka.sasl.exchange import SASL_MECHANISM
from dissectors.kafka.sasl.tokens import read_token
from dissectors.wire.secret import Secret
from tests.dissectors.kafka.sasl.tokens import CASES, OPAQUE, Case
from tests.dissectors.parting import assert_parts_tile

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "OAUTHBEARER", "GSSAPI", "AWS_MSK_IAM", None)


def known(mechanism: str | None) -> dict[str, str]:
    return {} if mechanism is None else {SASL_MECHANISM: mechanism}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_token(case: Case) -> None:
    token = read_token(case.data, case.from_client, known(case.mechanism))
    assert token is not None
    assert (token.mechanism, token.words) == (case.mechanism, case.words)
    assert_parts_tile(token.parts, 0, len(case.data))


@pytest.mark.parametrize("case", [*CASES, *OPAQUE], ids=str)
def test_by_its_form_alone(case: Case) -> None:
    for from_client in (case.from_client, None):
        token = read_token(case.data, from_client, {})
        assert (None if token is None else token.mechanism) == case.by_form


@pytest.mark.parametrize("case", OPAQUE[:-1], ids=str)
def test_what_is_none_stays_whole(case: Case) -> None:
    assert read_token(case.data, case.from_client, known(case.mechanism)) is None


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_cut(case: Case) -> None:
    for size in range(len(case.data)):
        for mechanism in (case.mechanism, None):
            token = read_token(case.data[:size], case.from_client, known(mechanism))
            if token is not None:
                assert_parts_tile(token.parts, 0, size)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_byte_exchanged(case: Case) -> None:
    for at in range(len(case.data)):
        for byte in (0, 0x30, 0x7F, 0x84, 0xFF, case.data[at] ^ 1):
            data = case.data[:at] + bytes([byte]) + case.data[at + 1 :]
            token = read_token(data, case.from_client, known(case.mechanism))
            if token is not None:
                assert_parts_tile(token.parts, 0, len(data))


PIECES = [case.data for case in CASES] + [b"\0", b",", b"=", b"\x01", b"{", b'"', b"\x60", b"\xff", b"n,,", b"."]


@given(st.lists(st.sampled_from(PIECES) | st.binary(max_size=6), max_size=5), st.sampled_from(MECHANISMS),
       st.sampled_from((True, False, None)))  # fmt: skip
def test_any_bytes(pieces: list[bytes], mechanism: str | None, from_client: bool | None) -> None:
    data = b"".join(pieces)
    token = read_token(data, from_client, known(mechanism))
    if token is not None:
        assert_parts_tile(token.parts, 0, len(data))
        assert all(isinstance(word, str) for word in token.words)


def test_what_a_claim_may_be() -> None:
    """A value that is not of the kind that its name promises stays secret."""
    data = b'{"status":{"a":1},"scope":1e999,"openid-configuration":99999999999999999999}'
    assert read_token(data, False, known("OAUTHBEARER")) is None
    token = read_token(data.replace(b'{"a":1}', b'"no"'), False, known("OAUTHBEARER"))
    assert token is not None
    assert [type(part.value) for part in token.parts[1:]] == [str, Secret, Secret]
