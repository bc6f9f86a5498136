"""Opens many records of one direction at once, as far as they are plain application data (RFC 8446, section 5.2).

The reference implementation is analyzer.tls.session, one record at a time. A run ends before the first record that the
session has to think about: another content type, a record that does not open, bytes that are no record.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from analyzer.tls.cipher import BadRecord, RecordCipher
from analyzer.tls.handshake import TLS12
from analyzer.tls.records import APPLICATION_DATA, CHANGE_CIPHER, HEADER, HEARTBEAT, MOST_BODY

_HEADER = Struct(">BHH")
_INNER_TYPE = bytes((APPLICATION_DATA,))


class RecordRun(NamedTuple):
    """Holds n records that were opened.

    ends: where each record ends, in bytes from the begin of the run. texts: what each encrypts; it may have a content
    type behind it. lengths: bytes of plaintext in each text. unusual: the last byte that shows the record behind the
    run to be unusual, -1 if it is only incomplete.
    """

    ends: list[int]
    texts: list[bytes]
    lengths: list[int]
    unusual: int


def open_run(cipher: RecordCipher, number: int, data: bytes) -> RecordRun:
    """Opens the complete records at the front of `data`. number: the sequence number of the first one."""
    ends: list[int] = []
    texts: list[bytes] = []
    lengths: list[int] = []
    decrypt, inner_type, unpack, view = cipher.decrypt, cipher.inner_type, _HEADER.unpack_from, memoryview(data)
    at, size = 0, len(data)
    while (begin := at + HEADER) <= size:
        kind, version, length = unpack(data, at)
        stop = begin + length
        if version != TLS12 or length > MOST_BODY or not CHANGE_CIPHER <= kind <= HEARTBEAT:
            return RecordRun(ends, texts, lengths, begin - 1)
        if stop > size:
            break
        if kind != APPLICATION_DATA:
            return RecordRun(ends, texts, lengths, stop - 1)
        try:
            text = decrypt(number, kind, view[begin:stop])
        except BadRecord:
            return RecordRun(ends, texts, lengths, stop - 1)
        length = len(text)
        if inner_type:
            if text[-1:] != _INNER_TYPE:
                text = text.rstrip(b"\0")
                if text[-1:] != _INNER_TYPE:
                    return RecordRun(ends, texts, lengths, stop - 1)
                length = len(text)
            length -= 1
        ends.append(stop)
        texts.append(text)
        lengths.append(length)
        number += 1
        at = stop
    return RecordRun(ends, texts, lengths, -1)
