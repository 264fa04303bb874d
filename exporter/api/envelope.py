"""From an answer to the object it carries: everything that is not a success becomes an error here. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NoReturn

from exporter.api.response import Response
from exporter.codec import NotJson, TooHeavy, loads
from exporter.errors import ApiError, BadBody, BodyTooLarge, HtmlBody, NotAuthorised, RetryableStatus
from exporter.model.assumptions import Assumptions
from exporter.printable import printable

_MESSAGE_SHOWN = 300
_BODY_SHOWN = 500
_RESULT_SHOWN = 60
_BLANK = re.compile(rb"\s*(?:\xef\xbb\xbf)?\s*")
_HTML_TYPES = ("text/html", "application/xhtml")


def unwrap(operation: str, params: Mapping[str, str], response: Response, assume: Assumptions) -> dict[str, Any]:
    """Return the ``data`` object of a blog operation's answer (API 2.1).

    Raises:
        NotAuthorised: status 401 or 403.
        RetryableStatus: status 408, 425, 429 or 5xx.
        BadBody: empty, HTML, or not JSON.
        BodyTooLarge: JSON that would take too much memory.
        ApiError: any other status than 200, ``result`` is not the success word, or the shape is wrong.
    """
    envelope = _parse(operation, params, response).get("json")
    if not isinstance(envelope, dict):
        _fail(operation, params, response, "the answer has no `json` object")
    _check_result(operation, params, response, envelope, assume)
    data = envelope.get("data")
    if not isinstance(data, dict):
        _fail(operation, params, response, "the answer's `data` is not an object")
    return data


def unwrap_user(operation: str, params: Mapping[str, str], response: Response, assume: Assumptions) -> dict[str, Any]:
    """Return the user object (API 2.7), which comes without an envelope; an envelope there can only tell a failure.

    Raises:
        NotAuthorised, RetryableStatus, BadBody, BodyTooLarge, ApiError: as for :func:`unwrap`.
    """
    user = _parse(operation, params, response)
    envelope = user.get("json")
    if "id" not in user and isinstance(envelope, dict):
        _check_result(operation, params, response, envelope, assume)
        _fail(operation, params, response, "the answer is an envelope where the user object was expected")
    return user


def _parse(operation: str, params: Mapping[str, str], response: Response) -> dict[str, Any]:
    if response.status != 200:
        _fail_by_status(operation, params, response)
    body = response.body
    blank = _BLANK.match(body)
    begin = blank.end() if blank is not None else 0
    if begin == len(body):
        raise BadBody(f"{operation} answered 200 with an empty body")
    if body.startswith(b"<", begin):
        raise HtmlBody(f"{operation} answered with a page of HTML: is the base URL right?")
    try:
        value = loads(body[begin:], response.objects)
    except TooHeavy as error:
        raise BodyTooLarge(f"{operation} sent too much: {error}, which is refused (the setting max_body)") from None
    except NotJson as error:
        kind = response.headers.get("content-type", "").lower()
        if kind.startswith(_HTML_TYPES):
            raise HtmlBody(f"{operation} answered with something called HTML: is the base URL right?") from None
        raise BadBody(
            f"{operation} answered with a body that is not JSON ({printable(str(error), _MESSAGE_SHOWN)})"
        ) from None
    if not isinstance(value, dict):
        _fail(operation, params, response, "the answer is not an object")
    return value


def _check_result(
    operation: str, params: Mapping[str, str], response: Response, envelope: Mapping[str, Any], assume: Assumptions
) -> None:
    result = envelope.get("result")
    if result != assume.success_result:
        message = _text(envelope.get("message"))
        _fail(operation, params, response, f"result {_shown(result)}" + (f", {message}" if message else ""))


def _shown(result: Any) -> str:
    """Show what stands where the success word should; a container may be deep, and a text long."""
    if isinstance(result, dict | list):
        return "that is no word"
    return printable(repr(result[:_RESULT_SHOWN] if isinstance(result, str) else result), _RESULT_SHOWN)


def _fail_by_status(operation: str, params: Mapping[str, str], response: Response) -> NoReturn:
    status = response.status
    if status in {401, 403}:
        raise NotAuthorised(
            f"{operation} answered {status}, not authorised: set BLOG_EXPORTER_TOKEN to a token that may read this blog"
        )
    if status in {408, 425, 429} or 500 <= status <= 599:
        raise RetryableStatus(f"{operation} answered {status}: the service is busy or broken, try later", status)
    _fail(operation, params, response, _message_of(response.body) or "not a success")


def _message_of(body: bytes) -> str:
    """Return what an answer that is no success says for itself, if it is an envelope."""
    try:
        value = loads(body)
    except NotJson:
        return ""
    envelope = value.get("json") if isinstance(value, dict) else None
    return _text(envelope.get("message")) if isinstance(envelope, dict) else ""


def _text(message: Any) -> str:
    return printable(message, _MESSAGE_SHOWN) if isinstance(message, str) else ""


def wrong_shape(operation: str, params: Mapping[str, str], response: Response, message: str) -> ApiError:
    """Return the error for an answer that is not what the document promises, its texts fit for a terminal."""
    body = printable(response.body[: 4 * _BODY_SHOWN].decode("utf-8", errors="replace"), _BODY_SHOWN)
    shown = {name: printable(value, 100) for name, value in params.items()}
    return ApiError(operation, shown, response.status, message, body)


def _fail(operation: str, params: Mapping[str, str], response: Response, message: str) -> NoReturn:
    raise wrong_shape(operation, params, response, message)
