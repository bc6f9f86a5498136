"""Jars from a Maven registry, with all that they need, fetched once.

Theory. Which jars an artifact needs is Maven's knowledge (parents, scopes, exclusions, which version wins), so Maven
itself resolves them, from a project file of a few lines, and copies them into a folder of the cache that is named for
the contents of that file. It checks what it downloads (-C) and follows the user's own settings: a mirror or a proxy in
settings.xml is used here too. A folder is filled under another name and renamed, so one that exists is whole.

WIREANALYZE_MAVEN is the address of a registry: it is then used instead of Maven's own, and Maven itself comes from
there where no `mvn` is installed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import urllib.request
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from tests.brokers.lab.missing import Missing

REGISTRY = "WIREANALYZE_MAVEN"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
VERSION = "3.9.11"
ARCHIVE = f"org/apache/maven/apache-maven/{VERSION}/apache-maven-{VERSION}-bin.zip"
SHA512 = (
    "03e2d65d4483a3396980629f260e25cac0d8b6f7f2791e4dc20bc83f9514db8d"
    "0f05b0479e699a5f34679250c49c8e52e961262ded468a20de0be254d8207076"
)
PATIENCE = 570.0
"""Seconds for a first fetch; later ones take none."""

_PROJECT = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>local</groupId><artifactId>jars</artifactId><version>1</version>
<packaging>pom</packaging>
<dependencyManagement><dependencies>{pins}{imports}</dependencies></dependencyManagement>
<dependencies>{artifacts}</dependencies>
</project>
"""

_NOTHING_ELSE = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"

_SETTINGS = """<settings xmlns="http://maven.apache.org/SETTINGS/1.0.0">
<mirrors><mirror><id>given</id><mirrorOf>*</mirrorOf><url>{url}</url></mirror></mirrors>
</settings>
"""


_REFUSED = re.compile(r"Could not find artifact|was not found in|[Cc]hecksum validation failed")
"""What Maven says where a registry answers, but not with what was asked for."""


class WrongRecipe(Exception):
    """A registry answers and has no such thing, or another than there was: a failure, not something that is missing."""


@dataclass(frozen=True, slots=True)
class Jars:
    """Artifacts as `group:name:version`; `pins` fix the versions of what they need, where Maven would choose wrong.

    managed: projects whose own list of versions is followed, where there are too many for pins: a server that was
    built against one release of a library is otherwise given another by the nearest of those that ask for it.
    alone: without what they need.
    """

    name: str
    artifacts: tuple[str, ...]
    pins: tuple[str, ...] = ()
    managed: tuple[str, ...] = ()
    alone: bool = False


def fetched(jars: Jars, java: str) -> Path:
    """The folder with these jars and all that they need; `java` runs Maven. Raises Missing, or WrongRecipe."""
    project = _PROJECT.format(
        pins=_dependencies(jars.pins),
        imports=_dependencies(jars.managed, "<type>pom</type><scope>import</scope>"),
        artifacts=_dependencies(jars.artifacts, _NOTHING_ELSE if jars.alone else ""),
    )
    folder = cache() / f"{jars.name}-{hashlib.sha256(project.encode()).hexdigest()[:12]}"
    if folder.is_dir():
        return folder
    cache().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache(), prefix="fetching-") as place:
        work = Path(place)
        (work / "pom.xml").write_text(project)
        command = [*_maven(), "-B", "-q", "-C", "-f", str(work / "pom.xml")]
        if url := os.environ.get(REGISTRY):
            (work / "settings.xml").write_text(_SETTINGS.format(url=escape(url)))
            command += ["-s", str(work / "settings.xml")]
        command += [PLUGIN, "-DincludeScope=runtime", f"-DoutputDirectory={work / 'jars'}"]
        # Started through a link, a Java's home is where the link leads.
        home = Path(java).resolve().parent.parent
        _run(command, {**os.environ, "JAVA_HOME": str(home)})
        _put(work / "jars", folder)
    return folder


def cache() -> Path:
    """Where jars are kept from run to run."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wireanalyze" / "jars"


def _dependencies(names: Sequence[str], more: str = "") -> str:
    tags = ("groupId", "artifactId", "version")
    parts = [zip(tags, name.split(":"), strict=True) for name in names]
    inner = ["".join(f"<{tag}>{escape(text)}</{tag}>" for tag, text in each) for each in parts]
    return "".join(f"<dependency>{each}{more}</dependency>" for each in inner)


def _run(command: Sequence[str], environment: dict[str, str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment)
    except subprocess.TimeoutExpired:
        raise Missing(f"no Maven registry answered in {PATIENCE:.0f} s") from None
    if done.returncode:
        output = (done.stdout or done.stderr).strip().partition("\n[ERROR] \n")[0]
        text = f"Maven could not fetch: {' '.join(output.replace('[ERROR]', '').split())[:600]}"
        raise WrongRecipe(text) if _REFUSED.search(output) else Missing(text)


def _maven() -> list[str]:
    """The command that starts Maven: the one that is installed, else one of the cache."""
    if installed := shutil.which("mvn"):
        return [installed]
    folder = cache() / f"apache-maven-{VERSION}"
    if not folder.is_dir():
        _install(folder)
    return ["sh", str(folder / "bin" / "mvn")]


def _install(folder: Path) -> None:
    url = os.environ.get(REGISTRY)
    if not url:
        raise Missing(f"no mvn: install Maven, or set {REGISTRY} to a registry's address, and it is fetched from there")
    with tempfile.TemporaryDirectory(dir=cache(), prefix="fetching-") as place:
        archive = Path(place) / "maven.zip"
        try:
            with urllib.request.urlopen(f"{url.rstrip('/')}/{ARCHIVE}", timeout=60) as answer:
                archive.write_bytes(answer.read())
        except OSError as error:
            raise Missing(f"Maven could not be fetched from {url}: {error}") from None
        if hashlib.sha512(archive.read_bytes()).hexdigest() != SHA512:
            raise WrongRecipe(f"what {url} gives as Maven {VERSION} is not what it should be")
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(place)
        _put(Path(place) / folder.name, folder)


def _put(made: Path, folder: Path) -> None:
    """Renames what was made; where another run was faster, its result is as good."""
    try:
        made.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
