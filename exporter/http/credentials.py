"""Credentials, their sources, and their removal from texts."""

from __future__ import annotations

import html
import ipaddress
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Protocol, TypeVar
from urllib.parse import quote, urlsplit

from exporter.errors import ApiError, ServiceError, UsageError
from exporter.message import message
from exporter.text import printable

MAX_TOKEN_CHARACTERS: Final = 16_384
"""A longer token is a whole file by mistake. Common servers accept 8 to 32 KiB of headers."""

_TELLING_CHARACTERS: Final = 8
"""A shorter secret may be in a text by chance."""

_PLAIN_RUN: Final = re.compile("[0-9A-Za-z]+")
"""Characters that no encoding changes."""

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, section 5.6.2
_HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")

Failure = TypeVar("Failure", bound=ServiceError)


class Signer(Protocol):
    """Makes the headers that prove a secret for one request, such as a signature; no two requests get the same."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secrets, which must not appear in texts."""

    @property
    def header(self) -> str:
        """The name of the header with the proof."""

    def headers(self, method: str, url: str) -> dict[str, str]:
        """Return the headers of a request that is sent now to exactly this address."""


@dataclass(frozen=True)
class Credentials:
    """The credentials sent to a service (API section 5 does not specify them; public clients send a bearer token).

    Attributes:
        token: the secret; ``None`` or empty for anonymous reading.
        header: the name of the header that carries it.
        scheme: the word before the token; empty for the bare token.
        query: the query parameter that carries the token instead of a header; empty for the header.
        secrets: parts of the token that must not appear in texts.
        advice: the next step for the user if they are refused.
        signer: signs each request, instead of a token that is sent.

    Raises:
        UsageError: the token, header or scheme is not allowed in a header; the token is not shown.
    """

    token: str | None = field(default=None, repr=False)
    header: str = "Authorization"
    scheme: str = "Bearer"
    secrets: tuple[str, ...] = field(default=(), repr=False)
    query: str = ""
    advice: str = ""
    signer: Signer | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not _HEADER_NAME.fullmatch(self.header):
            raise UsageError(message("the authentication header's name may hold letters, digits and hyphens only"))
        if self.scheme and not _HEADER_VALUE.fullmatch(self.scheme):
            raise UsageError(
                message("the authentication scheme holds characters that no header may have; use a word such as Bearer")
            )
        if self.token and len(self.token) > MAX_TOKEN_CHARACTERS:
            raise UsageError(
                "the token has {characters:,} characters, and no server accepts more than {limit:,}: "
                "look whether it is another file",
                characters=len(self.token),
                limit=MAX_TOKEN_CHARACTERS,
            )
        if self.token and not _HEADER_VALUE.fullmatch(self.token):
            raise UsageError(
                message(
                    "the token holds a line end, outer spaces or characters outside ASCII: copy it again, without those"
                )
            )

    @property
    def token_header(self) -> str:
        """The name of the header that carries the token; empty without a token."""
        if self.signer is not None:
            return self.signer.header
        return self.header if self.token and not self.query else ""

    @cached_property
    def headers(self) -> dict[str, str]:
        """The header to send, or none."""
        if not self.token or self.query:
            return {}
        return {self.header: f"{self.scheme} {self.token}".lstrip()}

    def exposed_at(self, base_url: str) -> str | None:
        """Return a warning if the token would cross a network unencrypted, otherwise ``None``.

        Plain http to this machine does not cross a network (RFC 6761, section 6.3, for ``localhost``).
        """
        try:
            parts = urlsplit(base_url)
            host = parts.hostname or ""
        except ValueError:
            return None  # refused before anything is sent
        if not self.token or parts.scheme != "http" or _is_this_machine(host):
            return None
        return message(
            "the token goes to {host} unencrypted, where anybody on the way can read it: "
            "use an https:// base URL, and make a new token if this one was sent before",
            host=printable(host, 100),
        )

    @property
    def parameter(self) -> str:
        """The query parameter that each address ends with, or nothing."""
        return f"{self.query}={quote(self.token, safe='')}" if self.token and self.query else ""

    @property
    def redactor(self) -> Redactor:
        """Removes these credentials from texts."""
        signed = self.signer.secrets if self.signer is not None else ()
        return Redactor([*([self.token] if self.token else []), *self.secrets, *signed])

    async def credentials(self) -> Credentials:
        """Return these credentials, which are a :class:`TokenSource` that does not change."""
        return self

    async def renewed(self, _refused: Credentials, /) -> None:
        """Return nothing: there is no replacement."""


def is_encrypted_or_near(address: str) -> bool:
    """Return whether the traffic to an address is protected: it uses https, or stays on this machine."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and _is_this_machine(host))


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


class TokenSource(Protocol):
    """A source of credentials that may change during a run, such as a sign-in that is renewed."""

    @property
    def redactor(self) -> Redactor:
        """Knows all secrets that were ever returned."""

    @property
    def advice(self) -> str:
        """The next step for the user if they are refused."""

    @property
    def token_header(self) -> str:
        """The name of the header that carries the token; empty without a token."""

    async def credentials(self) -> Credentials:
        """Return the credentials to send now.

        Raises:
            ServiceError: there are no credentials any more.
        """

    async def renewed(self, refused: Credentials, /) -> Credentials | None:
        """Return a replacement for refused credentials, or ``None`` if there is no replacement.

        Raises:
            ServiceError: there are no credentials any more.
        """


def _forms(secret: str) -> set[str]:
    if len(secret) < _TELLING_CHARACTERS:
        return {secret}
    data = _encoded(secret)
    return {secret, *(code(data).decode().rstrip("=") for code in (b64encode, urlsafe_b64encode))}


def _spelled(form: str) -> str:
    """Return a pattern of a text that may be encoded for an address, HTML or JSON."""
    return "".join(_spelled_mark(mark, optional=len(form) >= _TELLING_CHARACTERS) for mark in form)


def _spelled_mark(mark: str, *, optional: bool) -> str:
    if _PLAIN_RUN.fullmatch(mark):
        return mark
    number = ord(mark)
    percent = "".join(f"%{byte:02x}" for byte in _encoded(mark))
    ways = [
        re.escape(mark),
        f"(?i:{percent}|&#0*{number};|&#x0*{number:x};|\\\\u{number:04x})",
        *([re.escape(html.escape(mark))] if mark in "&<>\"'" else []),
        *([re.escape(f"\\{mark}")] if mark in '/"\\' else []),
        *([r"\+"] if mark == " " else []),
    ]
    return f"(?:{'|'.join(reversed(ways))}){'?' if mark == ' ' and optional else ''}"


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


class Redactor:
    """Replaces secrets by ``***``, also encoded for an address, HTML or JSON, without their spaces, and in base64.

    Attributes:
        secrets: all secrets that it knows.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self.secrets: frozenset[str] = frozenset()
        self._telling: list[tuple[bytes, re.Pattern[bytes]]] = []
        self._secrets: re.Pattern[str] | None = None
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Add secrets to replace from now on."""
        self.secrets |= frozenset(secret for secret in secrets if secret.strip())
        forms = {form for secret in self.secrets for form in _forms(secret)}
        longest_first = sorted(forms, key=len, reverse=True)
        self._telling = [
            (max(_PLAIN_RUN.findall(form), key=len, default="").encode(), re.compile(_encoded(_spelled(form))))
            for form in longest_first
            if len(form) >= _TELLING_CHARACTERS and not form.isalpha()
        ]
        self._secrets = re.compile("|".join(map(_spelled, longest_first))) if forms else None

    def __call__(self, text: str) -> str:
        """Return ``text`` without the secrets; the same object if it contains no secret."""
        if self._secrets is None or not self._secrets.search(text):
            return text
        return self._secrets.sub("***", text)

    def masked(self, body: bytes) -> bytes:
        """Return an answer's bytes without the secrets; the same object if it contains none.

        Short secrets and plain words stay, because a text may have them by chance.
        """
        for run, spellings in self._telling:
            if run in body:  # no encoding changes it, and the search for it is fast
                body = spellings.sub(b"***", body)
        return body

    def clean(self, error: Failure) -> Failure:
        """Remove the secrets from an error's texts in place, and return the error."""
        if self._secrets is None:
            return error
        error.args = tuple(self(part) if isinstance(part, str) else part for part in error.args)
        if isinstance(error, ApiError):
            error.params = {name: self(value) for name, value in error.params.items()}
            error.message = self(error.message)
            error.body = self(error.body)
        return error
