"""--keylog, --key and tls.keylog: where keys come from, and what never comes out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.program import run

GOLDEN = Path(__file__).parents[2] / "golden" / "tls"
CAPTURE, KEYS = str(GOLDEN / "k_ossl_t12_etm_sha256.pcap.zst"), GOLDEN / "k_ossl_t12_etm_sha256.keylog"
SECRETS = re.findall(r"[0-9a-f]{64,}$", KEYS.read_text(), re.MULTILINE)


def test_each_command_takes_a_key_log() -> None:
    assert b"ApiVersions" not in run("list", CAPTURE).stdout
    for command in (
        ("list",),
        ("stats",),
        ("doctor", "--json"),
        ("info",),
        ("follow", "0"),
        ("report", "clients"),
        ("show", "1", "--json"),
    ):
        done = run(command[0], CAPTURE, *command[1:], "--keylog", str(KEYS))
        assert done.returncode == 0, done.stderr
        assert b"TLS" not in done.stderr
        assert not any(secret.encode() in done.stdout + done.stderr for secret in SECRETS)
    done = run("list", CAPTURE, "--keylog", str(KEYS))
    assert done.stderr == b""
    assert b"ApiVersions" in done.stdout
    assert b"unknown" not in done.stdout


def test_several_key_logs_are_one(tmp_path: Path) -> None:
    lines = KEYS.read_text().splitlines(keepends=True)
    (tmp_path / "a").write_text("".join(lines[:3]))
    (tmp_path / "b").write_text("".join(lines[3:]))
    both = run("list", CAPTURE, "--keylog", str(tmp_path / "a"), "--keylog", str(tmp_path / "b"))
    assert both.stdout == run("list", CAPTURE, "--keylog", str(KEYS)).stdout
    one = run("list", CAPTURE, "--keylog", str(tmp_path / "a"))
    assert b"its keys are in no key log" in one.stderr


@pytest.mark.parametrize("given", ['"{keys}"', '["$KEYS_OF_TODAY", "$NOTHING"]'])
def test_the_configuration_names_key_logs(tmp_path: Path, given: str) -> None:
    (tmp_path / "config.toml").write_text(f"[tls]\nkeylog = {given.format(keys=KEYS)}\n")
    environment = {"WIREANALYZE_CONFIG": str(tmp_path / "config.toml"), "KEYS_OF_TODAY": str(KEYS)}
    assert run("list", CAPTURE, **environment).stdout == run("list", CAPTURE, "--keylog", str(KEYS)).stdout
    assert b"[tls]\nkeylog = [" in run("config", "show", **environment).stdout


def test_the_environment_alone_decrypts_nothing() -> None:
    assert run("list", CAPTURE, SSLKEYLOGFILE=str(KEYS)).stdout == run("list", CAPTURE).stdout


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[tls]\nkeys = 1", "There is no key tls.keys. Use keylog."),
        ("[tls]\nkeylog = 1", "tls.keylog is 1. It must be a file, or a list of files."),
    ],
)
def test_a_wrong_configuration_is_one_sentence(tmp_path: Path, text: str, error: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    done = run("list", CAPTURE, WIREANALYZE_CONFIG=str(tmp_path / "config.toml"))
    assert done.returncode
    assert done.stderr.decode().rstrip().endswith(error)


def test_wrong_keys_are_one_finding_and_change_nothing_else(tmp_path: Path) -> None:
    wrong = re.sub(r"([0-9a-f]{64,})$", lambda found: found[1][::-1], KEYS.read_text(), flags=re.MULTILINE)
    (tmp_path / "wrong").write_text(wrong)
    done = run("list", CAPTURE, "--keylog", str(tmp_path / "wrong"), "-v")
    assert done.stdout == run("list", CAPTURE).stdout
    assert done.stderr.count(b"TLS is not decrypted: its keys do not fit") == 5
