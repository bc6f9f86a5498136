"""Decrypts many records of one direction at once, as long as they are plain application data (RFC 8446, section 5.2).

The reference implementation is analyzer.tls.session, which handles one record at a time. A run ends before the first
record that the session must handle: another content type, a record that cannot be decrypted, or bytes that are not a
record.
"""

from __future__ import annotations

from typing import NamedTuple

from analyzer.tls.cipher import RecordCipher
from analyzer.tls.handshake import TLS12
from analyzer.tls.records import APPLICATION_DATA, CHANGE_CIPHER, HEADER, HEARTBEAT, MOST_BODY

_START = bytes((APPLICATION_DATA, *TLS12.to_bytes(2)))
"""The first bytes of a header of application data."""


class RecordRun(NamedTuple):
    """Holds n decrypted records.

    ends: the end of each record, in bytes from the start of the run. texts: the decrypted bytes of each, possibly with
    a content type at the end. lengths: bytes of plaintext in each text. unusual: the last byte needed to see that the
    record after the run is unusual; -1 if it is only incomplete.
    """

    ends: list[int]
    texts: list[bytes]
    lengths: list[int]
    unusual: int


def open_run(cipher: RecordCipher, number: int, data: bytes) -> RecordRun:
    """Decrypts the complete records at the front of `data`. number: the sequence number of the first one."""
    ends: list[int] = []
    texts: list[bytes] = []
    lengths: list[int] = []
    decrypt, failures, inner_type = cipher.make_opener(), cipher.failures, cipher.inner_type
    view, at, size = memoryview(data), 0, len(data)
    while (begin := at + HEADER) <= size:
        header = data[at:begin]
        length = header[3] << 8 | header[4]
        stop = begin + length
        usual = header[:3] == _START
        if length > MOST_BODY or not (usual or (CHANGE_CIPHER <= header[0] <= HEARTBEAT and header[1:3] == _START[1:])):
            return RecordRun(ends, texts, lengths, begin - 1)
        if stop > size:
            break
        if not usual:
            return RecordRun(ends, texts, lengths, stop - 1)
        try:
            text = decrypt(number, header, view[begin:stop])
        except failures:
            return RecordRun(ends, texts, lengths, stop - 1)
        length = len(text)
        if inner_type:
            if not text or text[-1] != APPLICATION_DATA:
                text = text.rstrip(b"\0")
                if not text or text[-1] != APPLICATION_DATA:
                    return RecordRun(ends, texts, lengths, stop - 1)
                length = len(text)
            length -= 1
        ends.append(stop)
        texts.append(text)
        lengths.append(length)
        number += 1
        at = stop
    return RecordRun(ends, texts, lengths, -1)
