"""Attacks on the window from a real browser: pages of other sites that know the secret address, and hostile texts."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from exporter.archive.lock import ArchiveLock
from exporter.clock import SystemClock
from tests.site.browser.launching import chromium
from tests.window.running import Running, running

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

VICTIM = "20260101000000-abcdef"
RUNNING = "20260102000000-abcdef"
SCRIPT = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
FORM = """<form method="post" action="{again}" enctype="{kind}"><input name="a" value="b"></form>
<script>document.forms[0].submit()</script>"""
READERS = """<!doctype html><title>trying</title><body><iframe src="{address}"></iframe><script>
const got = [];
const loads = (name, tag, src) => new Promise((done) => {{
  const one = document.body.appendChild(document.createElement(tag));
  one.onload = () => {{ got.push(name); done(); }};
  one.onerror = done;
  one.src = src;
}});
const talks = (name, one) => new Promise((done) => {{
  one.onopen = one.onmessage = () => {{ got.push(name); done(); }};
  one.onerror = () => {{ one.close(); done(); }};
}});
const asks = (name, path, how) => fetch("{address}" + path, how).then((answer) => answer.text()).then((text) => {{
  if (text) got.push(name);
}});
Promise.allSettled([
  asks("fetch", "", {{}}),
  asks("fetch without CORS", "", {{mode: "no-cors"}}),
  asks("fetch with cookies", "job/{victim}", {{credentials: "include"}}),
  asks("post", "job/{victim}/again", {{method: "POST", mode: "no-cors", body: "a=b"}}),
  asks("post of a form", "job/{victim}/again", {{method: "POST", mode: "no-cors", body: new FormData()}}),
  asks("post with a header", "job/{victim}/again", {{method: "POST", headers: {{"X-Own": "1"}}}}),
  asks("put", "job/{victim}/again", {{method: "PUT"}}),
  loads("image", "img", "{address}static/icon.svg"),
  loads("script", "script", "{address}static/window.js"),
  talks("events", new EventSource("{address}job/{victim}/events")),
  talks("WebSocket", new WebSocket("{address}".replace("http:", "ws:"))),
  Promise.resolve(navigator.sendBeacon("{address}job/{victim}/again", "a=b")),
]).then(() => {{ document.title = "got: " + got.join(", "); }});
</script>"""


class Evil:
    """A server with one page at a time, which remembers the ``Referer`` headers that it gets."""

    def __init__(self) -> None:
        evil = self
        self.page = ""
        self.referrers: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                evil.referrers.append(self.headers.get("Referer", ""))
                body = evil.page.encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.server.server_address[1])


@pytest.fixture(scope="module")
def evil() -> Iterator[Evil]:
    made = Evil()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    home = tmp_path_factory.mktemp("window") / "home"
    with running(home) as found:
        found.plant(VICTIM, ["demo", str(home / "owned"), "--quiet"])
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for which every name is this machine, as an attacker's name server can say."""
    with chromium(None, "--host-resolver-rules=MAP *.example 127.0.0.1") as started:
        yield started


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    yield context.new_page()
    context.close()


def unstarted(window: Running) -> bool:
    """Return whether the attack started nothing, and the window still answers."""
    owned = window.folder.parents[2] / "owned"
    return set(window.jobs()) <= {VICTIM, RUNNING} and not owned.exists() and window.ask("GET", "").status == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost", "127.0.0.1"])
def test_a_page_of_another_origin_reads_and_starts_nothing(window: Running, evil: Evil, page: Page, host: str) -> None:
    evil.page = READERS.format(address=window.address, victim=VICTIM)
    page.goto(f"http://{host}:{evil.port}/")
    page.wait_for_function("document.title.startsWith('got:')")
    assert page.title() == "got:"
    assert not [frame for frame in page.frames[1:] if frame.url.startswith(window.address)]
    assert unstarted(window)


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"])
def test_a_form_of_another_site_starts_nothing(window: Running, evil: Evil, page: Page, kind: str) -> None:
    evil.page = FORM.format(again=f"{window.address}job/{VICTIM}/again", kind=kind)
    with page.expect_response(lambda response: response.request.method == "POST") as answer:
        page.goto(f"http://evil.example:{evil.port}/")
    assert answer.value.status == 403
    assert unstarted(window)


def test_a_form_of_a_page_on_the_disk_starts_nothing(window: Running, page: Page, tmp_path: Path) -> None:
    found = tmp_path / "evil.html"
    found.write_text(FORM.format(again=f"{window.address}job/{VICTIM}/again", kind="text/plain"), "utf-8")
    with page.expect_response(lambda response: response.request.method == "POST") as answer:
        page.goto(found.as_uri())
    assert answer.value.status == 403
    assert unstarted(window)


def test_a_rebound_name_shows_nothing(window: Running, page: Page) -> None:
    answer = page.goto(window.address.replace("127.0.0.1", "rebound.example"))
    assert answer is not None
    assert answer.status == 403
    assert window.token not in page.content()
    assert unstarted(window)


def test_no_other_site_learns_the_address_from_a_link(window: Running, evil: Evil, page: Page) -> None:
    evil.page = "<title>elsewhere</title>"
    evil.referrers.clear()
    elsewhere = f"http://evil.example:{evil.port}/"
    page.goto(window.address)
    with page.expect_navigation():
        page.evaluate(
            """address => {
              const link = document.body.appendChild(document.createElement("a"));
              link.href = address;
              link.click();
            }""",
            elsewhere,
        )
    assert "" in evil.referrers
    # The browser may also ask for an icon, and then names the other site's page to that site.
    assert set(evil.referrers) <= {"", elsewhere}


def test_hostile_texts_run_in_no_page_and_no_stream(window: Running, page: Page) -> None:
    said: list[str] = []
    page.on("console", lambda entry: said.append(entry.text))
    rows = json.dumps({"event": "progress", "rows": [{"name": SCRIPT, "done": 1, "total": 2}], "seconds_left": 1})
    first = json.dumps({"event": 'error x" onclick="alert(1)', "text": SCRIPT})
    error = json.dumps({"event": "error", "text": SCRIPT})
    folder = window.plant(RUNNING, [SCRIPT, "'\"><b>"], f"{first}\n{error}\n{rows}\n", place=SCRIPT)
    # The lock of another process, here this one, makes it a running job, whose page follows the stream.
    with ArchiveLock(folder / "lock") as lock:
        lock.acquire(SystemClock().now())
        page.goto(f"{window.address}job/{RUNNING}")
        page.get_by_text(SCRIPT).first.wait_for(state="attached")
        with (folder / "said.jsonl").open("a", encoding="utf-8") as more:
            more.write(json.dumps({"event": "warning", "text": f"later {SCRIPT}"}) + "\n")
        page.get_by_text(f"later {SCRIPT}").wait_for(state="attached")
        assert page.locator("main script, main img, main b, [onclick]").count() == 0
        assert "owned" not in page.title()
    page.get_by_role("button", name="Continue").wait_for()
    assert page.locator("main script, main img, main b, [onclick]").count() == 0
    assert "owned" not in page.title()
    assert [line for line in said if "Content Security Policy" in line] == []


def test_the_policy_stops_a_script_that_got_into_a_page(window: Running, page: Page) -> None:
    page.goto(window.address)
    page.evaluate(
        """() => {
          const frame = document.body.appendChild(document.createElement("div"));
          frame.innerHTML = "<img src=x onerror=\\"document.title='owned'\\">";
          const script = document.createElement("script");
          script.textContent = "document.title = 'owned'";
          document.body.append(script);
        }"""
    )
    page.wait_for_timeout(200)
    assert page.title() != "owned"
