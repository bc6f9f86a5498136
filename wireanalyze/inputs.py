"""Inputs of `open`: names, patterns, bytes and file objects, all as files on the disk."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from os import PathLike
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, TypeAlias

from analyzer.messages.decode_as import DecodeAsTarget, check_protocol, parse_target
from wireanalyze.errors import CaptureError, UsageError, require_extra, translate_errors

if TYPE_CHECKING:
    from analyzer.tls.key_files import KeyRing

Name: TypeAlias = str | PathLike[str]
Source: TypeAlias = Name | bytes | bytearray | memoryview | IO[bytes]
"""One capture: the name of a file, a pattern such as `ring/*.pcapng`, the bytes of a file, or an open binary file."""

Sources: TypeAlias = Source | Iterable[Source]
Names: TypeAlias = Name | Iterable[Name]
DecodeAs: TypeAlias = Mapping[int | str, str]
"""Protocols by port, range of ports or connection: `{19092: "kafka", "8000-8010": "none"}`, as after -d."""


def list_names(names: Names | None) -> list[str]:
    """Returns the names of files that one argument gives."""
    if names is None:
        return []
    if isinstance(names, str | PathLike):
        return [os.path.expanduser(os.fspath(names))]
    return [os.path.expanduser(os.fspath(name)) for name in names]


def list_files(sources: Sources, cleanup: ExitStack) -> list[str]:
    """Returns the names of capture files. What is no file is copied to a folder that `cleanup` removes.

    Raises CaptureError for a pattern without a file, and for no capture at all.
    """
    single = isinstance(sources, str | PathLike | bytes | bytearray | memoryview) or hasattr(sources, "read")
    found: list[str] = []
    for source in [sources] if single else sources:  # type: ignore[union-attr] # told by `single`
        if isinstance(source, str | PathLike):
            found += match_files(os.path.expanduser(os.fspath(source)))
        else:
            found.append(_copy(source, cleanup))  # type: ignore[arg-type]
    if not found:
        raise CaptureError("No capture was given. Give a file, bytes or a file object.")
    return found


def match_files(name: str) -> list[str]:
    """Returns the files that a name or a pattern means. Raises CaptureError for a pattern without a file."""
    if os.path.lexists(name) or not glob.has_magic(name):
        return [name]
    found = sorted(glob.glob(name, recursive=True))
    if not found:
        raise CaptureError(f"No file matches {name}. Check the folder and the pattern.")
    return found


def _copy(source: bytes | bytearray | memoryview | IO[bytes], cleanup: ExitStack) -> str:
    path = os.path.join(cleanup.enter_context(TemporaryDirectory(prefix="wireanalyze-")), "capture")
    with open(path, "wb") as file:
        if isinstance(source, bytes | bytearray | memoryview):
            file.write(source)
        else:
            shutil.copyfileobj(source, file)
    return path


def read_rules(decode_as: DecodeAs | None) -> dict[DecodeAsTarget, str]:
    """Returns the rules of a mapping. Raises UsageError for what is no port, connection or protocol."""
    found: dict[DecodeAsTarget, str] = {}
    try:
        for target, name in (decode_as or {}).items():
            check_protocol(name)
            found[parse_target(str(target))] = name
    except ValueError as error:
        raise UsageError(str(error)) from None
    return found


def make_key_ring(keylog: Names | None, key: Names | None, *, grows: bool = False) -> KeyRing | None:
    """Returns what decrypts TLS; None without keys. Raises UsageError for a file that holds none, and MissingExtra."""
    logs, keys = list_names(keylog), list_names(key)
    if not logs and not keys:
        return None
    require_extra("tls", "Decrypting TLS")
    from analyzer.tls.key_files import KeyRing

    with translate_errors():
        return KeyRing(logs, keys, grows=grows)
