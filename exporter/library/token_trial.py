"""Try an access token before it is stored: whether the service accepts it, and whose it is."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Final

from exporter.archive.archive import Archive
from exporter.archive.layout import Layout
from exporter.archive.names import newest_id
from exporter.errors import ApiError, BlogExporterError, NotAuthorised, ServiceError, UsageError
from exporter.frozen import frozen
from exporter.library.backup import OpenService, open_service
from exporter.message import message, said
from exporter.model.kinds import Kind
from exporter.model.records import User
from exporter.service.registry import service_of
from exporter.settings import Settings

_TIMEOUT: Final = timedelta(seconds=30)


class TokenState(StrEnum):
    """A service's answer to a token."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    """The service does not accept it, or no request can carry it."""
    OTHER_ACCOUNT = "other_account"
    """It is valid, but its account may not read the blog, or is not the account of the archive."""
    UNTRIED = "untried"
    """The service gave no usable answer, so nothing is known."""


@frozen
class TokenTrial:
    """The result of trying a token.

    Attributes:
        state: the answer.
        user: the account of the token; ``None`` if the service did not name it.
        sentence: the result for people, a message.
    """

    state: TokenState
    user: User | None
    sentence: str


async def try_token(blog_id: str, settings: Settings, archive: Path | None = None) -> TokenTrial:
    """Send at most two requests with the token in the settings, without repeating them.

    The first asks for the calling user, if the service has such a request. The second asks for the first page of the
    blog's list of entries.

    Args:
        blog_id: the blog.
        settings: with the service and the token.
        archive: the blog's archive, which need not exist; its account must be that of the token.
    """
    patient = replace(
        settings,
        retries=0,
        connect_timeout=min(settings.connect_timeout, _TIMEOUT),
        read_timeout=min(settings.read_timeout, _TIMEOUT),
        total_timeout=min(settings.total_timeout, _TIMEOUT),
    )
    user = None
    try:
        named = None if archive is None else newest_id(Layout(archive), settings.service)
        async with open_service(blog_id, patient, renamed_to=named, longest_pause=0.0) as opened:
            if opened.service.capabilities.user:
                call = opened.service.user_call()
                user = opened.service.user(await opened.client.fetch(call.request, call.parse, once=True))
            await _read_list(opened)
    except (NotAuthorised, ApiError) as error:
        if user is not None:
            return TokenTrial(TokenState.OTHER_ACCOUNT, user, _not_permitted(user, blog_id))
        if isinstance(error, NotAuthorised):
            return TokenTrial(TokenState.REFUSED, None, message("The service refuses this token."))
        return TokenTrial(TokenState.UNTRIED, None, _untried(error))
    except UsageError as error:
        return TokenTrial(TokenState.REFUSED, None, said(error))
    except ServiceError as error:
        return TokenTrial(TokenState.UNTRIED, user, _untried(error))
    if user is None:
        return TokenTrial(TokenState.ACCEPTED, None, message("The service accepts the token."))
    before = None if archive is None else _archived_user(archive, settings)
    if before is not None and before.id != user.id:
        return TokenTrial(TokenState.OTHER_ACCOUNT, user, _not_the_same(user, before))
    accepted = message("The token works. It is of the account {name} (user {id}).", name=user.name, id=user.id)
    return TokenTrial(TokenState.ACCEPTED, user, accepted)


async def _read_list(opened: OpenService) -> None:
    pages = opened.service.pages(Kind.ENTRY_LIST, opened.blog_id, [])
    for cursor in list(pages.wanted(0))[:1]:
        call = pages.call(cursor)
        await opened.client.fetch(call.request, call.parse, once=True)


def _not_permitted(user: User, blog_id: str) -> str:
    return message(
        "The account {name} (user {id}) owns this token, but may not read {blog}.",
        name=user.name,
        id=user.id,
        blog=blog_id,
    )


def _not_the_same(user: User, before: User) -> str:
    return message(
        "The account {name} (user {id}) owns this token, but the archive was made with {other} (user {other_id}).",
        name=user.name,
        id=user.id,
        other=before.name,
        other_id=before.id,
    )


def _untried(error: BlogExporterError) -> str:
    return message("The token could not be tried: {reason}", reason=said(error))


def _archived_user(root: Path, settings: Settings) -> User | None:
    """Return the account that an archive was last made with; ``None`` without a readable one."""
    with suppress(BlogExporterError):
        archive = Archive.open(root)
        service = service_of(settings, archive.info.service)
        return next((service.user(raw) for _, raw in archive.records(Kind.USER)), None)
    return None
