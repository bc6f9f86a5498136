"""What is asked of a run besides its captures; it travels to the workers."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from analyzer.decode.jsonable import Limits
from analyzer.messages.decode_as import DecodeAsRules
from dissectors.wire.budget import get_allowance

SPLIT = 128 << 20
"""Bytes of a capture from which on it is read by several tasks."""

OWN_WORKER = "WIREANALYZE_WORKER"
"""Workers of a session of our own have this in their environment."""

WINDOW = 60
"""Seconds of a window of the summaries."""


@dataclass(frozen=True, slots=True)
class Options:
    """`decode_as`: who speaks which protocol; single connections by their id alone, for a partition has no numbers.

    `limits`: of `fields`. `fields`: whether bodies become a column. bodies: the type of that column
    (typed_bodies.py); None: JSON. split: bytes of a plain capture that one task
    reads. shuffled: payload travels with the pointers, for executors that share no file system. window: seconds of a
    window of the summaries. partitions: in which connections are worked off; None: by what there is to do.
    counts: the folder in which workers count what they have done (pipeline/progress.py); None: nobody looks.
    key_logs, private_keys: paths of what decrypts TLS, where workers find it. key_password: path of the password.
    delta: whether the tables get a log of Delta Lake (pipeline/delta_tables.py).
    decompressed: bytes that a message may be decompressed to; by default what this process was told (wire.budget).
    """

    decode_as: DecodeAsRules = ()
    limits: Limits = field(default_factory=Limits)
    fields: bool = True
    bodies: pa.DataType | None = None
    split: int = SPLIT
    shuffled: bool = False
    window: int = WINDOW
    partitions: int | None = None
    counts: str | None = None
    key_logs: tuple[str, ...] = ()
    private_keys: tuple[str, ...] = ()
    key_password: str | None = None
    delta: bool = False
    decompressed: int = field(default_factory=get_allowance)
