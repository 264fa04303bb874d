"""The REST API of a WordPress: where it is, how its lists are read page by page, what is sent to it, what it refuses.

What a WordPress sends is as untrusted as any page: a list ends whatever its headers promise, and nothing here looks
into the records; :mod:`exporter.wordpress.records` does.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from exporter import lossless_json
from exporter.errors import ApiError, BadBody, RetryableStatus, ServiceError
from exporter.http.credentials import Credentials
from exporter.http.engine import Client
from exporter.message import message
from exporter.model.exchange import Request, Response
from exporter.service.answers import message_text, read_json, refusal

PAGE: Final = 100
"""Records on a page: the most that WordPress gives."""

_AHEAD: Final = 4
_CREATED: Final = 201
_BROKEN: Final = 500
_BUSY: Final = "db_"
"""How WordPress names that its database did not do something, under any status: it was locked, or is down."""
_MOST_PAGES: Final = 10_000
_API: Final = "wp/v2"
_ADVICE: Final = message("check the user name and the application password of the new home, and what that user may do")
_ROOTS: Final = ("/wp-json", "")
"""Where the API is with addresses that hold names, and where it always is; the second goes by a parameter."""


def application_password(user: str, password: str) -> Credentials:
    """Return the credentials of a user with an application password, as WordPress' profile pages make them."""
    shown = base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
    return Credentials(shown, scheme="Basic", secrets=(password, password.replace(" ", "")))


@dataclass(frozen=True, slots=True)
class RestPage:
    """A page of a list: its records of any type, and how many records and pages the answer says the list has."""

    items: list[Any]
    total: int | None
    pages: int | None


@dataclass(frozen=True, slots=True)
class RestRefusal:
    """What WordPress, or what stands before it, says where it does not do what it was sent.

    Attributes:
        code: WordPress' own name for it, such as ``rest_comment_closed``; empty where a page answered.
        message: the same for people, fit for a terminal.
        data: what it says about it beside that.
    """

    code: str
    message: str
    data: Mapping[str, Any]


Recover = Callable[[], Awaitable[dict[str, Any] | RestRefusal | None]]
"""Finds what a request did of which no answer came; ``None`` where it did nothing."""


@dataclass(frozen=True, slots=True)
class WordPressApi:
    """The API of one WordPress; made by :func:`open_wordpress`.

    Attributes:
        client: sends the requests; its base URL is the address of the blog.
        root: the path of the API, empty where it is asked for by a parameter.
        index: what the API says of itself and of the blog.
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
        return await self.client.fetch(request, lambda response: read_answer(request, response))

    async def send(
        self, route: str, fields: Mapping[str, Any], params: Mapping[str, str], recover: Recover | None = None
    ) -> dict[str, Any] | RestRefusal:
        """Make or change a record, and return it as the answer has it, or the refusal.

        Args:
            route: of the list to make one in, or of the record to change.
            fields: of the record.
            params: of the request.
            recover: see :meth:`~exporter.http.engine.Client.fetch`; where none is given, doing it twice does no harm.

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
            params: the fields of the record, and those of the request.
            name: of the file, in ASCII.
            content_type: of the file, which WordPress compares with its content.
            content: of the file.
            recover: see :meth:`~exporter.http.engine.Client.fetch`.

        Raises:
            NotAuthorised, TransportError, ServiceError: as for :meth:`send`.
        """
        headers = {"Content-Type": content_type, "Content-Disposition": f'attachment; filename="{name}"'}
        request = self.request(f"{_API}/media", params)
        # WordPress answers with the status of a broken server where it does not take files of a kind.
        final = frozenset({_BROKEN})
        return await self._sent(request._replace(method="POST", headers=headers, content=content, final=final), recover)

    async def delete(self, route: str) -> None:
        """Delete a record for good; one that is not there any more is fine.

        Raises:
            NotAuthorised, TransportError, ServiceError: as for :meth:`send`.
        """
        await self._sent(self.request(route, {"force": "true"})._replace(method="DELETE"), None)

    async def _sent(self, request: Request, recover: Recover | None) -> dict[str, Any] | RestRefusal:
        def read(response: Response) -> dict[str, Any] | RestRefusal:
            if response.status in {200, _CREATED}:
                answer = read_answer(request, Response(200, response.headers, response.body, response.objects))
                if not isinstance(answer, dict):
                    raise refusal(request, response, message("the answer is not an object"))
                return answer
            if response.status == 401:
                read_answer(request, response)
            refused = _refused(response)
            broken = response.status == _BROKEN and not refused.code.startswith("rest_upload_")
            if broken or refused.code.startswith(_BUSY):
                raise RetryableStatus(
                    message("{operation} answered {status}", operation=request.operation, status=response.status),
                    response.status,
                )
            return refused

        return await self.client.fetch(request, read, recover=recover)

    async def page(self, route: str, params: Mapping[str, str], number: int) -> RestPage:
        """Return a page of a list, counted from 1; one behind the last is empty.

        Raises:
            NotAuthorised, ApiError, TransportError, ServiceError: as for :meth:`get`.
        """
        request = self.request(route, {**params, "per_page": str(PAGE), "page": str(number)})

        def read(response: Response) -> RestPage:
            if response.status == 400 and number > 1:  # as WordPress has it: rest_post_invalid_page_number
                return RestPage([], None, None)
            items = read_answer(request, response)
            if not isinstance(items, list):
                raise refusal(request, response, message("the answer is not a list"))
            return RestPage(items, _number(response, "x-wp-total"), _number(response, "x-wp-totalpages"))

        return await self.client.fetch(request, read)

    async def pages(self, route: str, params: Mapping[str, str] | None = None) -> AsyncIterator[RestPage]:
        """Yield the pages of a list in order, with a few asked for ahead; ``params`` should name a lasting order.

        It ends at the last page that the first one promises, behind which there may be more where that one is full; at
        one that is the page before it again, as two empty ones are; and at 10,000 pages.

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
                if following > last and not ahead and len(page.items) >= PAGE:
                    last = following  # whatever was promised
                last = min(last, _MOST_PAGES)
                while following <= last and len(ahead) < _AHEAD:
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
    """Find the API of the WordPress at the client's base URL; ``None`` where there is none.

    Raises:
        NotAuthorised: it, or what stands before it, wants other credentials.
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
        NotAuthorised: it, or what stands before it, wants other credentials.
        ServiceError: there is none, or it failed.
    """
    found = await find_wordpress(client)
    if found is None:
        raise ServiceError(
            message(
                "{place} answers, but has no REST API of WordPress: check the address, "
                "or what a plugin for security closes",
                place=client.sender.place,
            )
        )
    return found


async def _index(client: Client, request: Request) -> Any:
    """Return what answers at a place where the API may be; ``None`` for a page, or a refusal that is none of access."""

    def read(response: Response) -> Any:
        try:
            return read_answer(request, response)
        except (ApiError, BadBody):  # no other time brings another answer
            return None

    # In doubt it is asked for again, to tell a WordPress that is down from one record that it fails on.
    return await client.fetch(request, read, probe=True)


def _request(root: str, route: str, params: Mapping[str, str]) -> Request:
    name = f"WordPress {route or 'REST API'}"
    if root:
        return Request(name, f"{root}/{route}", params, {})
    return Request(name, "/", {"rest_route": f"/{route}", **params}, {})


def read_answer(request: Request, response: Response) -> Any:
    """Return the JSON of an answer of WordPress, whose refusals are objects with a ``message``.

    Raises:
        NotAuthorised, ApiError, TransportError: it is no success, or not JSON.
    """
    return read_json(request, response, _message_in, _ADVICE)


def _refused(response: Response) -> RestRefusal:
    try:
        answer = lossless_json.loads(response.body)
    except lossless_json.NotJson:
        answer = None
    if not isinstance(answer, dict):
        return RestRefusal(
            "", message("answered {status} with something that is not WordPress' own", status=response.status), {}
        )
    data = answer.get("data")
    code, reason = message_text(answer.get("code")), message_text(answer.get("message"))
    return RestRefusal(
        code, reason or message("answered {status}", status=response.status), data if isinstance(data, dict) else {}
    )


def _message_in(refused: Any) -> object:
    if not isinstance(refused, dict):
        return None
    code, reason = message_text(refused.get("code")), message_text(refused.get("message"))
    return f"{reason} ({code})" if reason and code else reason or code


def _number(response: Response, header: str) -> int | None:
    text = response.headers.get(header, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else None
