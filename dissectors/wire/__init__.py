"""The engine that the protocols share: schemas as data, plans made of them, and the interpreters of a plan.

A `Schema` (schema.py) lists the fields of an operation and their versions. `resolve` (plan.py) turns it into a Plan for
one version: a short tuple of steps. `emit` writes a plan as Python source, the fast decoder to plain values; `fields`
walks the same steps and records the place of every value. `message` handles a message as a whole.

A protocol that no schema fits is read by hand with a `Reader`, and its values are folded from the tree.
"""

from dissectors.wire.dialect import Dialect, ScannedValue, SizedBytes
from dissectors.wire.fields import read_array, read_leaves, read_members
from dissectors.wire.message import fold_tree, read_framed
from dissectors.wire.plan import Plan, leaves, resolve
from dissectors.wire.primitive import INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, FixedWidth, Length
from dissectors.wire.reader import Reader
from dissectors.wire.schema import FieldSchema, Schema, Versions
from dissectors.wire.secret import Secret
from dissectors.wire.varint import Unfit

__all__ = [
    "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64",
    "Dialect", "FieldSchema", "FixedWidth", "Length", "Plan", "Reader", "ScannedValue", "Schema", "Secret",
    "SizedBytes", "Unfit", "Versions", "fold_tree", "leaves", "read_array", "read_framed", "read_leaves",
    "read_members", "resolve",
]  # fmt: skip
