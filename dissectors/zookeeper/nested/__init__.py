"""Fields with a format of their own: SASL tokens, credentials, identities, configurations.

Theory. Jute calls them buffers and ustrings. Their content is told by the field's name and by those beside it, so one
table (content.py) serves requests, replies, transactions, snapshots and notifications. Values keep what is on the wire;
a buffer's content stands beside it (wire.embedded), and a tree shows the parts of texts too. Whatever is in no known
form stays as it is: a secret stays one.
"""

RECONFIG, AUTH, SASL = 16, 100, 102
OPENED = frozenset({RECONFIG, AUTH, SASL})
"""The opcodes of clients of which values have more than their records: only these must be looked at again."""
