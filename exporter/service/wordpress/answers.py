"""Answers of WordPress' REST API as JSON, and its failures as errors that say what to do next. Pure."""

from __future__ import annotations

import re
from dataclasses import replace
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
_JSON_HEAD: Final = re.compile(rb"\{\s*[\"}]|\[\s*[\]{]")
_JSON_TAIL: Final = re.compile(rb"[\]}]\s*\Z")
_TAIL_BYTES: Final = 100
_BLANK: Final = b" \t\r\n\xef\xbb\xbf"
_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)|[\[{\]}]', re.DOTALL)
"""A string of JSON, also one without an end, or a bracket."""
_DOCUMENT: Final = re.compile(rb"<(?:!doctype|html|head|body|script)\b", re.IGNORECASE)
_FAILURE: Final = re.compile(rb'\{\s*"code"\s*:')
_MAX_NOISE_BYTES: Final = 64 * 1024
_MAX_BRACKETS: Final = 16
"""Brackets outside of the JSON that are tried."""
_NUMBER: Final = re.compile(r"\b[0-9]{1,4}\b")
_OK: Final = 200


def without_noise(response: Response) -> Response:
    """Return an answer without the bytes around its JSON, such as PHP's messages or the comment of a cache plugin.

    A web page is returned unchanged. After a message of PHP every status is 200, so a failure gets the status that its
    JSON states.
    """
    body = response.body
    if _JSON_HEAD.match(body) is not None and _JSON_TAIL.search(body, max(0, len(body) - _TAIL_BYTES)) is not None:
        return response
    if body[:1] in (b"[", b"{") and _end_of(body, 0) == len(body.rstrip(_BLANK)):
        return response
    begin, end = _json_in(body)
    if begin == end or _DOCUMENT.search(body, 0, begin) is not None:
        return response
    found = replace(response, body=body[begin:end])
    if found.status == _OK and _FAILURE.match(found.body) is not None:
        data = _object(found).get("data")
        status = data.get("status") if isinstance(data, dict) else None
        if type(status) is int and status >= _BAD_REQUEST:
            return replace(found, status=status)
    return found


def _json_in(body: bytes) -> tuple[int, int]:
    """Return where the JSON begins and ends; zeros if there is none.

    It is the text between a bracket and its counterpart: the one at the beginning, or the longest one.
    """
    best, at = (0, 0), 0
    for _ in range(_MAX_BRACKETS):
        opening = _JSON_HEAD.search(body, at, at + _MAX_NOISE_BYTES)
        if opening is None:
            break
        begin = opening.start()
        end = _end_of(body, begin)
        if end - begin > best[1] - best[0]:
            best = begin, end
        if best[1] and not body[: best[0]].strip(_BLANK):
            break
        at = max(end, begin + 1)
    return best


def _end_of(body: bytes, begin: int) -> int:
    """Return where the bracket at ``begin`` is closed; ``begin`` if it is not."""
    depth = 0
    for token in _TOKEN.finditer(body, begin):
        kind = token[0][:1]
        if kind in b"[{":
            depth += 1
        elif kind in b"]}":
            depth -= 1
            if depth == 0:
                return token.end()
    return begin


def page_limit(response: Response, size: int) -> int | None:
    """Return a number of records for a page if a blog refuses to send ``size`` of them; ``None`` for other answers.

    WordPress names the highest number in its message. Without it, half of the refused number is tried.
    """
    if response.status != _BAD_REQUEST or size == 1:
        return None
    data = _object(response).get("data")
    params = data.get("params") if isinstance(data, dict) else None
    if not isinstance(params, dict) or "per_page" not in params:
        return None
    stated = [int(number) for number in _NUMBER.findall(str(params["per_page"]))]
    return max((number for number in stated if 0 < number < size), default=size // 2)


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
        ApiError: any other failure, or a message of PHP in place of the JSON.
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
                "PHP sends a message ({kind}) in place of an answer; look for it in the error log of the blog's server",
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
    return message_text(_object(response).get(name))


def _object(response: Response) -> dict[str, Any]:
    try:
        value = loads(response.body)
    except NotJson:
        return {}
    return value if isinstance(value, dict) else {}
