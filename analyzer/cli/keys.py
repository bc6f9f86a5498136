"""--keylog and --key: what decrypts TLS, for every command that opens captures."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from analyzer.cli.settings import settings

if TYPE_CHECKING:
    from analyzer.tls.key_files import KeyRing

_Command = TypeVar("_Command", bound=Callable[..., Any])

_LOGS, _KEYS = (f"{__name__}.{name}" for name in ("logs", "keys"))


def _keep(context: click.Context, parameter: click.Parameter, files: tuple[str, ...]) -> None:
    if files:
        context.meta[_LOGS if parameter.name == "keylog" else _KEYS] = files


def keys_options(command: _Command) -> _Command:
    """Adds --keylog and --key, which hold for the whole program."""
    key = click.option(
        "--key",
        multiple=True,
        metavar="FILE",
        expose_value=False,
        callback=_keep,
        help="Decrypt TLS sessions with RSA key exchange by this private key of the server (PEM or PKCS#12).",
    )
    log = click.option(
        "--keylog",
        multiple=True,
        metavar="FILE",
        expose_value=False,
        callback=_keep,
        help="Decrypt TLS by this key log (SSLKEYLOGFILE). It is read on while it grows.",
    )
    return log(key(command))


def list_key_files() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The key logs and private keys of the running command: its own, and key logs of the configuration."""
    context = click.get_current_context(silent=True)
    logs, keys = ((), ()) if context is None else (context.meta.get(each, ()) for each in (_LOGS, _KEYS))
    configured = (os.path.expanduser(os.path.expandvars(each)) for each in settings().key_logs)
    # A variable that is not set stays as it is: then the user asks for nothing.
    return (*logs, *(each for each in configured if "$" not in each and each not in logs)), tuple(keys)


def make_key_ring(*, grows: bool = False) -> KeyRing | None:
    """Makes the key ring that decrypts TLS for a command; None without keys. Raises UserError.

    grows: the capture grows together with its key logs, which need not be there yet.
    """
    logs, keys = list_key_files()
    if not logs and not keys:
        return None
    from analyzer.render.extras import require_extra  # lazy, too: most captures are not encrypted
    from analyzer.tls.key_files import KeyRing

    require_extra("tls", "Decrypting TLS")
    return KeyRing(logs, keys, grows=grows)
