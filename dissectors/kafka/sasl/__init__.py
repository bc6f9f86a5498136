"""SASL within Kafka: what the tokens of an exchange say, without what must stay secret.

Theory. Kafka carries SASL tokens (RFC 4422) as bytes of their own mechanism: in SaslAuthenticate, or as bare frames
after SaslHandshake version 0. The handshake names the mechanism, and the token's place in the exchange tells its form,
so memory.py remembers both for each connection and they travel with the row. A capture that begins late knows neither;
then the form alone must do. plain.py, scram.py and bearer.py know one family of mechanisms each, wire.sasl.gssapi what
other protocols have too, and read.py picks; nodes.py puts the parts into a tree, words.py says them in a line.

A token as a whole is always a Secret. Of its parts only names, numbers of rounds, the mechanism's own marks and the
claims that every log prints are shown: salts, nonces, proofs, signatures, passwords, bearer tokens are not.
"""
