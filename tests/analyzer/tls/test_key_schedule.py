"""Vectors: RFC 8448, section 3 (TLS 1.3), and the known answer of the PRF of TLS 1.2 with SHA-256."""

from __future__ import annotations

import pytest

from analyzer.tls.cipher import BadRecord, make_cipher
from analyzer.tls.key_schedule import KeyMaterial, derive_traffic_keys, expand_prf, extract, update_secret
from analyzer.tls.suites import Suite, find_suite

TRAFFIC = [
    (
        "client, handshake",
        "b3eddb126e067f35a780b3abf45e2d8f3b1a950738f52e9600746a0e27a55a21",
        "dbfaa693d1762c5b666af5d950258d01",
        "5bd3c71b836e0b76bb73265f",
    ),
    (
        "server, handshake",
        "b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38",
        "3fce516009c21727d0f2e4e86ee403bc",
        "5d313eb2671276ee13000b30",
    ),
    (
        "server, application",
        "a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643",
        "9f02283b6c9c07efc26bb9f2ac92e356",
        "cf782b88dd83549aadf1e984",
    ),
    (
        "client, application",
        "9e40646ce79a7f9dc05af8889bce6552875afa0b06df0087f792ebb7c17504a5",
        "17422dda596ed5d9acd890e3c63f5051",
        "5b78923dee08579033e523d9",
    ),
]

CLIENT_DATA = bytes.fromhex(
    "a23f7054b62c94d0affafe8228ba55cbefacea42f914aa66bcab3f2b9819a8a5b46b395bd54a9a20441e2b62974e1f5a"
    "6292a2977014bd1e3deae63aeebb21694915e4"
)


def suite(code: int) -> Suite:
    found = find_suite(code)
    assert found is not None
    return found


@pytest.mark.parametrize(("name", "secret", "key", "nonce"), TRAFFIC)
def test_traffic_keys(name: str, secret: str, key: str, nonce: str) -> None:
    keys = derive_traffic_keys(bytes.fromhex(secret), suite(0x1301))
    assert (keys.key.hex(), keys.nonce.hex()) == (key, nonce)


def test_extract_of_nothing_is_the_early_secret() -> None:
    found = extract(b"", bytes(32), "sha256").hex()
    assert found == "33ad0a1c607ec03b09e6cd9893680ce210adf300aa1f2660e1b22e10f170f92a"


def test_a_record_of_the_trace_opens() -> None:
    cipher = make_cipher(suite(0x1301), derive_traffic_keys(bytes.fromhex(TRAFFIC[3][1]), suite(0x1301)))
    assert cipher.open_record(0, 23, CLIENT_DATA) == (23, bytes(range(50)))
    with pytest.raises(BadRecord):
        cipher.open_record(1, 23, CLIENT_DATA)
    updated = derive_traffic_keys(update_secret(bytes.fromhex(TRAFFIC[3][1]), suite(0x1301)), suite(0x1301))
    with pytest.raises(BadRecord):
        make_cipher(suite(0x1301), updated).open_record(0, 23, CLIENT_DATA)


def test_prf() -> None:
    found = expand_prf(
        bytes.fromhex("9bbe436ba940f017b17652849a71db35"),
        b"test label",
        bytes.fromhex("a0ba9f936cda311827a6f796ffd5198c"),
        100,
        "sha256",
    )
    assert found.hex() == (
        "e3f229ba727be17b8d122620557cd453c2aab21d07c3d495329b52d4e61edb5a6b301791e90d35c9c9a46b4e14baf9af0fa022f7077def17"
        "abfd3797c0564bab4fbc91666e9def9b97fce34f796789baa48082d122ee42c5a72e5a5110fff70187347b66"
    )


def test_names_say_what_a_suite_is() -> None:
    cbc = suite(0xC027)
    assert (cbc.exchange, cbc.key, cbc.mac, cbc.mac_length, cbc.hash) == ("ECDHE_RSA", 16, "sha256", 32, "sha256")
    assert suite(0xC014).hash == "sha256"
    assert suite(0xC014).mac == "sha1"
    assert suite(0xC028).hash == "sha384"
    assert (suite(0xC0AE).tag, suite(0xC0AE).hash, suite(0xC0AE).overhead) == (8, "sha256", 16)
    assert find_suite(0xC012) is None
    assert find_suite(0x9999) is None


def test_keys_show_nothing() -> None:
    keys = KeyMaterial(b"m" * 20, b"k" * 16, b"n" * 4)
    assert repr(keys) == "KeyMaterial(...)"
    with pytest.raises(TypeError):
        keys.__reduce__()
