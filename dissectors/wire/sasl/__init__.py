"""SASL tokens (RFC 4422) of the mechanisms that several protocols carry.

Theory. A whole token is always a Secret. Only names, places and the mechanism's own marks are shown of its parts;
nonces, proofs, tickets and unknown parts are hidden. Each reader returns a Token, or None for bytes of another format,
and never raises. The protocol knows how an exchange names its mechanism, and which mechanisms exist.
"""
