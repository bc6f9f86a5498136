"""The optional parts of the program (extras): their modules and sizes, and the command that installs each.

Theory. The command depends on how the program was installed. pip writes the origin of a package into direct_url.json;
pipx keeps pipx_metadata.json in its environment; an environment of uv may have no pip.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from analyzer.errors import UserError
from analyzer.render.bug_report import PROGRAM


class Extra(NamedTuple):
    """The needs of an extra. modules: always imported; size: of the download and of the installation.

    sometimes: modules that only one option of the command imports.
    """

    modules: tuple[str, ...]
    size: str
    sometimes: tuple[str, ...] = ()


EXTRAS: Mapping[str, Extra] = {
    "pytest": Extra(("pytest",), "2 MB to download, 7 MB installed"),
    "tls": Extra(("cryptography",), "5 MB to download, 16 MB installed"),
    "mcp": Extra(("mcp",), "10 MB to download, 27 MB installed"),
    "parquet": Extra(("pyarrow",), "55 MB to download, 170 MB installed"),
    "pandas": Extra(("pandas", "pyarrow"), "66 MB to download, 240 MB installed"),
    "duckdb": Extra(("duckdb", "pyarrow"), "77 MB to download, 230 MB installed"),
    "polars": Extra(("polars", "pyarrow"), "105 MB to download, 330 MB installed"),
    "delta": Extra(("deltalake", "pyarrow"), "110 MB to download, 320 MB installed"),
    "pipeline": Extra(
        ("pyspark", "pyarrow", "pandas"), "570 MB to download, 890 MB installed", ("grpc", "grpc_status", "google.rpc")
    ),
    "web": Extra(("textual_serve", "aiohttp"), "4 MB to download, 17 MB installed"),
}
"""By name, smaller ones first: if two extras contain a module, the smaller one is suggested."""


def is_installed(extra: str) -> bool:
    """Returns whether all modules of an extra can be imported."""
    return not any(map(_is_missing, EXTRAS[extra].modules))


def require_extra(extra: str, what: str, *, whole: bool = False) -> None:
    """Raises UserError if an extra is not installed.

    what: the part of the program that needs it. whole: it also needs the modules in `sometimes`.
    """
    modules = EXTRAS[extra].modules + (EXTRAS[extra].sometimes if whole else ())
    missing = [name for name in modules if _is_missing(name)]
    if missing:
        raise UserError(_make_sentence(extra, what, missing[0]))


def explain_missing_extra(error: ImportError) -> str | None:
    """Returns the sentence for a failed import, if an extra has that module; or else None."""
    name = error.name or ""
    for extra, each in EXTRAS.items():
        for module in (*each.modules, *each.sometimes):
            if name == module or name.startswith(f"{module}."):
                return _make_sentence(extra, "This command", module)
    return None


def make_install_command(extra: str) -> str:
    """Returns the command that adds an extra to this installation."""
    if os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json")):
        return f"pipx inject {PROGRAM} {_quote_words(_list_requirements(extra))}"
    python = shlex.quote(sys.executable)
    pip = f"uv pip install --python {python}" if _is_missing("pip") else f"{python} -m pip install"
    return f"{pip} {_find_source(extra)}"


def _make_sentence(extra: str, what: str, module: str) -> str:
    return f"{what} needs {module}, which is not installed. Run: {make_install_command(extra)} ({EXTRAS[extra].size})"


def _is_missing(module: str) -> bool:
    try:
        return find_spec(module) is None
    except (ImportError, ValueError):  # its package is missing, or sys.modules marks it as missing
        return True


def _find_source(extra: str) -> str:
    """Returns pip's argument: the checkout, folder or name that the program was installed from, with the extra."""
    origin = _read_origin()
    url = urlsplit(str(origin.get("url", "")))
    folder = origin.get("dir_info")
    if not origin:
        return _quote_words([f"{PROGRAM}[{extra}]"])
    if not isinstance(folder, dict) or url.scheme != "file":
        return _quote_words(_list_requirements(extra))
    editable = "-e " if folder.get("editable") else ""
    return editable + _quote_words([f"{unquote(url.path)}[{extra}]"])


def _read_origin() -> Mapping[str, object]:
    """Returns pip's record of the origin of this program; empty for a package index."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        noted = distribution(PROGRAM).read_text("direct_url.json")
    except PackageNotFoundError:
        return {}
    found = json.loads(noted) if noted else {}
    return found if isinstance(found, dict) else {}


def _list_requirements(extra: str) -> list[str]:
    """Returns the requirements of an extra."""
    from importlib.metadata import requires

    marker = re.compile(rf"""(.+?) *; *extra *== *['"]{extra}['"]""")
    return [match[1] for each in requires(PROGRAM) or () if (match := marker.fullmatch(each))]


def _quote_words(words: list[str]) -> str:
    """Quotes words for a shell."""
    return " ".join(map(shlex.quote, words))
