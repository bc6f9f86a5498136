"""Key logs that come late: r reads the capture again."""

from __future__ import annotations

from pathlib import Path

from analyzer.tls.key_files import KeyRing
from tests.tui.driving import Drive, drive

GOLDEN = Path(__file__).parents[1] / "golden" / "tls"


def test_late_key_logs_are_read_again(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.touch()
    ring = KeyRing([str(keys)])

    async def press(found: Drive) -> None:
        assert "10 messages" in found.text("title")
        keys.write_bytes((GOLDEN / "k_ossl_t12_etm_sha256.keylog").read_bytes())
        await found.press("r")
        await found.until(lambda: "48 messages" in found.text("title"))
        assert "ApiVersions" in found.text("list")

    drive(press, GOLDEN / "k_ossl_t12_etm_sha256.pcap.zst", secrets=ring)


def test_tabs_show_what_carried_a_decrypted_message() -> None:
    ring = KeyRing([str(GOLDEN / "k_ossl_t12_etm_sha256.keylog")])

    async def press(found: Drive) -> None:
        await found.press("ctrl+g", "2", "enter", "tab", "tab", "]")
        await found.until(lambda: "17 03 03" in found.text("hex"))
        assert "[TLS records]" in found.text("hex-head")
        await found.press("]")
        assert "[packets]" in found.text("hex-head")
        assert "08 00 45" in found.text("hex")  # an Ethernet header ends where one of IPv4 begins
        await found.press("]")
        assert "[message]" in found.text("hex-head")

    drive(press, GOLDEN / "k_ossl_t12_etm_sha256.pcap.zst", secrets=ring)
