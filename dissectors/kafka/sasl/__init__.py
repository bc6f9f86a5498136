"""SASL within Kafka: the tokens of an exchange, without their secrets.

Theory. Kafka carries SASL tokens (RFC 4422) as bytes of their own mechanism: in SaslAuthenticate, or as bare frames
after SaslHandshake version 0. The handshake names the mechanism, and the token's place in the exchange tells its form,
so exchange.py keeps both for each connection, and they are stored with the row. If a capture begins late, both are
unknown, and only the form can tell. scram.py and bearer.py read one family of mechanisms each, wire.sasl.gssapi the one
that other protocols use too. tokens.py reads PLAIN, chooses the mechanism, adds the parts to a tree and formats the
line.

A whole token is always a Secret. Of its parts only names, iteration counts, the mechanism's own marks and common claims
are shown; salts, nonces, proofs, signatures, passwords and bearer tokens are hidden.
"""
