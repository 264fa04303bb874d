"""Answers of WordPress' REST API as JSON, and its failures as errors that say what to do next. Pure."""

from __future__ import annotations

import re
from typing import Any, Final

from exporter.errors import HtmlBody, NotAuthorised
from exporter.lossless_json import NotJson, loads
from exporter.message import message
from exporter.model.exchange import Request, Response
from exporter.service.answers import message_text, read_json, refusal
from exporter.service.interface import NotShown

PAST_THE_END: Final = frozenset({"rest_post_invalid_page_number", "rest_invalid_page_number"})
"""The codes for a page after the last one; records may have been deleted since the first page."""
_BAD_REQUEST: Final = 400
_FORBIDDEN_STATUS: Final = b'"rest_forbidden_status"'
_NOT_SIGNED_IN: Final = re.compile(rb'"status"\s*:\s*401')
_UNAUTHORISED: Final = 401
_FORBIDDEN: Final = 403
_NOT_FOUND: Final = 404
_NOT_ALLOWED: Final = frozenset({_UNAUTHORISED, _FORBIDDEN})
_NO_RIGHT: Final = re.compile(r"rest_(?:forbidden|cannot_(?:read|view|edit)|user_cannot_view)\w*")
"""Codes of WordPress itself for a single record or a view that the user may not see."""
_PHP_NOTICE: Final = re.compile(
    rb"\s*(?:<br ?/?>\s*)?(?:<b>|PHP )?(Warning|Notice|Deprecated|Strict Standards|Fatal error|Parse error)(?:</b>)?:",
)
_HEAD_BYTES: Final = 400


def code_of(response: Response) -> str:
    """Return a failure's code, such as ``rest_forbidden``; empty if WordPress did not answer."""
    return _member(response, "code")


def read_answer(request: Request, response: Response, *, signed_in: bool) -> Any:
    """Parse an answer as JSON of any type.

    Args:
        request: the request.
        response: its response.
        signed_in: whether the request carried a sign-in.

    Raises:
        NotAuthorised: status 401 or 403.
        ApiError: any other failure, or PHP's messages in front of the JSON.
        TransportError: a page of HTML or no JSON.
    """
    refused = _refused_status(response)
    if refused in _NOT_ALLOWED:
        raise NotAuthorised(
            "{operation} answered {status} ({reason}): {advice}",
            operation=request.operation,
            status=response.status,
            reason=_reason(response),
            advice=_advice(response, refused, signed_in=signed_in),
        )
    if response.status == _NOT_FOUND and not code_of(response):
        raise refusal(
            request,
            response,
            message(
                "there is no WordPress REST API; check the address. A blog without pretty permalinks needs --rest-route"
            ),
        )
    notice = _PHP_NOTICE.match(response.body[:_HEAD_BYTES])
    if notice is not None:
        raise refusal(
            request,
            response,
            message(
                "PHP prints a message ({kind}) in front of the JSON; set display_errors to off for the blog, "
                "in WordPress by WP_DEBUG_DISPLAY",
                kind=notice[1].decode("ascii"),
            ),
        )
    try:
        return read_json(request, response, _message_in)
    except HtmlBody:
        raise HtmlBody(
            "{operation} answered with a page of HTML: the address is wrong, or a security plugin, a firewall or a "
            "maintenance page answers in place of WordPress. Open the address in a browser, and permit the REST API",
            operation=request.operation,
        ) from None


def read_list(request: Request, response: Response, *, signed_in: bool) -> list[Any]:
    """Parse an answer as a list, like :func:`read_answer`."""
    answer = read_answer(request, response, signed_in=signed_in)
    if not isinstance(answer, list):
        raise refusal(request, response, message("the answer is not a list"))
    return answer


def read_record(request: Request, response: Response, *, signed_in: bool) -> dict[str, Any]:
    """Parse an answer as a record, like :func:`read_answer`.

    Raises:
        NotShown: the blog does not show this record to this user.
    """
    hidden = response.status in _NOT_ALLOWED and _NO_RIGHT.fullmatch(code_of(response)) is not None
    # A signed-in user gets 403. A 401 means that the sign-in did not arrive.
    if hidden and not (signed_in and response.status == _UNAUTHORISED):
        reason = _reason(response)
        advice = (
            message("{reason}; the user may not edit it: sign in as an administrator or editor", reason=reason)
            if signed_in
            else message(
                "{reason}; the blog does not show it to the public, so reading it needs a sign-in", reason=reason
            )
        )
        found = refusal(request, response, advice)
        raise NotShown(found.operation, found.params, found.status, found.message, found.body)
    answer = read_answer(request, response, signed_in=signed_in)
    if not isinstance(answer, dict):
        raise refusal(request, response, message("the answer is not an object"))
    return answer


def stated_number(response: Response, header: str) -> int | None:
    """Return the number in a header such as ``X-WP-Total``; ``None`` if it is absent or invalid."""
    text = response.headers.get(header, "").strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else None


def _refused_status(response: Response) -> int:
    """Return the status that a failure means. WordPress answers 400 if a user may not ask for drafts."""
    if response.status == _BAD_REQUEST and _FORBIDDEN_STATUS in response.body:
        return _UNAUTHORISED if _NOT_SIGNED_IN.search(response.body) else _FORBIDDEN
    return response.status


def _advice(response: Response, status: int, *, signed_in: bool) -> str:
    code = code_of(response)
    if not code:
        return message(
            "a server or a plugin in front of WordPress refuses the request; permit the REST API for this program"
        )
    if not signed_in:
        return message(
            "the blog closes its REST API to the public; sign in with --user NAME and an application password, or use "
            "an export file (in WordPress under Tools, Export)"
        )
    if status == _UNAUTHORISED:
        return message(
            "WordPress did not accept the sign-in. Check --user and the application password, which is made in "
            "WordPress under Users, Profile, Application Passwords. If both are right, the web server removes the "
            "header Authorization, or a plugin turned off application passwords"
        )
    return message("this user may not read it; sign in as an administrator or editor, or without --user")


def _reason(response: Response) -> str:
    reason, code = _member(response, "message"), code_of(response)
    if reason and code:
        return f"{reason.rstrip('.。')}; {code}"
    return reason or code or message("no reason given")


def _message_in(value: Any) -> object:
    if not isinstance(value, dict):
        return None
    reason, code = message_text(value.get("message")), message_text(value.get("code"))
    return f"{reason} ({code})" if reason and code else reason or code


def _member(response: Response, name: str) -> str:
    try:
        value = loads(response.body)
    except NotJson:
        return ""
    return message_text(value.get(name)) if isinstance(value, dict) else ""
