"""The incident page: parsed as a browser does, with hostile names, without secrets, bounded, and opened in Chromium."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from analyzer.decode import fragments
from analyzer.decode.masking import find_secret_spans
from analyzer.insight.incident import gather_incident
from analyzer.render.html import messages, page
from analyzer.render.html.elements import VOID, Html, make_element
from analyzer.session import Session
from tests.analyzer.wire import CLIENT, Talk, capture, segments

CAPTURES = Path(__file__).parents[3] / "captures"
HOSTILE = "<script>alert(1)</script>\"'&\u202e\x1b"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Page(HTMLParser):
    """Elements with their attributes, and text; fails where elements do not close in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements = list[tuple[str, dict[str, str | None]]]()
        self.text = ""
        self._open = list[str]()
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.text += data

    def values(self, name: str) -> list[str]:
        return [value for _, attributes in self.elements if (value := attributes.get(name)) is not None]


def write(*paths: Path) -> str:
    with Session(paths).load() as session:
        return page.make_page(session, [path.name for path in paths], gather_incident(session))


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A Metadata request with a hostile client and topic, which nobody answers."""
    text = HOSTILE.encode()
    named = len(text).to_bytes(2) + text
    body = bytes.fromhex("0003000100000001") + named + bytes.fromhex("00000001") + named
    return capture(tmp_path / "<img src=x>.pcap", segments(Talk(((CLIENT, len(body).to_bytes(4) + body),))))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["kafka-4.4.pcap.zst", "mixed.pcapng", "zookeeper.pcap.zst", "rocketmq.pcap.zst"])
def test_a_page_needs_nothing_else(name: str) -> None:
    text = write(CAPTURES / name)
    found = Page(text)
    names = Counter(tag for tag, _ in found.elements)
    assert not names.keys() & {"script", "link", "img", "iframe", "object", "embed", "form", "base", "audio", "video"}
    assert names["svg"] >= 2
    assert names["details"] > 10
    assert not [key for _, attributes in found.elements for key in attributes if key.startswith("on") or key == "src"]
    anchors = set(found.values("id"))
    assert anchors
    assert all(target.startswith("#") and target[1:] in anchors for target in found.values("href"))
    assert "url(" not in text
    assert "@import" not in text
    policy = [each["content"] for tag, each in found.elements if each.get("http-equiv") == "Content-Security-Policy"]
    assert policy == [page.POLICY]


def test_hostile_names_are_text(hostile: Path) -> None:
    text = write(hostile)
    found = Page(text)
    assert not {tag for tag, _ in found.elements} & {"script", "img"}
    shown = HOSTILE.replace("\u202e", "\\u202e").replace("\x1b", "\\x1b")
    assert shown in found.text
    assert escape(shown) in text
    assert "<img src=x>.pcap" in found.text


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["kafka-4.4.pcap.zst", "zookeeper.pcap.zst", "rocketmq.pcap.zst", "pulsar.pcap.zst"])
def test_secrets_are_masked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "LARGEST", 1 << 30)
    with Session([CAPTURES / name]).load() as session:
        secret = dict[int, list[bytes]]()
        for row in range(len(session.rows)):
            tree = fragments.decode_tree_with_message(session, row)
            for source, spans in find_secret_spans(tree).items():
                secret.setdefault(row, []).extend(tree.sources[source].data[slice(*span)] for span in spans)
        shown, rows = messages.make_messages(session, list(secret)[:200])
    assert rows == list(secret)[:200]
    text = "".join(shown)
    for part in (part for row in rows for part in secret[row] if len(part) >= 12):
        assert part.hex() not in text
        assert part.decode("latin-1") not in text


def test_a_page_is_bounded_and_says_what_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    every = write(CAPTURES / "kafka-4.4.pcap.zst")
    assert "problems are left out" not in every
    monkeypatch.setattr(page, "PROBLEMS", 3)
    monkeypatch.setattr(page, "MESSAGES", 1)
    monkeypatch.setattr(page, "OPERATIONS", 4)
    monkeypatch.setattr(page, "ENTRIES", 1)
    monkeypatch.setattr(messages, "NODES", 5)
    few = write(CAPTURES / "kafka-4.4.pcap.zst")
    assert len(few) < len(every) / 2
    text = Page(few).text
    assert "problems are left out." in text
    assert "messages are left out." in text
    assert "operations are left out." in text
    assert "rows are left out." in text
    assert "more are left out" in text
    monkeypatch.setattr(messages, "LARGEST", 0)
    assert 'href="#m' not in write(CAPTURES / "kafka-4.4.pcap.zst")


def test_a_capture_without_messages(tmp_path: Path) -> None:
    path = capture(tmp_path / "empty.pcap", [])
    assert "No problems were found." in Page(write(path)).text


def test_elements_escape() -> None:
    assert (
        make_element("p", "<b>", make_element("b", "&"), title='"x"')
        == '<p title="&quot;x&quot;">&lt;b&gt;<b>&amp;</b></p>'
    )
    assert isinstance(make_element("br"), Html)


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium; Debian's package is chromium")
def test_chromium_opens_it(hostile: Path, tmp_path: Path) -> None:
    """Nothing is stopped by the policy, no hostile name runs, and the page can be printed."""
    assert CHROMIUM is not None
    path = tmp_path / "page.html"
    path.write_text(write(CAPTURES / "kafka-4.4.pcap.zst", hostile))
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    # What the policy stops would be told on the console.
    done = subprocess.run(
        [CHROMIUM, *options, "--enable-logging=stderr", "--dump-dom", path.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert "CONSOLE" not in done.stderr
    dom = done.stdout
    assert "alert(1)" in dom
    assert "<script" not in dom
    assert dom.count("<rect") > 10
    printed = tmp_path / "page.pdf"
    subprocess.run(
        [CHROMIUM, *options, f"--print-to-pdf={printed}", path.as_uri()], capture_output=True, timeout=120, check=True
    )
    assert printed.stat().st_size > 10_000
