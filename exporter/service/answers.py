"""Read the JSON object in a response, and raise an error if the response is not a success. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NoReturn

from exporter.errors import ApiError, BadBody, BodyTooLarge, HtmlBody, NotAuthorised
from exporter.lossless_json import NotJson, TooHeavy, loads
from exporter.message import message, said
from exporter.model.exchange import Request, Response
from exporter.text import printable

_MESSAGE_CHARACTERS = 300
_BODY_CHARACTERS = 500
_BLANK = re.compile(rb"\s*(?:\xef\xbb\xbf)?\s*")
_HTML_TYPES = ("text/html", "application/xhtml")
_WITHOUT_TOKEN: Final = re.compile(
    r"(authori[sz]ation|authentication|token|credentials?)\b.{0,20}\b(required|missing|needed|not provided)"
    r"|\b(missing|no|without) (an? |any )?(access )?(authori[sz]ation|authentication|token|credentials?)\b"
    r"|(認証|トークン|ログイン).{0,10}(必要|ありません|指定されていません)",
    re.IGNORECASE,
)
"""Messages of services for a request without a token."""
_ADVICE: Final = message("set BLOG_EXPORTER_TOKEN to a token that may read this blog")


def read_object(request: Request, response: Response, message_in: Callable[[Any], object]) -> dict[str, Any]:
    """Return the JSON object in a response.

    Args:
        request: the request.
        response: its response.
        message_in: finds the service's message in the JSON of a failure.

    Raises:
        NotAuthorised: status 401 or 403.
        BadBody: empty, HTML, or not JSON.
        BodyTooLarge: JSON that would take too much memory.
        ApiError: any other status than 200, or JSON that is not an object.
    """
    value = read_json(request, response, message_in)
    if not isinstance(value, dict):
        raise refusal(request, response, message("the answer is not an object"))
    return value


def read_json(request: Request, response: Response, message_in: Callable[[Any], object], advice: str = "") -> Any:
    """Return the JSON in a response, of any type, like :func:`read_object`; ``advice`` is for a refused token."""
    operation, body = request.operation, response.body
    if response.status != 200:
        _fail_by_status(request, response, message_in, advice)
    blank = _BLANK.match(body)
    begin = blank.end() if blank is not None else 0
    if begin == len(body):
        raise BadBody("{operation} answered 200 with an empty body", operation=operation)
    if body.startswith(b"<", begin):
        raise _html(operation)
    try:
        return loads(body[begin:], response.objects)
    except TooHeavy as error:
        raise BodyTooLarge(
            "{operation} sent too much: {error}, which is refused (the setting max_body)",
            operation=operation,
            error=error,
        ) from None
    except NotJson as error:
        if response.headers.get("content-type", "").lower().startswith(_HTML_TYPES):
            raise _html(operation) from None
        raise BadBody(
            "{operation} answered with a body that is not JSON ({reason})",
            operation=operation,
            reason=message_text(said(error)),
        ) from None


def _html(operation: str) -> HtmlBody:
    return HtmlBody("{operation} answered with a page of HTML: is the base URL right?", operation=operation)


def _fail_by_status(request: Request, response: Response, message_in: Callable[[Any], object], advice: str) -> NoReturn:
    operation, status = request.operation, response.status
    if status in {401, 403}:
        advice = advice or response.advice or _ADVICE
        if status == 401 and response.token_header and _seems_without_token(response, message_in):
            advice = message(
                "the answer reads as if no token had arrived, though one was sent in the header {header}. If the "
                "token is right, {proxy} may remove that header: send the token by the setting auth_header or "
                "auth_query. If it is not: {advice}",
                header=response.token_header,
                proxy=_proxy_of(response),
                advice=advice,
            )
        raise NotAuthorised(
            "{operation} answered {status}, not authorised: {advice}", operation=operation, status=status, advice=advice
        )
    raise refusal(request, response, _reason(response, message_in) or message("not a success"))


def _reason(response: Response, message_in: Callable[[Any], object]) -> str:
    """Return the service's message about a failure, or an empty text."""
    try:
        return message_text(message_in(loads(response.body)))
    except NotJson:
        return ""


def _seems_without_token(response: Response, message_in: Callable[[Any], object]) -> bool:
    """Return whether the response to a request with a token reads as if the request had none.

    A server names no error in ``WWW-Authenticate`` if the request had no token (RFC 6750, section 3.1). Other servers
    use a message.
    """
    challenge = response.headers.get("www-authenticate", "")
    if challenge:
        return "error=" not in challenge.lower().replace(" ", "")
    return _WITHOUT_TOKEN.search(_reason(response, message_in)) is not None


def _proxy_of(response: Response) -> str:
    via = message_text(response.headers.get("via", ""))
    return message("the proxy on the way ({via})", via=via) if via else message("a proxy on the way")


def message_text(text: object) -> str:
    """Return a service's message, safe for a terminal; empty if it is not text."""
    return printable(text, _MESSAGE_CHARACTERS) if isinstance(text, str) else ""


def refusal(request: Request, response: Response, reason: str) -> ApiError:
    """Return the error for a response that breaks the service's contract. Its texts are safe for a terminal."""
    body = printable(response.body[: 4 * _BODY_CHARACTERS].decode("utf-8", errors="replace"), _BODY_CHARACTERS)
    shown = {name: printable(value, 100) for name, value in request.params.items()}
    return ApiError(request.operation, shown, response.status, reason, body)


def require_success(request: Request, response: Response, message_in: Callable[[Any], object], advice: str) -> None:
    """Raise the error for a response with any other status than 200, as :func:`read_json` does."""
    if response.status != 200:
        _fail_by_status(request, response, message_in, advice)
