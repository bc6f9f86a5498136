"""SASL tokens (RFC 4422) of the mechanisms that several protocols carry.

Theory. A token as a whole is always a Secret. Of its parts only names, places and the mechanism's own marks are shown:
nonces, proofs, tickets and whatever is not known are not. Each reader gives a Token, or None for bytes in another form;
it never raises. How an exchange names its mechanism, and which mechanisms there are, is the protocol's.
"""
