"""A real OAuth 2.0 server that guards the sample service: its page, its tokens, and its checks of clients.

It makes all checks of RFC 6749 and RFC 7636, so that a client that passes them sends correct requests.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from aiohttp import hdrs, web

from exporter.demo.content import Blog
from tests.support.demo_service import DemoService, ServiceOptions

CLIENT_ID = "blog-exporter-client"
CLIENT_SECRET = "cl13nt-s3cret-77aa"


@dataclass(frozen=True)
class Manners:
    """The server's behaviour in points that services may choose.

    Attributes:
        lifetime: seconds that an access token is good for.
        said: the value of ``expires_in`` if it differs from this; ``None`` leaves it out.
        refreshes: whether there are refresh tokens.
        rotates: whether each is valid only once.
        knows_pkce: whether a client that sent a challenge must send a verifier.
        failures: the number of first refreshes that fail with 500.
        slow: seconds that a refresh takes.
        revokes: whether tokens can be revoked.
    """

    lifetime: float = 3600.0
    said: Any = "lifetime"
    refreshes: bool = True
    rotates: bool = True
    knows_pkce: bool = True
    failures: int = 0
    slow: float = 0.0
    revokes: bool = True


@dataclass
class OAuthServer:
    """The server, and its record of requests.

    Attributes:
        service: the guarded service.
        manners: may be replaced while it runs.
        issued: every secret that it ever issued.
        counts: the numbers of grants by type, refusals and revocations.
    """

    service: DemoService
    manners: Manners = field(default_factory=Manners)
    issued: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    access: dict[str, float] = field(default_factory=dict)
    refresh: set[str] = field(default_factory=set)

    @property
    def base_url(self) -> str:
        return self.service.base_url

    def revoke_all(self) -> None:
        """Revoke everything, as a user does on the service's own pages."""
        self.access.clear()
        self.refresh.clear()

    def expire_all(self) -> None:
        """Let the access tokens expire."""
        self.access.clear()

    async def before(self, request: web.Request) -> web.StreamResponse | None:
        """Answer instead of the service, or let the service answer signed-in clients."""
        if request.path == "/oauth":
            return await self.page(request)
        if request.path == "/oauth/token":
            return await self.token(request)
        if request.path == "/oauth/revoke":
            return await self.revocation(request)
        if not request.path.startswith(("/blog/", "/v1/user")):
            return None
        scheme, _, token = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
        token = request.query.get("access_token", token if scheme == "Bearer" else "")
        if self.access.get(token, 0.0) > time.monotonic():
            return None
        self.counts["401"] += 1
        body = '{"json":{"result":"error","message":"token %s is not good","data":{}}}' % token  # noqa: UP031
        return web.Response(status=401, text=body, content_type="application/json")

    async def page(self, request: web.Request) -> web.Response:
        query = request.query
        if query.get("response_type") != "code" or query.get("client_id") != CLIENT_ID:
            return web.Response(status=400, text="unknown client")
        uri = query.get("redirect_uri", "")
        if request.query.get("decision") == "deny":
            raise web.HTTPFound(f"{uri}?{urlencode({'error': 'access_denied', 'state': query['state']})}")
        if request.query.get("decision") == "allow":
            code = self._secret("code")
            self.codes[code] = {"redirect_uri": uri, "challenge": query.get("code_challenge", "")}
            self.counts["scope " + query.get("scope", "")] += 1
            raise web.HTTPFound(f"{uri}?{urlencode({'code': code, 'state': query['state']})}")
        inputs = "".join(f'<input type="hidden" name="{name}" value="{value}">' for name, value in query.items())
        form = (
            f"<!DOCTYPE html><title>Sample blog</title><form>{inputs}"
            '<button name="decision" value="allow">Allow</button><button name="decision" value="deny">Deny</button></form>'
        )
        return web.Response(text=form, content_type="text/html")

    async def token(self, request: web.Request) -> web.Response:
        form = await request.post()
        if request.method != "POST" or (form.get("client_id"), form.get("client_secret")) != (CLIENT_ID, CLIENT_SECRET):
            return self._refuse("invalid_client", 401)
        kind = str(form.get("grant_type"))
        self.counts[kind] += 1
        if kind == "authorization_code":
            known = self.codes.pop(str(form.get("code")), None)
            if known is None or known["redirect_uri"] != form.get("redirect_uri"):
                return self._refuse("invalid_grant")
            digest = hashlib.sha256(str(form.get("code_verifier", "")).encode()).digest()
            sent = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            if self.manners.knows_pkce and known["challenge"] and known["challenge"] != sent:
                return self._refuse("invalid_grant")
            return self._grant()
        if kind != "refresh_token":
            return self._refuse("unsupported_grant_type")
        if self.manners.failures:
            self.manners = replace(self.manners, failures=self.manners.failures - 1)
            self.counts["500"] += 1
            return web.Response(status=500, text="later")
        if self.manners.slow:
            import asyncio  # noqa: PLC0415

            await asyncio.sleep(self.manners.slow)
        token = str(form.get("refresh_token"))
        if token not in self.refresh:
            return self._refuse("invalid_grant")
        if self.manners.rotates:
            self.refresh.discard(token)
        self.counts["refreshed"] += 1
        return self._grant()

    async def revocation(self, request: web.Request) -> web.Response:
        form = await request.post()
        token = str(form.get("token"))
        self.counts["revoked"] += (token in self.access) + (token in self.refresh)
        self.access.pop(token, None)
        self.refresh.discard(token)
        return web.Response(status=200 if self.manners.revokes else 400)

    def _grant(self) -> web.Response:
        manners = self.manners
        answer: dict[str, Any] = {"access_token": self._secret("access"), "token_type": "Bearer"}
        self.access[answer["access_token"]] = time.monotonic() + manners.lifetime
        if manners.said is not None:
            answer["expires_in"] = manners.lifetime if manners.said == "lifetime" else manners.said
        if manners.refreshes:
            answer["refresh_token"] = self._secret("refresh")
            self.refresh.add(answer["refresh_token"])
        return web.json_response(answer)

    def _refuse(self, error: str, status: int = 400) -> web.Response:
        self.counts[error] += 1
        return web.json_response({"error": error, "error_description": "as the sample server has it"}, status=status)

    def _secret(self, kind: str) -> str:
        made = f"{kind}-{secrets.token_hex(12)}"
        self.issued.append(made)
        return made


@contextmanager
def guarded(blog: Blog, **manners: Any) -> Iterator[OAuthServer]:
    """Serve a blog behind an OAuth server, from a thread."""
    with DemoService(blog, ServiceOptions()).run_in_thread() as service:
        server = OAuthServer(service, Manners(**manners))
        service.before = server.before
        # Its pages do not exist on the sample service, so it gets all requests first.
        yield server
