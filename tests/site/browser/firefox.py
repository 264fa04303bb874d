"""A small client of WebDriver BiDi, the protocol that Debian's Firefox speaks without a driver program."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import aiohttp

from tests.site.browser.launching import program
from tests.site.browser.tabs import until

_T = TypeVar("_T")
_SILENT = {
    "app.normandy.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.newtabpage.enabled": False,
    "browser.region.network.url": "",
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage": "about:blank",
    "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "dom.push.connection.enabled": False,
    "extensions.getAddons.cache.enabled": False,
    "extensions.systemAddon.update.enabled": False,
    "extensions.update.enabled": False,
    "media.gmp-manager.updateEnabled": False,
    "nimbus.rollouts.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.dns.disablePrefetch": True,
    "network.trr.mode": 5,
    "services.settings.server": "data:,#remote-settings-dummy/v1",
    "toolkit.telemetry.server": "data:,",
}
"""Keeps Firefox itself off the network, so that every request comes from a page."""
KEYS = {
    "Escape": "\ue00c", "Enter": "\ue007", "Tab": "\ue004", "ArrowRight": "\ue014", "ArrowLeft": "\ue012",
    "PageUp": "\ue00e", "PageDown": "\ue00f", "End": "\ue010", "Home": "\ue011",
}  # fmt: skip


class Firefox:
    """One Firefox with one tab; every call waits for its response."""

    def __init__(self, proxy_port: int) -> None:
        self.said: list[str] = []
        """The console output of the pages."""
        self.requests: list[str] = []
        """The requested addresses."""
        self._profile = tempfile.TemporaryDirectory(prefix="firefox-", ignore_cleanup_errors=True)
        settings = dict(_SILENT)
        settings |= {"network.proxy.type": 1, "network.proxy.allow_hijacking_localhost": True}
        for scheme in ("http", "ssl"):
            settings |= {f"network.proxy.{scheme}": "127.0.0.1", f"network.proxy.{scheme}_port": proxy_port}
        lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in settings.items())
        (Path(self._profile.name) / "user.js").write_text("".join(lines))
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._count = 0

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [program("firefox-esr", "firefox"), "--headless", "--no-remote", "--profile", self._profile.name,
             "--remote-debugging-port", "0"],
            env={**os.environ, "MOZ_REMOTE_SETTINGS_DEVTOOLS": "1"},  # else its settings server stays fixed
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._process.stderr is not None
        for line in self._process.stderr:
            found = re.search(r"WebDriver BiDi listening on (ws://\S+)", line)
            if found:
                break
        else:
            raise AssertionError("Firefox ended before it listened")
        # Its pipe must be read, or Firefox blocks once it is full.
        self._drain = threading.Thread(target=self._process.stderr.read, daemon=True)
        self._drain.start()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._wait(self._connect(found[1] + "/session"))
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.call("browser.close")
        self._process.wait(30)
        self._drain.join()
        assert self._process.stderr is not None
        self._process.stderr.close()
        self._wait(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._profile.cleanup()

    def call(self, method: str, **params: Any) -> Any:
        """Send a command and return its result."""
        return self._wait(self._call(method, params))

    @contextmanager
    def fresh(self) -> Iterator[None]:
        """Continue in a new tab and a new container without stored data."""
        user = self.call("browser.createUserContext")["userContext"]
        self._tab = self.call("browsingContext.create", type="tab", userContext=user)["context"]
        self.call("browsingContext.setViewport", context=self._tab, viewport={"width": 1000, "height": 900})
        self.said.clear()
        self.requests.clear()
        yield
        self.call("browser.removeUserContext", userContext=user)

    def goto(self, address: str) -> None:
        """Open a page and wait until it is loaded."""
        self.call("browsingContext.navigate", context=self._tab, url=address, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression or promise in the page; lists, objects and plain values only."""
        answer = self.call(
            "script.evaluate", expression=f"(async () => JSON.stringify((await ({expression})) ?? null))()",
            target={"context": self._tab}, awaitPromise=True, userActivation=True,
        )  # fmt: skip
        assert answer["type"] == "success", answer["exceptionDetails"]["text"]
        return json.loads(answer["result"]["value"])

    def before_pages(self, function: str) -> None:
        """Run a function in every page before the page's own scripts."""
        self.call("script.addPreloadScript", functionDeclaration=function, contexts=[self._tab])

    def press(self, *keys: str) -> None:
        """Press keys one after the other: names of ``KEYS`` or characters."""
        actions = [{"type": kind, "value": KEYS.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        source = {"type": "key", "id": "keyboard", "actions": actions}
        self.call("input.performActions", context=self._tab, actions=[source])

    def click(self, selector: str) -> None:
        """Click the middle of the first match like a user, once the page is loaded and shows it."""
        until(
            self,
            f"document.readyState === 'complete' && document.querySelector({json.dumps(selector)})?.checkVisibility()",
        )
        found = self.call(
            "browsingContext.locateNodes", context=self._tab, locator={"type": "css", "value": selector}, maxNodeCount=1
        )
        element = {"type": "element", "element": {"sharedId": found["nodes"][0]["sharedId"]}}
        self.evaluate(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center'}})")
        move = {"type": "pointerMove", "x": 0, "y": 0, "origin": element}
        press = [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        source = {"type": "pointer", "id": "mouse", "actions": [move, *press]}
        self.call("input.performActions", context=self._tab, actions=[source])

    def _wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    async def _connect(self, address: str) -> None:
        self._session = aiohttp.ClientSession()
        self._socket = await self._session.ws_connect(address, max_msg_size=0)
        self._reader = asyncio.create_task(self._read())

    async def _close(self) -> None:
        self._reader.cancel()
        await self._session.close()

    async def _read(self) -> None:
        async for message in self._socket:
            said = json.loads(message.data)
            if said["type"] != "event":
                self._waiting.pop(said["id"]).set_result(said)
            elif said["method"] == "log.entryAdded":
                self.said.append(f"{said['params']['level']} {said['params']['text']}")
            elif said["method"] == "network.beforeRequestSent":
                self.requests.append(said["params"]["request"]["url"])

    async def _call(self, method: str, params: dict[str, Any]) -> Any:
        self._count += 1
        waiting = self._waiting[self._count] = self._loop.create_future()
        await self._socket.send_json({"id": self._count, "method": method, "params": params})
        answer = await waiting
        assert answer["type"] == "success", f"{method}: {answer['message']}"
        return answer["result"]
