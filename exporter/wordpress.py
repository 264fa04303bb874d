"""A client for WordPress' REST API: find it, sign in, read lists page by page, and send records.

A WordPress is as untrusted as any other site: a list always ends, even if its headers promise more pages. Records are
any JSON. An answer may repeat the password that it got, so it is removed before anybody else reads the answer.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from exporter import lossless_json
from exporter.errors import ApiError, BadBody, RetryableStatus, ServiceError, UsageError
from exporter.http.address_guard import check_base_url
from exporter.http.credentials import Credentials, Redactor
from exporter.http.deadline import Timeouts
from exporter.http.engine import Client, Engine
from exporter.http.retry import REFUSED_RETRIES, RetryEvent, RetryPolicy
from exporter.message import message
from exporter.model.exchange import Request, Response
from exporter.service.answers import message_text, read_json, refusal
from exporter.service.wordpress.answers import without_noise
from exporter.setting_types import origin_of_address
from exporter.settings import Settings

_RECORDS_PER_PAGE: Final = 100
"""The most that WordPress sends on a page."""
_PAGES_AHEAD: Final = 4
_CREATED: Final = 201
_SERVER_ERROR: Final = 500
_BUSY: Final = "db_"
"""How the codes of database failures begin, with any status: the database was locked, or is down."""
_LAST_PAGE: Final = 10_000
_API: Final = "wp/v2"
_ADVICE: Final = message("check the user name, the application password and the user's rights in the new home")
_ROOTS: Final = ("/wp-json", "")
"""The API's path with pretty permalinks, and the empty path, which always works, with a parameter."""


def home_client(
    engine: Engine,
    base_url: str,
    credentials: Credentials,
    settings: Settings,
    *,
    answer_seconds: float = 0.0,
    on_retry: Callable[[RetryEvent], None] = lambda _: None,
) -> Client:
    """Return a client for a new home. Its answers may take up to ``answer_seconds``, if the settings allow less."""
    return engine.client(
        base_url,
        credentials,
        timeouts=Timeouts(
            connect=settings.connect_timeout.total_seconds(),
            read=max(settings.read_timeout.total_seconds(), answer_seconds),
            total=max(settings.total_timeout.total_seconds(), answer_seconds),
        ),
        max_body=settings.max_body,
        policy=RetryPolicy(
            retries=settings.retries,
            give_up_after=settings.give_up_after.total_seconds(),
            refused_retries=REFUSED_RETRIES,
        ),
        concurrency=settings.concurrency,
        rate=settings.rate,
        on_retry=on_retry,
    )


def application_password(user: str, password: str) -> Credentials:
    """Return the credentials of a user with an application password from WordPress' profile page."""
    token = base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
    return Credentials(token, scheme="Basic", secrets=(password, password.replace(" ", "")))


def check_address(text: str) -> str:
    """Return the address of a new home.

    Raises:
        UsageError: it is no http or https address, or holds a secret.
    """
    check_base_url(text, message("the address of the new home"), "BLOG_EXPORTER_NEW_HOME_TOKEN")
    return text


def new_home_credentials(address: str, settings: Settings) -> Credentials:
    """Return the credentials for a WordPress, which are sent to its own host only.

    They are empty if no secret is set, or if it belongs to another home.

    Raises:
        UsageError: the secret has no user, or would travel unencrypted without permission.
    """
    password, user = settings.new_home_token, settings.new_home_user
    owners = settings.new_home_token_for
    if not password or (owners is not None and origin_of_address(address) not in owners):
        return Credentials()
    if user is None:
        raise UsageError(
            message("The application password has no user. Name the user of the new home with --new-home-user.")
        )
    credentials = application_password(user, password)
    if not settings.allow_plain_http and credentials.exposed_at(address) is not None:
        raise UsageError(
            message(
                "The application password would travel unencrypted, and others could read it. Use an "
                "https:// address, or --allow-plain-http in your own network."
            )
        )
    return credentials


@dataclass(frozen=True, slots=True)
class RestPage:
    """A list page: its records, of any type, and the total records and pages from its headers."""

    items: list[Any]
    total: int | None
    pages: int | None


@dataclass(frozen=True, slots=True)
class RestRefusal:
    """A refusal by WordPress, or by a server in front of it.

    Attributes:
        code: WordPress' error code, such as ``rest_comment_closed``; empty if a web page answered.
        message: the reason for people, safe for a terminal.
        data: further members of the error.
    """

    code: str
    message: str
    data: Mapping[str, Any]


Recover = Callable[[], Awaitable[dict[str, Any] | RestRefusal | None]]
"""Finds the result of a request that got no answer; ``None`` if the request had no effect."""


@dataclass(frozen=True, slots=True)
class WordPressApi:
    """The API of one WordPress; made by :func:`open_wordpress`.

    Attributes:
        client: sends the requests; its base URL is the address of the blog.
        root: the path of the API; empty if a parameter names the route.
        index: the API's description of itself and of the blog.
    """

    client: Client
    root: str
    index: Mapping[str, Any]

    def request(self, route: str, params: Mapping[str, str] | None = None) -> Request:
        """Return the request for a route such as ``wp/v2/posts``, as a GET."""
        return _request(self.root, route, params or {})

    async def get(self, route: str, params: Mapping[str, str] | None = None) -> Any:
        """Return the JSON that a route answers.

        Raises:
            NotAuthorised, ApiError, TransportError, ServiceError: as for :meth:`~exporter.http.engine.Client.fetch`.
        """
        request = self.request(route, params)
        return await self.client.fetch(request, lambda response: read_answer(request, response, self._redactor))

    @property
    def _redactor(self) -> Redactor:
        return self.client.credentials.redactor

    async def send(
        self, route: str, fields: Mapping[str, Any], params: Mapping[str, str], recover: Recover | None = None
    ) -> dict[str, Any] | RestRefusal:
        """Create or change a record; return the record in the response, or the refusal.

        Args:
            route: the route to the list to add to, or to the record to change.
            fields: of the record.
            params: of the request.
            recover: see :meth:`~exporter.http.engine.Client.fetch`; ``None`` if sending it twice does no harm.

        Raises:
            NotAuthorised, TransportError, ServiceError: as for :meth:`get`; a status of 403 is a refusal here.
        """
        made = self.request(route, params)
        request = made._replace(
            method="POST", headers={"Content-Type": "application/json"}, content=lossless_json.dumps(dict(fields))
        )
        return await self._sent(request, recover)

    async def upload(
        self, params: Mapping[str, str], name: str, content_type: str, content: bytes, recover: Recover
    ) -> dict[str, Any] | RestRefusal:
        """Upload a file, and return its record or the refusal.

        Args:
            params: the fields for the record and the request.
            name: the file's name, in ASCII.
            content_type: the file's media type, which WordPress compares with its content.
            content: of the file.
            recover: see :meth:`~exporter.http.engine.Client.fetch`.

        Raises:
            NotAuthorised, TransportError, ServiceError: as for :meth:`send`.
        """
        headers = {"Content-Type": content_type, "Content-Disposition": f'attachment; filename="{name}"'}
        request = self.request(f"{_API}/media", params)
        # WordPress answers 500 if it does not take this type of file.
        final = frozenset({_SERVER_ERROR})
        return await self._sent(request._replace(method="POST", headers=headers, content=content, final=final), recover)

    async def delete(self, route: str) -> None:
        """Delete a record for good; a missing one is no error.

        Raises:
            NotAuthorised, TransportError, ServiceError: as for :meth:`send`.
        """
        await self._sent(self.request(route, {"force": "true"})._replace(method="DELETE"), None)

    async def _sent(self, request: Request, recover: Recover | None) -> dict[str, Any] | RestRefusal:
        def read(response: Response) -> dict[str, Any] | RestRefusal:
            if response.status in {200, _CREATED}:
                accepted = Response(200, response.headers, response.body, response.objects)
                answer = read_answer(request, accepted, self._redactor)
                if not isinstance(answer, dict):
                    raise refusal(request, response, message("the answer is not an object"))
                return answer
            if response.status == 401:
                read_answer(request, response, self._redactor)
            refused = _refused(response, self._redactor)
            broken = response.status == _SERVER_ERROR and not refused.code.startswith("rest_upload_")
            if broken or refused.code.startswith(_BUSY):
                raise RetryableStatus(
                    message("{operation} answered {status}", operation=request.operation, status=response.status),
                    response.status,
                )
            return refused

        return await self.client.fetch(request, read, recover=recover)

    async def page(self, route: str, params: Mapping[str, str], number: int) -> RestPage:
        """Return a list page, counted from 1; a page after the last is empty.

        Raises:
            NotAuthorised, ApiError, TransportError, ServiceError: as for :meth:`get`.
        """
        request = self.request(route, {**params, "per_page": str(_RECORDS_PER_PAGE), "page": str(number)})

        def read(response: Response) -> RestPage:
            if response.status == 400 and number > 1:  # as WordPress has it: rest_post_invalid_page_number
                return RestPage([], None, None)
            items = read_answer(request, response, self._redactor)
            if not isinstance(items, list):
                raise refusal(request, response, message("the answer is not a list"))
            return RestPage(items, _number(response, "x-wp-total"), _number(response, "x-wp-totalpages"))

        return await self.client.fetch(request, read)

    async def pages(self, route: str, params: Mapping[str, str] | None = None) -> AsyncIterator[RestPage]:
        """Yield a list's pages in order, with a few requested ahead. ``params`` should name a stable order.

        The list ends at the page count in the first response, or later if that last page is full. It also ends at a
        page that equals the one before it, and after 10,000 pages.

        Raises:
            NotAuthorised, ApiError, TransportError, ServiceError: as for :meth:`get`.
        """
        wanted = {"orderby": "id", "order": "asc", **(params or {})}
        first = await self.page(route, wanted, 1)
        yield first
        page, last, following = first, first.pages or 1, 2
        ahead: list[asyncio.Task[RestPage]] = []
        try:
            while True:
                if following > last and not ahead and len(page.items) >= _RECORDS_PER_PAGE:
                    last = following  # more than promised
                last = min(last, _LAST_PAGE)
                while following <= last and len(ahead) < _PAGES_AHEAD:
                    ahead.append(asyncio.ensure_future(self.page(route, wanted, following)))
                    following += 1
                if not ahead:
                    return
                before, page = page, await ahead.pop(0)
                if page.items == before.items:
                    return
                yield page
        finally:
            for task in ahead:
                task.cancel()
            await asyncio.gather(*ahead, return_exceptions=True)


async def find_wordpress(client: Client) -> WordPressApi | None:
    """Find the REST API of WordPress at the client's base URL, or ``None``.

    Raises:
        NotAuthorised: it, or a server in front of it, refuses the credentials.
        ServiceError: it failed.
    """
    for root in _ROOTS:
        index = await _index(client, _request(root, "", {}))
        names = index.get("namespaces") if isinstance(index, dict) else None
        if isinstance(names, list) and _API in names:
            return WordPressApi(client, root, index)
    return None


async def open_wordpress(client: Client) -> WordPressApi:
    """Find the API of the WordPress at the client's base URL.

    Raises:
        NotAuthorised: it, or a server in front of it, refuses the credentials.
        ServiceError: the API does not exist, or it failed.
    """
    found = await find_wordpress(client)
    if found is None:
        raise ServiceError(
            "{place} answers, but has no WordPress REST API. Check the address, and whether a "
            "security plugin blocks the API",
            place=client.sender.place,
        )
    return found


async def _index(client: Client, request: Request) -> Any:
    """Return the index at a possible root of the API; ``None`` for a web page or an error other than 401 or 403."""

    def read(response: Response) -> Any:
        try:
            return read_answer(request, response, client.credentials.redactor)
        except (ApiError, BadBody):  # asking again would not help
            return None

    # A probe is repeated on failure, to tell a WordPress that is down from a single failing request.
    return await client.fetch(request, read, probe=True)


def _request(root: str, route: str, params: Mapping[str, str]) -> Request:
    name = f"WordPress {route or 'REST API'}"
    if root:
        return Request(name, f"{root}/{route}", params, {})
    return Request(name, "/", {"rest_route": f"/{route}", **params}, {})


def read_answer(request: Request, response: Response, redactor: Redactor) -> Any:
    """Return the JSON of an answer, without secrets. WordPress sends errors as objects with a ``message``.

    Raises:
        NotAuthorised, ApiError, TransportError: it is an error, or not JSON.
    """
    return _without_secrets(read_json(request, without_noise(response), _message_in, _ADVICE), redactor)


def _without_secrets(answer: Any, redactor: Redactor) -> Any:
    """Return JSON without the secrets in its texts, also those that the answer wrote with escapes."""
    if not redactor.secrets:
        return answer
    plain = lossless_json.dumps(answer)
    masked = redactor.masked(plain)
    return answer if masked is plain else lossless_json.loads(masked)


def _refused(response: Response, redactor: Redactor) -> RestRefusal:
    try:
        answer = _without_secrets(lossless_json.loads(response.body), redactor)
    except lossless_json.NotJson:
        answer = None
    if not isinstance(answer, dict):
        return RestRefusal(
            "", message("answered {status} with something that is not WordPress' own", status=response.status), {}
        )
    data = answer.get("data")
    code, reason = (_plain(answer.get(name), redactor) for name in ("code", "message"))
    return RestRefusal(
        code, reason or message("answered {status}", status=response.status), data if isinstance(data, dict) else {}
    )


def _plain(text: object, redactor: Redactor) -> str:
    """Return a message without any secret, also one of few characters, safe for a terminal."""
    return message_text(redactor(text) if isinstance(text, str) else text)


def _message_in(refused: Any) -> object:
    if not isinstance(refused, dict):
        return None
    code, reason = message_text(refused.get("code")), message_text(refused.get("message"))
    return f"{reason} ({code})" if reason and code else reason or code


def _number(response: Response, header: str) -> int | None:
    text = response.headers.get(header, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else None
