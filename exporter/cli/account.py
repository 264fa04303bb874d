"""Questions about the account at a blog's service: whether to sign in, the client ID, or the token.

If the service can judge an answer, the program tries the answer at once. The blog's pages and export files need no
account.
"""

from __future__ import annotations

import asyncio
from dataclasses import field, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from exporter.cli.blog_names import address_in
from exporter.cli.questions import Questions, ask
from exporter.cli.source import explored, files_at, nothing_at
from exporter.errors import BlogExporterError, UsageError
from exporter.frozen import frozen
from exporter.message import message, said
from exporter.service.declarations import PUBLIC_SITE

if TYPE_CHECKING:
    from exporter.login.client import RegisteredClient
    from exporter.service.discovery import WayIn
    from exporter.settings import Settings
    from exporter.source.export_files import ExportFiles

_WITH_A_NAME: Final = frozenset({"basic", "wsse"})


class _Access(Enum):
    """The ways to read a blog whose service needs a client ID."""

    PUBLIC = message("only what everybody can see, from the blog's pages; this needs no account")
    CLIENT = message("everything, by signing in with a client ID that I have")
    TOKEN = message("everything, with an access token that I have")
    FILE = message("an export file that I got from the service")


@frozen
class Account:
    """The answers.

    Attributes:
        sign_in: whether to sign in, with ``client`` or the known one.
        client: the client that was typed.
        token: the token that was typed.
        user: the name at the service that was typed.
        way: the way to read the blog's pages instead of its API.
        files: the export files to read instead of the service.
    """

    sign_in: bool = False
    client: RegisteredClient | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    user: str | None = None
    way: WayIn | None = None
    files: ExportFiles | None = None


def asked_account(questions: Questions, words: str, blog_id: str, settings: Settings, archive: Path) -> Account:
    """Ask how the program gets access to a blog, as far as the settings do not say it.

    Args:
        questions: asks and explains.
        words: the blog's address or ID, as the user typed it.
        blog_id: the blog.
        settings: its settings, with the service.
        archive: its archive, which need not exist.

    Raises:
        UsageError: nothing may be asked, and the blog's pages cannot be read.
    """
    from exporter.login.client import known_client
    from exporter.login.facts import is_signed_in
    from exporter.login.store import SignInStore

    if is_signed_in(settings) or settings.service == PUBLIC_SITE.name:
        return Account()
    if settings.oauth_authorize_url is not None and settings.oauth_token_url is not None:
        if known_client(settings, SignInStore()) is None:
            return _without_client(questions, words, blog_id, settings, archive)
        question = message("Sign in there now? Without it, drafts and private entries are not saved.")
        return Account(sign_in=questions.agreed(question, default=True))
    if settings.auth in _WITH_A_NAME and settings.user is None:
        return _with_name(questions, words, blog_id, settings, archive)
    return Account(token=asked_token(questions, blog_id, settings, archive))


def _without_client(questions: Questions, words: str, blog_id: str, settings: Settings, archive: Path) -> Account:
    from exporter.login.client import client_explained
    from exporter.login.sign_in import asked_client

    for line in client_explained(settings):
        questions.say(line)
    while True:
        question = message("How should the blog be read?")
        match list(_Access)[questions.number(question, [each.value for each in _Access], 0)]:
            case _Access.PUBLIC:
                found = _pages(questions, words, blog_id)
            case _Access.CLIENT:
                client = asyncio.run(asked_client(settings, ask, questions.say))
                found = None if client is None else Account(sign_in=True, client=client)
            case _Access.TOKEN:
                token = asked_token(questions, blog_id, settings, archive)
                found = None if token is None else Account(token=token)
            case _Access.FILE:
                files = asked_files(questions)
                found = None if files is None else Account(files=files)
        if found is not None:
            return found


def _with_name(questions: Questions, words: str, blog_id: str, settings: Settings, archive: Path) -> Account:
    """Ask for the name and the key of an API that needs both."""
    while True:
        question = message("Your name (ID) at the service; Enter to save only what everybody can see")
        name = questions.text(question)
        if not name:
            found = _pages(questions, words, blog_id)
        else:
            token = asked_token(questions, blog_id, replace(settings, user=name), archive)
            found = None if token is None else Account(user=name, token=token)
        if found is not None:
            return found


def _pages(questions: Questions, words: str, blog_id: str) -> Account | None:
    """Find a way to read the blog's pages; explain if the pages cannot be read.

    Raises:
        UsageError: the pages cannot be read, and nothing may be asked.
    """
    try:
        ways = explored(address_in(words) or f"https://{blog_id}/")
        way = ways.chosen(PUBLIC_SITE.name)
        if way is not None:
            return Account(way=way)
        reason = nothing_at(ways, None)
    except BlogExporterError as error:
        reason = said(error)
    if questions.silent:
        raise UsageError(reason)
    questions.say(reason)
    return None


def asked_token(questions: Questions, blog_id: str, settings: Settings, archive: Path) -> str | None:
    """Ask for an access token until the service does not refuse it; ``None`` for no answer."""
    from exporter.library.token_trial import TokenState, try_token

    question = message("Access token, if the service wants one (it is not shown; Enter for none)")
    if settings.auth in _WITH_A_NAME:
        question = message("API key of the blog (it is not shown; Enter if you have none)")
    while True:
        token = questions.secret(question)
        if token is None:
            return None
        trial = asyncio.run(try_token(blog_id, replace(settings, token=token), archive))
        questions.say(trial.sentence)
        if trial.state in {TokenState.ACCEPTED, TokenState.UNTRIED}:
            return token
        questions.say(message("Please type another one, or press Enter to go on without."))


def asked_files(questions: Questions) -> ExportFiles | None:
    """Ask for an export file; ``None`` for an empty answer."""

    def read(answer: str) -> ExportFiles | None:
        path = answer.strip("'\"")
        found = files_at(str(Path(path).expanduser())) if path else None
        if path and found is None:
            raise UsageError("{path} is no export file. Drag the file into this window, or press Enter.", path=path)
        return found

    return questions.value(message("Path of the export file"), "", read)
