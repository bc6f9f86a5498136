"""Certificates for a server on loopback, made for one test run."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tests.brokers.lab.server import HOST


@dataclass(frozen=True, slots=True)
class Certificates:
    """Paths of PEM files. A self-signed certificate is its own authority; `both` has the key in front of it."""

    certificate: Path
    key: Path
    both: Path


def make_certificates(folder: Path) -> Certificates:
    """Writes a key of RSA and a certificate for localhost and its address, which hold for a day."""
    key = rsa.generate_private_key(65_537, 2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address(HOST))]
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
        .public_bytes(Encoding.PEM)
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    found = Certificates(folder / "certificate.pem", folder / "key.pem", folder / "both.pem")
    for path, content in zip(
        (found.certificate, found.key, found.both), (certificate, private, private + certificate), strict=True
    ):
        path.write_bytes(content)
    return found
