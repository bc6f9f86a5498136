"""What the protocols share: schemas as data, plans made of them, and the two decoders of a plan.

A `Schema` (schema.py) says what fields an operation has in which versions. `resolve` (plan.py) turns it, for one
version, into a Plan: a short tuple of steps. `emit` writes a plan out as Python source, the fast decoder to plain
values; `fields` walks the same steps and keeps where every value lies.
"""

from dissectors.wire.plan import Plan, resolve
from dissectors.wire.primitive import Dialect, Fixed, Length, Sized
from dissectors.wire.schema import FieldSchema, Schema, Versions
from dissectors.wire.secret import Secret

__all__ = ["Dialect", "FieldSchema", "Fixed", "Length", "Plan", "Schema", "Secret", "Sized", "Versions", "resolve"]
