"""The pages of `wireanalyze web` in a real browser."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator

import pytest

pytest.importorskip("textual_serve", reason="the extra wireanalyze[web] is not installed")

from aiohttp import ClientSession

from tests.analyzer.cli.test_web import behind_pages, serving
from tests.tui.browser import CHROMIUM, PATIENCE, chromium, tab
from tests.tui.driving import KAFKA
from tui.palettes import DARK
from tui.web.server import PageServer

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
    pytest.mark.xdist_group("browser"),
]

CURSOR = DARK["cursor"].rpartition("#")[2]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with chromium(tmp_path_factory.mktemp("chromium")) as found:
        yield found


def test_a_person_looks_at_a_capture(browser: str) -> None:
    async def look(address: str) -> None:
        origin = address.partition("/?")[0]
        async with tab(browser) as page:
            await page.visit(address)
            await page.wait(r"kafka\.pcap .*648 messages .* complete")
            await page.wait("ApiVersions v5 request")
            assert await page.run("location.href") == f"{origin}/"
            assert await page.run("document.cookie") == ""
            assert await page.run("document.fonts.check('14px Roboto Mono')")
            before, place = await page.picture(), (await page.papers()).index(CURSOR)

            await page.press("ArrowDown")
            await page.wait("ApiVersions v5 response")
            assert (await page.papers()).index(CURSOR) == place + 1
            assert await page.picture() != before

            await page.click(20, place + 2)
            await page.wait("Metadata v13 request")
            assert (await page.papers()).index(CURSOR) == place + 2
            top = (await page.lines())[place]
            await page.mouse(20, place, "mouseWheel", deltaX=0, deltaY=300)
            await page.until(f"{LINE.format(place)} !== {top!r}")

            await page.press("/")
            await page.order("Input.insertText", text="latency > 1ms")
            await page.wait("latency > 1ms")
            await page.press("Enter")
            await page.wait(r"filter: latency > 1ms, \d+ of 648")

            size = await page.run("[page.terminal.cols, page.terminal.rows]")
            await page.order(
                "Emulation.setDeviceMetricsOverride", width=800, height=500, deviceScaleFactor=1, mobile=False
            )
            await page.until(f"page.terminal.cols < {size[0]} && page.terminal.rows < {size[1]}")
            await page.wait(r"^ \S.* help .*$(?!\n.*\S)")

            await page.press("q")
            await page.until("getComputedStyle(document.querySelector('#closed')).display === 'block'")
            hosts = {url.partition("//")[2].partition("/")[0] for url in page.requests if "//" in url}
            assert hosts == {origin.partition("//")[2]}
            assert f"{origin.replace('http', 'ws')}/ws" in {url.partition("?")[0] for url in page.requests}

    with serving(str(KAFKA)) as (_, address):
        asyncio.run(look(address))


LINE = "page.terminal.buffer.active.getLine({}).translateToString(true, 0, page.terminal.cols)"

COPIES = """
import os, sys
def say(text): os.write(1, b"D" + len(text).to_bytes(4) + text)
os.write(1, b"__GANGLION__\\n")
say(b"\\x1b[?1049h\\x1b[?2004hhttps://example.com/ to be clicked\\r\\n")
while head := sys.stdin.buffer.read(5):
    got = sys.stdin.buffer.read(int.from_bytes(head[1:]))
    say(b"got" + got.replace(b"\\x1b", b"ESC"))
    if got == b"y":
        say(b"\\x1b]52;c;d2hhdCB3YXMgY29waWVk\\x07")
"""


def test_copy_and_paste_and_links_that_lead_nowhere(browser: str) -> None:
    async def look(session: ClientSession, pages: PageServer) -> None:
        async with tab(browser) as page:
            await page.visit(pages.gate.create_ticket())
            await page.wait("to be clicked")
            await page.press("y")
            await page.wait("goty")
            async with asyncio.timeout(PATIENCE):
                while "what was copied" not in (await page.lines())[1]:  # nobody says when a browser has copied
                    await page.press("v", control=True, command="paste")
                    await asyncio.sleep(0.1)
            await page.press("c", control=True, command="copy")
            await page.mouse(5, 0, "mouseMoved")
            await page.until("document.querySelector('.xterm-cursor-pointer') !== null")  # it is taken for a link
            await page.click(5, 0)
            await page.press("x")
            await page.wait(r"gotESC\[200~what was copiedESC\[201~gotx$")
            async with session.get(f"{browser}/json/list") as response:
                urls = [each["url"] for each in await response.json() if each["type"] == "page"]
            assert sorted(urls) == ["about:blank", f"{pages.gate.origin}/"]

    behind_pages([sys.executable, "-c", COPIES], look)


def test_without_the_token_there_is_a_sentence(browser: str) -> None:
    async def look(session: ClientSession, pages: PageServer) -> None:
        async with tab(browser) as page:
            await page.visit(pages.gate.origin)
            await page.until("document.body && document.body.innerText.includes('open the address')")
            assert await page.run("document.querySelector('script')") is None

    behind_pages([sys.executable, "-c", COPIES], look)


@pytest.mark.slow
def test_a_program_that_fails_says_why_in_the_browser(browser: str) -> None:
    async def look(session: ClientSession, pages: PageServer) -> None:
        async with tab(browser) as page:
            await page.visit(pages.gate.address)
            await page.wait("^it is gone$")
            await page.until("getComputedStyle(document.querySelector('#closed')).display === 'block'")

    behind_pages(["sh", "-c", "echo it is gone >&2; exit 3"], look)
