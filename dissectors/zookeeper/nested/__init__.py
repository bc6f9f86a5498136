"""Fields with a format of their own: SASL tokens, credentials, identities, configurations.

Theory. Jute calls them buffers and ustrings. The field's name and the fields beside it tell their content, so one table
(content.py) serves requests, replies, transactions, snapshots and notifications. Values keep the bytes of the wire; a
buffer's content is beside them (wire.embedded), and a tree shows the parts of texts too. Content in no known format
stays as it is: a secret stays one.
"""

RECONFIG, AUTH, SASL = 16, 100, 102
OPENED = frozenset({RECONFIG, AUTH, SASL})
"""The opcodes of clients of which values have more than their records: only these must be looked at again."""
