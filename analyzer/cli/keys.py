"""The options --keylog and --key: secrets that decrypt TLS, for all commands that open captures."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from analyzer.cli.settings import settings

if TYPE_CHECKING:
    from analyzer.tls.key_files import KeyRing

_Command = TypeVar("_Command", bound=Callable[..., Any])

_LOGS, _KEYS, _PASSWORD = (f"{__name__}.{name}" for name in ("keylog", "key", "key_password_file"))


def _keep(context: click.Context, parameter: click.Parameter, files: tuple[str, ...] | str | None) -> None:
    if files:
        context.meta[f"{__name__}.{parameter.name}"] = files


def keys_options(command: _Command) -> _Command:
    """Adds --keylog, --key and --key-password-file, which apply to the whole program."""
    password = click.option(
        "--key-password-file",
        metavar="FILE",
        expose_value=False,
        callback=_keep,
        help="Read the password of private keys from this file. Without it, the program takes the password from"
        " WIREANALYZE_KEY_PASSWORD, or asks you for it.",
    )
    key = click.option(
        "--key",
        multiple=True,
        metavar="FILE",
        expose_value=False,
        callback=_keep,
        help="Decrypt TLS sessions that use RSA key exchange, with this private key of the server (PEM or PKCS#12).",
    )
    log = click.option(
        "--keylog",
        multiple=True,
        metavar="FILE",
        expose_value=False,
        callback=_keep,
        help="Decrypt TLS with this key log (SSLKEYLOGFILE). The program also reads lines that are added later.",
    )
    return log(key(password(command)))


def list_key_files() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the key logs and private keys of the running command: its own, and key logs of the configuration."""
    context = click.get_current_context(silent=True)
    logs, keys = ((), ()) if context is None else (context.meta.get(each, ()) for each in (_LOGS, _KEYS))
    configured = (os.path.expanduser(os.path.expandvars(each)) for each in settings().key_logs)
    # An unset variable is not expanded; such a path is ignored.
    return (*logs, *(each for each in configured if "$" not in each and each not in logs)), tuple(keys)


def make_key_ring(*, grows: bool = False) -> KeyRing | None:
    """Makes the key ring that decrypts TLS for a command; None without keys. Raises UserError.

    grows: key logs grow while the capture does, and need not exist yet.
    """
    logs, keys = list_key_files()
    if not logs and not keys:
        return None
    from analyzer.render.extras import require_extra  # lazy: most captures are not encrypted
    from analyzer.tls.key_files import KeyPasswords, KeyRing

    require_extra("tls", "Decrypting TLS")
    ask = _ask_password if sys.stderr.isatty() else None
    return KeyRing(logs, keys, KeyPasswords(find_password_file(), ask), grows=grows)


def find_password_file() -> str | None:
    """Returns the password file of private keys from the command line, or None."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(_PASSWORD)


def _ask_password(key: str) -> bytes:
    """Asks for a password on the terminal, without echo."""
    from getpass import getpass  # lazy: most keys have no password

    try:
        return getpass(f"Password of {key}: ").encode()
    except EOFError:
        return b""
