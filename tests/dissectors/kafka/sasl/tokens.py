"""Tokens as the mechanisms' specifications print them, and what must never be seen of them."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """A token, who sends it, under which mechanism, and what is to be said: words and secrets."""

    name: str
    mechanism: str
    from_client: bool
    data: bytes
    words: tuple[str, ...]
    secrets: tuple[bytes, ...] = ()
    by_form: str | None = None
    """The mechanism that the form alone tells; None if it tells none."""

    def __str__(self) -> str:
        return self.name


def b64url(text: bytes) -> bytes:
    return urlsafe_b64encode(text).rstrip(b"=")


def der(content: bytes, tag: int = 0x60) -> bytes:
    """Content behind a tag and its length; by default a framed GSSAPI token."""
    size = len(content)
    length = bytes([size]) if size < 128 else bytes([0x82]) + size.to_bytes(2)
    return bytes([tag]) + length + content


def sequence(*members: bytes, first: int = 0) -> bytes:
    """Members behind the tags of their numbers."""
    return der(b"".join(der(member, 0xA0 + number) for number, member in enumerate(members, first)), 0x30)


def number(value: int) -> bytes:
    return der(bytes([value]), 2)


def general(text: bytes) -> bytes:
    return der(text, 0x1B)


SERVICE = sequence(number(2), der(general(b"kafka") + general(b"b1.example.com"), 0x30))
TICKET = der(sequence(number(5), general(b"EXAMPLE.COM"), SERVICE, der(b"sealed-ticket-part" * 9, 0x30)), 0x61)
AP_REQ = der(sequence(number(5), number(14), der(bytes(5), 3), TICKET, der(b"sealed-authenticator", 0x30)), 0x6E)
AP_REP = der(sequence(number(5), number(15), der(b"sealed-reply", 0x30)), 0x6F)
KRB_ERROR = der(
    der(
        b"".join(
            der(content, 0xA0 + at)
            for at, content in (
                (0, number(5)), (1, number(30)), (4, der(b"20261122010000Z", 0x18)), (5, number(7)), (6, number(37)),
                (9, general(b"EXAMPLE.COM")), (10, SERVICE), (12, der(b"secret-data", 4)),
            )
        ),
        0x30,
    ),
    0x7E,
)  # fmt: skip


KERBEROS = bytes.fromhex("06092a864886f712010202")
SPNEGO = bytes.fromhex("06062b0601050502")
CLAIMS = (
    b'{"iss":"https://id.example","sub":"j\xc3\xb6rg","aud":["kafka","other"],"exp":1300819380,'
    b'"jti":"one-time-7f3a","groups":["red team"],"scope":"read write"}'
)
SIGNATURE = b"dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
JWT = b".".join((b64url(b'{"alg":"HS256","typ":"JWT","x5t":"thumb-print"}'), b64url(CLAIMS), SIGNATURE))
WRAP = bytes.fromhex("0504010000000000 0000000000000007")
SEALED = bytes.fromhex("050403ff000c001c 0000000000000007") + b"ciphertext-of-the-layer-"
CHECKSUM = b"checksum-12b"
CHECKED = bytes.fromhex("050401ff000c0000 0000000000000007")

CASES = [
    # RFC 4616, section 4
    Case("plain", "PLAIN", True, b"\0tim\0tanstaaftanstaaf", ("user tim",), (b"tanstaaftanstaaf",), "PLAIN"),
    Case("plain, for another", "PLAIN", True, b"Ursel\0Kurt\0xipj3plmq", ("user Kurt", "for Ursel"), (b"xipj3plmq",),
         "PLAIN"),
    Case("plain, for oneself", "PLAIN", True, b"kurt\0kurt\0xipj3plmq", ("user kurt",), (b"xipj3plmq",), "PLAIN"),
    Case("plain, not UTF-8", "PLAIN", True, b"\0k\xff\0xipj3plmq", (), (b"xipj3plmq",)),
    # RFC 5802, section 5, and RFC 7677, section 3
    Case("client first", "SCRAM-SHA-256", True, b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO", ("client first", "user user"),
         (b"rOprNGfwEbeRWgbNEkqO",), "SCRAM"),
    Case("client first, for another", "SCRAM-SHA-512", True, b"y,a=ann,n=b=2Cob=3D,r=fyko+d2lbbFgONRv9qkxdawL",
         ("client first", "user b,ob=", "for ann"), (b"fyko+d2lbbFgONRv9qkxdawL",), "SCRAM"),
    Case("client first, a delegation token", "SCRAM-SHA-256", True, b"n,,n=MTIz,r=3rfcNHYJY1ZVvWVs7j,tokenauth=true",
         ("client first", "token MTIz"), (b"3rfcNHYJY1ZVvWVs7j",), "SCRAM"),
    Case("server first", "SCRAM-SHA-256", False,
         b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
         ("server first", "4096 iterations"), (b"rOprNGfwEbeRWgbNEkqO", b"W22ZaJ0SNY7soEsUEjb6gQ=="), "SCRAM"),
    Case("client final", "SCRAM-SHA-256", True,
         b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
         ("client final",), (b"%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", b"dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="),
         "SCRAM"),
    Case("server final", "SCRAM-SHA-256", False, b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", ("server final",),
         (b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",), "SCRAM"),
    Case("server final, refused", "SCRAM-SHA-1", False, b"e=unknown-user", ("server final", "unknown-user"), (),
         "SCRAM"),
    # RFC 7628, section 4
    Case("bearer, opaque", "OAUTHBEARER", True,
         b"n,a=user@example.com,\x01host=server.example.com\x01port=143\x01"
         b"auth=Bearer vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==\x01\x01",
         ("for user@example.com",), (b"vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==",), "OAUTHBEARER"),
    Case("bearer, JWT", "OAUTHBEARER", True, b"n,,\x01auth=Bearer " + JWT + b"\x01logicalCluster=lkc-77\x01\x01",
         ("subject j\u00f6rg", "from https://id.example", "expires 2011-03-22T18:43:00.000Z"),
         (SIGNATURE, b"one-time-7f3a", b"red team", b"lkc-77", b64url(CLAIMS), b"thumb-print"), "OAUTHBEARER"),
    Case("bearer, refused", "OAUTHBEARER", False,
         b'{ "status":"invalid_token", "scope":"example_scope",\n"openid-configuration":"https://example.com/.well" }',
         ("refused", "invalid_token"), (), "OAUTHBEARER"),
    Case("bearer, giving up", "OAUTHBEARER", True, b"\x01", ("refusal acknowledged",), (), "OAUTHBEARER"),
    # RFC 4121 and RFC 4752
    Case("AP-REQ", "GSSAPI", True, der(KERBEROS + b"\x01\0" + b"ticket-and-authenticator" * 8),
         ("Kerberos 5", "AP-REQ"), (b"ticket-and-authenticator",), "GSSAPI"),
    Case("AP-REP", "GSSAPI", False, der(KERBEROS + b"\x02\0" + b"encrypted"), ("Kerberos 5", "AP-REP"),
         (b"encrypted",), "GSSAPI"),
    Case("AP-REQ with a service", "GSSAPI", True, der(KERBEROS + b"\x01\0" + AP_REQ),
         ("Kerberos 5", "AP-REQ", "service kafka/b1.example.com@EXAMPLE.COM"),
         (b"sealed-ticket-part", b"sealed-authenticator"), "GSSAPI"),
    Case("AP-REP with its parts", "GSSAPI", False, der(KERBEROS + b"\x02\0" + AP_REP), ("Kerberos 5", "AP-REP"),
         (b"sealed-reply",), "GSSAPI"),
    Case("KRB-ERROR with its code", "GSSAPI", False, der(KERBEROS + b"\x03\0" + KRB_ERROR),
         ("Kerberos 5", "KRB-ERROR", "service kafka/b1.example.com@EXAMPLE.COM", "KRB_AP_ERR_SKEW"),
         (b"secret-data",), "GSSAPI"),
    Case("KRB-ERROR", "GSSAPI", False, der(KERBEROS + b"\x03\0e"), ("Kerberos 5", "KRB-ERROR"), (), "GSSAPI"),
    Case("an unknown token", "GSSAPI", True, der(KERBEROS + b"\x09\x09x"), ("Kerberos 5", "token 0909"), (), "GSSAPI"),
    Case("SPNEGO", "GSSAPI", True, der(SPNEGO + b"\xa0negotiation"), ("SPNEGO",), (b"negotiation",), "GSSAPI"),
    Case("layers offered", "GSSAPI", False, WRAP + bytes.fromhex("07 010000"),
         ("security layers offered: none or integrity or confidentiality",), (), "GSSAPI"),
    Case("layer chosen", "GSSAPI", True, WRAP + b"\x01\0\0\0alice@EXAMPLE",
         ("security layer chosen: none", "for alice@EXAMPLE"), (), "GSSAPI"),
    Case("layers with a checksum", "GSSAPI", False, CHECKED + b"\x01\0\0\0" + CHECKSUM,
         ("security layers offered: none",), (CHECKSUM,), "GSSAPI"),
    Case("layers, encrypted", "GSSAPI", False, SEALED, ("wrap",), (b"ciphertext-of-the-layer-",), "GSSAPI"),
    # aws-msk-iam-auth
    Case("IAM", "AWS_MSK_IAM", True,
         b'{"version":"2020_10_22","host":"b-1.kafka","x-amz-credential":"AKIAEXAMPLE","x-amz-signature":"5ec4e7"}',
         ("host b-1.kafka",), (b"AKIAEXAMPLE", b"5ec4e7")),
    Case("IAM, answered", "AWS_MSK_IAM", False, b'{"version":"2020_10_22","request-id":"9f0c"}', ("request 9f0c",)),
]  # fmt: skip

OPAQUE = [
    Case("plain without a password", "PLAIN", True, b"\0alice", ()),
    Case("plain with a third NUL", "PLAIN", True, b"\0alice\0pass\0word", ()),
    Case("SCRAM under PLAIN", "PLAIN", True, b"n,,n=user,r=nonce", (), (), "SCRAM"),
    Case("a name without equals sign", "SCRAM-SHA-256", True, b"n,,user,r=nonce", ()),
    Case("proof first", "SCRAM-SHA-256", True, b"p=proof,c=biws,r=nonce", ()),
    Case("many attributes", "SCRAM-SHA-256", True, b"n,,n=u,r=n" + b",x=y" * 40, ()),
    Case("bearer that does not end", "OAUTHBEARER", True, b"n,,\x01auth=Bearer abc", ()),
    Case("many pairs", "OAUTHBEARER", True, b"n,,\x01" + b"k=v\x01" * 100 + b"\x01", ()),
    Case("a list of refusals", "OAUTHBEARER", False, b"[1]", ()),
    Case("deep refusal", "OAUTHBEARER", False, b'{"status":' + b"[" * 100_000 + b"]" * 100_000 + b"}", ()),
    Case("a number of many digits", "OAUTHBEARER", False, b'{"status":' + b"9" * 20_000 + b"}", ()),
    Case("a DER length beyond the end", "GSSAPI", True, b"\x60\x50" + KERBEROS, ()),
    Case("no object identifier", "GSSAPI", True, der(b"\x04\x01x"), ()),
    Case("a mechanism of somebody's own", "X-SECRET", True, b"\0tim\0tanstaaf", (), (), "PLAIN"),
    Case("no words", "PLAIN", True, b"\0\x07\x01\0\x02", ("user \x07\x01",)),
]
