"""`wireanalyze web` without a browser: what it refuses, whom it lets in, and how its processes end."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click
import pytest

import tui.web
from analyzer.cli import open as opening
from analyzer.cli import web as module
from analyzer.cli.program import run

pytest.importorskip("textual_serve", reason="the extra wireanalyze[web] is not installed")

from aiohttp import ClientResponse, ClientSession, ClientWebSocketResponse, CookieJar, WSMsgType, web

from tests.waiting import is_over, until
from tui.web import page_process, server
from tui.web.server import PageServer, open_socket

pytestmark = pytest.mark.xdist_group("web")
KAFKA = Path(__file__).parent.parent.parent.parent / "captures" / "kafka.pcap"
PATIENCE = 60


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "No capture was given."),
        (["/nowhere.pcap"], "Cannot open /nowhere.pcap:"),
        ([__file__], "is not a capture"),
        (["-"], "- is a pipe, which can be read only once, but each page reads the capture again. Give a file."),
        (
            [str(KAFKA), "--host", "0.0.0.0"],
            "web serves this computer only. Give --host 127.0.0.1 or ::1, not 0.0.0.0.",
        ),
        ([str(KAFKA), "--host", "::"], "not ::."),
        ([str(KAFKA), "--host", "example.com"], "::1, not example.com."),
        ([str(KAFKA), "--port", "65536"], "65536"),
        ([str(KAFKA), "-d", "9092=smtp"], "smtp"),
        ([str(KAFKA), "-Y", "latency >"], "expected a value"),
    ],
)
def test_what_it_refuses(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["web", *arguments]) == 2
    (line, *_) = capsys.readouterr().err.splitlines()
    assert line.startswith("wireanalyze: ")
    assert said in line


def test_a_pipe_with_a_name_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert run(["web", str(tmp_path / "fifo")]) == 2
    assert "fifo is a pipe" in capsys.readouterr().err


def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(["web", str(KAFKA), "--port", str(port)]) == 2
    assert f"Cannot listen on port {port} of 127.0.0.1" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["a.pcap", "b.pcap"],
        ["-r", "a.pcap", "b.pcap", "--read=c.pcap"],
        ["-n", "--show-secrets", "a.pcap", "--theme", "light", "--reader", "scapy"],
        ["-d", "9092=kafka", "a.pcap", "-d9093=none"],
        ["-Ylatency > 5ms", "a.pcap"],
        ["-Y", "--port", "--follow", "a.pcap"],
        ["--", "-r", "--open", "a b.pcap", "$(x);'\"\n.pcap"],
    ],
)
def test_open_gets_the_arguments_of_web(arguments: list[str]) -> None:
    def told(command: click.Command, words: Sequence[str]) -> click.Context:
        return command.make_context("x", list(words))

    own = ["--port", "8000", "--open", "--host", "::1"]
    requested = told(module.command, [*own, *arguments])
    opened = told(opening.command, requested.meta[module.WORDS])
    assert opened.params == {name: requested.params[name] for name in opened.params}
    assert requested.params.keys() - opened.params.keys() == {"host", "port", "browse"}


# Whom it lets in.


@contextmanager
def serving(*arguments: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The program, serving, and the address that it printed; ended at the end."""
    command = [sys.executable, "-m", "analyzer.cli", "web", *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
    assert process.stderr is not None
    try:
        found = re.search(r"http://\S+", process.stderr.readline())
        assert found is not None
        yield process, found[0]
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving(str(KAFKA)) as (_, found):
        yield found


def answered(address: str, visit: Callable[[ClientSession, str], Awaitable[Any]], *, enter: bool = True) -> Any:
    """What a visitor gets, with the cookie or without."""

    async def whole() -> Any:
        origin, _, token = address.rpartition("/")
        async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as session:
            if enter:
                async with session.get(f"{origin}/{token}") as response:
                    assert response.status == 200
            return await visit(session, origin)

    return asyncio.run(whole())


def status_of(address: str, path: str, *, enter: bool, **headers: str) -> tuple[int, str]:
    async def visit(session: ClientSession, origin: str) -> tuple[int, str]:
        async with session.get(origin + path, headers=headers) as response:
            return response.status, await response.text()

    status: tuple[int, str] = answered(address, visit, enter=enter)
    return status


WEBSOCKET = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}


@pytest.mark.parametrize(
    ("path", "enter", "headers"),
    [
        ("/", False, {}),
        ("/?token=", False, {}),
        ("/?token=x", False, {}),
        ("/?token=x", True, {}),
        ("/?token=%ff%00", False, {}),
        ("/", False, {"Cookie": "wireanalyze=x"}),
        ("/ws", False, {}),
        ("/ws", False, WEBSOCKET),
        ("/static/js/textual.js", False, {}),
        ("/static", False, {}),
        ("/page/page.js", False, {}),
        ("/download/x", False, {}),
        ("/nowhere", False, {}),
        ("/", True, {"Host": "example.com"}),
        ("/", True, {"Host": "localhost"}),
        ("/", True, {"Host": "127.0.0.1"}),
        ("/", True, {"Origin": "http://example.com"}),
        ("/", True, {"Origin": "null"}),
        ("/ws", True, WEBSOCKET),
        ("/ws", True, {**WEBSOCKET, "Origin": "http://example.com"}),
        ("/ws", True, {**WEBSOCKET, "Origin": "http://127.0.0.1"}),
    ],
)
def test_strangers_are_refused(address: str, path: str, enter: bool, headers: dict[str, str]) -> None:
    status, text = status_of(address, path, enter=enter, **headers)
    assert status == 403
    assert re.fullmatch(r"[^\n]+open the address that wireanalyze printed[^\n]*\n|open the address [^\n]+\n", text)


@pytest.mark.parametrize(
    ("path", "status"),
    [("/", 200), ("/static/js/textual.js", 200), ("/page/page.css", 200), ("/download/x", 404), ("/nowhere", 404)],
)
def test_what_is_there_for_who_has_the_cookie(address: str, path: str, status: int) -> None:
    assert status_of(address, path, enter=True)[0] == status


def test_the_token_becomes_a_cookie_and_leaves_the_address(address: str) -> None:
    async def visit(session: ClientSession, origin: str) -> ClientResponse:
        async with session.get(address, allow_redirects=False) as response:
            return response

    response = answered(address, visit, enter=False)
    assert (response.status, response.headers["Location"]) == (303, "/")
    cookie = response.headers["Set-Cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert address.partition("token=")[2] not in cookie


def test_the_page_may_load_nothing_from_elsewhere(address: str) -> None:
    async def visit(session: ClientSession, origin: str) -> tuple[str, str]:
        async with session.get(origin) as response:
            return response.headers["Content-Security-Policy"], await response.text()

    policy, page = answered(address, visit)
    words = dict(part.split(" ", 1) for part in policy.split("; "))
    assert words["default-src"] == words["frame-ancestors"] == "'none'"
    assert words["script-src"] == "'self'"
    assert "allow-popups" not in words["sandbox"]
    origin = address.partition("/?")[0]
    assert set(re.findall(r"\w+://[^\"/]+", page)) == {origin.replace("http", "ws")}
    assert "<title>kafka.pcap" in page


def test_a_request_without_a_host_is_refused(address: str) -> None:
    host, port = address.partition("//")[2].partition("/")[0].split(":")
    with socket.create_connection((host, int(port)), PATIENCE) as visitor:
        visitor.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert visitor.recv(1 << 16).split(b" ")[1] == b"403"


@pytest.mark.parametrize("host", tui.web.HOSTS)
def test_where_it_serves(host: str) -> None:
    try:
        socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError:
        pytest.skip(f"{host} is not to be had here")
    with serving(str(KAFKA), "--host", host) as (process, address):
        assert status_of(address, "/", enter=True)[0] == 200
        listed = Path(f"/proc/{process.pid}/net/tcp{'6' if ':' in host else ''}")
        if listed.exists():
            port = int(address.partition("/?")[0].rpartition(":")[2])
            sockets = [line.split()[1:4:2] for line in listed.read_text().splitlines()]
            listening = [place for place, state in sockets if state == "0A" and place.endswith(f":{port:04X}")]
            assert [place.partition(":")[0] for place in listening] == [LOOPBACK[host]]


LOOPBACK = {"127.0.0.1": "0100007F", "::1": "00000000000000000000000001000000"}
"""As Linux lists addresses of sockets."""


def test_a_browser_gets_an_address_of_its_own(tmp_path: Path) -> None:
    browser, reported = tmp_path / "browser", tmp_path / "told"
    browser.write_text(f'#!/bin/sh\necho "$1" > {reported}.new; mv {reported}.new {reported}\n')
    browser.chmod(0o755)
    with serving(str(KAFKA), "--open", BROWSER=str(browser)) as (_, address):
        until("the browser", reported.exists)
        ticket = reported.read_text().strip()
        assert ticket.partition("token=")[0] == address.partition("token=")[0]
        assert ticket != address
        assert status_of(ticket, "/", enter=True)[0] == 200


# The programs behind pages.


class Page:
    """A page without a browser: what came over its websocket, and what it sends."""

    def __init__(self, websocket: ClientWebSocketResponse) -> None:
        self.websocket, self.seen = websocket, b""

    async def wait(self, text: bytes) -> None:
        """Until the program has written a text."""
        async with asyncio.timeout(PATIENCE):
            while text not in self.seen:
                message = await self.websocket.receive()
                assert message.type in (WSMsgType.BINARY, WSMsgType.TEXT), self.seen[-2000:]
                if message.type is WSMsgType.BINARY:
                    self.seen += message.data

    async def ended(self) -> bytes:
        """All that came until the websocket was closed from the other side."""
        async with asyncio.timeout(PATIENCE):
            async for message in self.websocket:
                self.seen += message.data if message.type is WSMsgType.BINARY else b""
        return self.seen

    async def send(self, *message: object) -> None:
        await self.websocket.send_json(message)


@asynccontextmanager
async def page(session: ClientSession, origin: str) -> AsyncIterator[Page]:
    url = f"{origin.replace('http', 'ws')}/ws?width=120&height=30"
    async with session.ws_connect(url, origin=origin, max_msg_size=0) as websocket:
        yield Page(websocket)


def children(pid: int) -> list[int]:
    """The processes that a process has started and that have not ended."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=True)
    rows = [line.split() for line in listed.stdout.splitlines()]
    return [int(row[0]) for row in rows if row[1] == str(pid) and not row[2].startswith("Z")]


def test_the_program_behind_a_page(tmp_path: Path) -> None:
    name = "a; touch pwned; $(touch pwned) `touch pwned` '\" <b>.pcap"
    (tmp_path / name).write_bytes(KAFKA.read_bytes())
    (tmp_path / "analyzer").mkdir()
    (tmp_path / "analyzer" / "__init__.py").write_text("raise SystemExit('not ours')")

    async def look(origin: str, token: str, pid: int) -> list[int]:
        async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as session:
            async with session.get(f"{origin}/{token}") as response:
                assert "$(touch pwned) `touch pwned` &#39;&#34; &lt;b&gt;.pcap" in await response.text()
            async with page(session, origin) as first, page(session, origin) as second:
                for each in (first, second):
                    await each.wait(b"filter")
                    await each.wait(b"touch pwned")
                assert len(children(pid)) == 2
                for wrong in ([], ["stdin", 5], ["stdin"], ["resize", {"width": "x"}], [{}], {}):
                    await first.websocket.send_json(wrong)
                await first.websocket.send_str("\ufffe no JSON")
                await first.websocket.send_str('["stdin", "?\\ud800"]')
                await first.wait(b"Everywhere")
                await first.send("stdin", "q")
                await first.send("stdin", "q")
                await first.ended()
                async with asyncio.timeout(PATIENCE):
                    while len(found := children(pid)) != 1:
                        await asyncio.sleep(0.02)
            return found

    words = ["-Y", "protocol == kafka", "--", name]
    command = [sys.executable, "-P", "-m", "analyzer.cli", "web", *words]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert process.stderr is not None
    try:
        line, reported = process.stderr.readline(), process.stderr.readline()
        assert reported == "wireanalyze: Press Ctrl-C to stop it and its pages.\n"
        assert line.startswith("wireanalyze: a; touch pwned; ")
        origin, _, token = line.split(" at ")[1].strip().rpartition("/")
        for pid in asyncio.run(look(origin, token, process.pid)):
            until("its end", partial(is_over, pid))  # its page was closed
    finally:
        process.send_signal(signal.SIGINT)
        _, text = process.communicate(timeout=PATIENCE)
    assert (process.returncode, text) == (0, "")
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_programs_end_with_the_server(number: signal.Signals) -> None:
    async def look(origin: str, token: str, server: subprocess.Popen[str]) -> list[int]:
        async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as session:
            async with session.get(f"{origin}/{token}"):
                pass
            async with page(session, origin) as shown:
                await shown.wait(b"648")
                found = children(server.pid)
                server.send_signal(number)
                await shown.ended()
        return found

    with serving(str(KAFKA)) as (process, address):
        origin, _, token = address.rpartition("/")
        (pid,) = asyncio.run(look(origin, token, process))
        until("its end", partial(is_over, pid))
        assert process.wait(PATIENCE) == (0 if number is signal.SIGTERM else -number)


# Pages with other programs behind them, in this process.


def behind_pages(words: Sequence[str], look: Callable[[ClientSession, PageServer], Awaitable[None]]) -> list[str]:
    """Serves a command to a visitor that has the cookie; the lines that the commands said."""
    text: list[str] = []

    async def whole() -> None:
        pages = PageServer(words, "test", open_socket("127.0.0.1", 0), text.append)
        runner = web.AppRunner(await pages._make_app(), shutdown_timeout=1)
        await runner.setup()
        await web.SockSite(runner, pages._listening).start()
        try:
            async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as session:
                async with session.get(pages.gate.address) as response:
                    assert response.status == 200
                await look(session, pages)
        finally:
            await runner.cleanup()

    asyncio.run(whole())
    return text


READS_ON = [sys.executable, "-c", "import os; os.write(1, b'__GANGLION__\\n'); os.read(0, 1)"]
PAINTS_ON = "import os\nos.write(1, b'__GANGLION__\\n')\nwhile True: os.write(1, b'D\\0\\1\\0\\0' + 65536 * b'x')"


def test_no_more_than_so_many_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST", 2)

    async def look(session: ClientSession, pages: PageServer) -> None:
        origin = pages.gate.origin
        async with page(session, origin), page(session, origin), page(session, origin) as third:
            assert b"2 pages are open, and no more at once" in await third.ended()
            assert third.websocket.close_code == 1013
            assert len(pages._open) == 2

    assert behind_pages(READS_ON, look) == []


def test_a_ticket_is_good_for_one() -> None:
    async def look(session: ClientSession, pages: PageServer) -> None:
        ticket = pages.gate.create_ticket()
        assert ticket != pages.gate.address
        for status in (303, 403):
            async with ClientSession() as stranger, stranger.get(ticket, allow_redirects=False) as response:
                assert response.status == status

    behind_pages(READS_ON, look)


def test_a_program_that_fails_says_why_on_its_page_and_on_the_terminal() -> None:
    async def look(session: ClientSession, pages: PageServer) -> None:
        async with page(session, pages.gate.origin) as shown:
            assert b"it is \\x1b[31m gone\r\nfor ever" in await shown.ended()

    words = ["sh", "-c", r"printf 'it is \033[31m gone\nfor ever\n' >&2; exit 3"]
    assert behind_pages(words, look) == ["it is \\x1b[31m gone", "for ever"]


@pytest.mark.parametrize(
    "words", [["sleep", "60"], [sys.executable, "-c", PAINTS_ON], READS_ON], ids=["deaf", "paints for nobody", "waits"]
)
def test_every_program_ends_with_its_page(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_process, "PATIENCE", 0.5)

    async def look(session: ClientSession, pages: PageServer) -> None:
        async with page(session, pages.gate.origin):
            while not (found := [each._process for each in pages._open if each._process is not None]):
                await asyncio.sleep(0.02)
        async with asyncio.timeout(PATIENCE):
            while pages._open:
                await asyncio.sleep(0.02)
        until("its end", partial(is_over, found[0].pid))

    behind_pages(words, look)


def test_messages_of_a_page_are_packets_for_the_program() -> None:
    words = [sys.executable, "-c", (
        "import os\nos.write(1, b'__GANGLION__\\n')\n"
        "while got := os.read(0, 999): os.write(1, b'D' + len(got).to_bytes(4) + got)"
    )]  # fmt: skip

    async def look(session: ClientSession, pages: PageServer) -> None:
        async with page(session, pages.gate.origin) as shown:
            for message, packet in [
                (("stdin", "é\x1b[A"), b"D\0\0\0\x05\xc3\xa9\x1b[A"),
                (("resize", {"width": 9, "height": 5}), b'{"type": "resize", "width": 9, "height": 5}'),
                (("focus",), b'M\0\0\0\x11{"type": "focus"}'),
                (("blur",), b'M\0\0\0\x10{"type": "blur"}'),
            ]:
                await shown.send(*message)
                await shown.wait(packet)
            await shown.websocket.send_str(json.dumps(["stdin", "x" * 5_000_000]))  # what somebody pastes
            await shown.wait(b"x" * 900)

    behind_pages(words, look)
