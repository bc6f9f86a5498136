"""SASL within Kafka: the tokens of an exchange, without their secrets.

Theory. Kafka carries SASL tokens (RFC 4422) as bytes of their own mechanism: in SaslAuthenticate, or as bare frames
after SaslHandshake version 0. The handshake names the mechanism, and the token's place in the exchange tells its form,
so exchange.py remembers both for each connection and they travel with the row. A capture that begins late knows
neither; then the form alone must do. scram.py and bearer.py know one family of mechanisms each, wire.sasl.gssapi the
one that other protocols have too; tokens.py knows PLAIN, chooses the mechanism, adds the parts to a tree and formats
the line.

A token as a whole is always a Secret. Of its parts only names, numbers of rounds, the mechanism's own marks and the
claims that every log prints are shown: salts, nonces, proofs, signatures, passwords, bearer tokens are not.
"""
