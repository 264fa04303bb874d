"""The REST API of a WordPress: where it is, how its lists are read page by page, and what its refusals say.

What a WordPress sends is as untrusted as any page: a list ends whatever its headers promise, and nothing here looks
into the records; :mod:`exporter.wordpress.records` does.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from exporter.errors import ApiError, BadBody, ServiceError
from exporter.http.credentials import Credentials
from exporter.http.engine import Client
from exporter.model.exchange import Request, Response
from exporter.service.answers import message_text, read_json, refusal

PAGE: Final = 100
"""Records on a page: the most that WordPress gives."""

_AHEAD: Final = 4
_MOST_PAGES: Final = 10_000
_API: Final = "wp/v2"
_ADVICE: Final = "check the user name and the application password of the new home, and what that user may do"
_ROOTS: Final = ("/wp-json", "")
"""Where the API is with addresses that hold names, and where it always is; the second goes by a parameter."""


def application_password(user: str, password: str) -> Credentials:
    """Return the credentials of a user with an application password, as WordPress' profile pages make them."""
    return Credentials(base64.b64encode(f"{user}:{password}".encode()).decode("ascii"), scheme="Basic")


@dataclass(frozen=True, slots=True)
class RestPage:
    """A page of a list: its records of any type, and how many records and pages the answer says the list has."""

    items: list[Any]
    total: int | None
    pages: int | None


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
                raise refusal(request, response, "the answer is not a list")
            return RestPage(items, _number(response, "x-wp-total"), _number(response, "x-wp-totalpages"))

        return await self.client.fetch(request, read)

    async def pages(self, route: str, params: Mapping[str, str] | None = None) -> AsyncIterator[RestPage]:
        """Yield the pages of a list in order, with a few asked for ahead; ``params`` should name a lasting order.

        It ends at the last page that the first one promises, at an empty page, and at 10,000 pages.

        Raises:
            NotAuthorised, ApiError, TransportError, ServiceError: as for :meth:`get`.
        """
        wanted = {"orderby": "id", "order": "asc", **(params or {})}
        first = await self.page(route, wanted, 1)
        yield first
        last = min(first.pages or (1 if len(first.items) < PAGE else _MOST_PAGES), _MOST_PAGES)
        ahead: list[asyncio.Task[RestPage]] = []
        following = 2
        try:
            while ahead or following <= last:
                while following <= last and len(ahead) < _AHEAD:
                    ahead.append(asyncio.ensure_future(self.page(route, wanted, following)))
                    following += 1
                page = await ahead.pop(0)
                if not page.items:
                    return
                yield page
        finally:
            for task in ahead:
                task.cancel()
            await asyncio.gather(*ahead, return_exceptions=True)


async def open_wordpress(client: Client) -> WordPressApi:
    """Find the API of the WordPress at the client's base URL.

    Raises:
        NotAuthorised: it, or what stands before it, wants other credentials.
        ServiceError: there is none, or it failed.
    """
    for root in _ROOTS:
        index = await _index(client, _request(root, "", {}))
        names = index.get("namespaces") if isinstance(index, dict) else None
        if isinstance(names, list) and _API in names:
            return WordPressApi(client, root, index)
    raise ServiceError(
        f"{client.sender.place} answers, but has no REST API of WordPress: check the address, "
        "or what a plugin for security closes"
    )


async def _index(client: Client, request: Request) -> Any:
    """Return what answers at a place where the API may be; ``None`` for a page, or a refusal that is none of access."""

    def read(response: Response) -> Any:
        try:
            return read_answer(request, response)
        except (ApiError, BadBody):  # no other time brings another answer
            return None

    return await client.fetch(request, read)


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


def _message_in(refused: Any) -> object:
    if not isinstance(refused, dict):
        return None
    code, message = message_text(refused.get("code")), message_text(refused.get("message"))
    return f"{message} ({code})" if message and code else message or code


def _number(response: Response, header: str) -> int | None:
    text = response.headers.get(header, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else None
