"""Problems with TLS, most of them visible without keys: certificates, refusals, plaintext on a TLS port."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.columns.arrays import list_distinct
from analyzer.columns.values import format_iso_time
from analyzer.decode.endpoints import find_server_port
from analyzer.insight.tls import SECOND, TlsConnection, find_tls_answers, list_tls
from analyzer.messages.index import NO_PROTOCOL
from analyzer.session import Analysis
from analyzer.tcp.streams import UNKNOWN_SIDE
from analyzer.tls.facts import Alert, name_alert
from analyzer.tls.handshake import VERSIONS
from dissectors.finding import Finding, Severity
from dissectors.wire.amounts import count_text

DAY = 86_400

_MEANINGS: dict[int, tuple[str, str]] = {
    40: (
        "the two sides have no cipher suite, group or signature algorithm in common, or a certificate is missing",
        "Compare the cipher suites and the keystores of client and server.",
    ),
    42: ("the certificate is damaged or not accepted", "Check the certificate of the other side."),
    43: ("the certificate is of a kind that is not accepted", "Check the certificate of the other side."),
    44: ("the certificate is revoked", "Replace the certificate of the other side."),
    45: ("the certificate has expired", "Replace the certificate of the other side."),
    46: ("the certificate is not accepted", "Look in the log of the side that sent the alert."),
    48: (
        "no authority that it trusts has signed the certificate",
        "Add the authority of the other side's certificate to the truststore of the side that sent the alert.",
    ),
    49: ("access is denied", "Check what the certificate of the other side may do."),
    51: ("a signature or a value of the handshake is wrong", "Check that key and certificate belong together."),
    70: (
        "the two sides have no version of TLS in common",
        "Allow a version on both sides, such as TLS 1.2 or TLS 1.3.",
    ),
    71: ("the other side offers weak algorithms only", "Allow stronger cipher suites on the other side."),
    112: ("it has no certificate for the name that the client asked for", "Check the host name that the client uses."),
    116: ("the client sent no certificate", "Give the client a keystore, or do not require client authentication."),
    120: ("the two sides have no application protocol in common", "Compare the ALPN settings of both sides."),
}
"""By alert: its meaning, and advice."""

_CLIENT_CERTIFICATE = frozenset({42, 43, 44, 45, 46, 48})


def find_tls_problems(session: Analysis) -> Iterator[tuple[int, Finding]]:
    """Yields findings about TLS, each with its stream."""
    for connection in list_tls(session):
        for finding in _check(session, connection):
            yield connection.stream, finding
    yield from _find_plain_clients(session)


def _check(session: Analysis, connection: TlsConnection) -> Iterator[Finding]:
    yield from _check_certificate(session, connection)
    for alert in connection.facts.alerts:
        if alert.fatal:
            yield _explain_alert(connection, alert)
            break
    else:
        yield from _check_silence(session, connection)


def _check_certificate(session: Analysis, connection: TlsConnection) -> Iterator[Finding]:
    certificate = connection.certificate
    if certificate is None:
        return
    now = session.engine.streams.cell("begin", connection.stream) // SECOND
    text = ""
    if now > certificate.not_after:
        text = f"expired on {_date(certificate.not_after)}, {_days(now - certificate.not_after)} before the connection"
    elif now < certificate.not_before:
        text = f"is valid from {_date(certificate.not_before)} on, {_days(certificate.not_before - now)} after it"
    if text:
        name = certificate.subject
        yield Finding(Severity.ERROR, "expired-certificate", f"the server's certificate {name} {text}", subject=name)


def _date(seconds: int) -> str:
    return format_iso_time(seconds * SECOND)[:10]


def _days(seconds: int) -> str:
    days = seconds // DAY
    return count_text(days, ",day") if days else "less than a day"


def _explain_alert(connection: TlsConnection, alert: Alert) -> Finding:
    sender, name = ("client", "server")[not alert.from_client], name_alert(alert.code)
    meaning, advice = _MEANINGS.get(alert.code, ("", "Look in the log of the side that sent the alert."))
    text = f"the {sender} ends TLS with the alert {name}{': ' if meaning else ''}{meaning}"
    facts, offered = connection.facts, connection.facts.offered
    if alert.code == 70 and offered:
        text += f"; the client offers {', '.join(VERSIONS.get(each, hex(each)) for each in sorted(offered))}"
    if alert.code in _CLIENT_CERTIFICATE and alert.from_client and facts.certificates:
        text += f" ({facts.certificates[0].subject}, issued by {facts.certificates[0].issuer})"
    return Finding(Severity.ERROR, "tls-refused", text, subject=name, advice=advice)


def _check_silence(session: Analysis, connection: TlsConnection) -> Iterator[Finding]:
    """Yields a finding if a client uses TLS and the server closes without a TLS answer."""
    facts, streams = connection.facts, session.engine.streams
    if not facts.fingerprint or facts.version or facts.retried:
        return
    closer, client = (streams.cell(name, connection.stream) for name in ("closer", "client"))
    if closer not in (UNKNOWN_SIDE, client) and streams.cell("sides", connection.stream) == 0b11:
        port = find_server_port(session, connection.stream)
        text = f"a client speaks TLS to port {port}, and the server closes the connection without an answer of TLS"
        yield Finding(
            Severity.WARNING,
            "tls-mismatch",
            text,
            advice="Let the client connect without TLS, or to the port where the server speaks TLS.",
        )


def _find_plain_clients(session: Analysis) -> Iterator[tuple[int, Finding]]:
    """Yields the connections in which a client does not use TLS and the server answers with TLS."""
    index = session.rows
    present = slice(index.first, len(index))
    known = list_distinct(index.column("stream")[present][index.column("protocol")[present] != NO_PROTOCOL])
    if not len(known):
        return
    for stream in find_tls_answers(session, known):
        port, dissector = find_server_port(session, stream), session.engine.streams.cell("protocol", stream)
        protocol = session.engine.dissector(dissector)
        what = "a client" if protocol is None else f"a client speaks {protocol.name}"
        text = f"{what} without TLS to port {port}, and the server answers in TLS"
        advice = "Let the client connect with TLS (security.protocol, tls:// or what its library calls it)."
        yield stream, Finding(Severity.WARNING, "tls-mismatch", text, advice=advice)
