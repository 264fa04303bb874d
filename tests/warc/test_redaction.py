"""No secret survives in an exchange, in any form; every other byte does."""

from __future__ import annotations

import base64
import gzip
import html
import io
import json
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.http.wire import WireExchange
from exporter.warc.records import facts_of
from exporter.warc.redaction import NotRedactable, Redacted, Removal, redacted

TOKEN = "s3cr/et+t0ken=9f8e 7d6c"
REMOVAL = Removal(frozenset({TOKEN}))
REQUEST = b"GET /a?x=1 HTTP/1.1\r\nHost: api\r\nAuthorization: Bearer " + TOKEN.encode() + b"\r\nAccept: */*\r\n\r\n"
FORMS = {
    "as it is": TOKEN,
    "percent": quote(TOKEN, safe=""),
    "percent but slashes": quote(TOKEN),
    "percent in lower case": quote(TOKEN, safe="").lower().replace("s3cr", "s3cr"),
    "plus": quote(TOKEN, safe="").replace("%20", "+"),
    "JSON": json.dumps(TOKEN).replace("/", "\\/")[1:-1],
    "JSON in full": "".join(f"\\u{ord(each):04x}" for each in TOKEN),
    "HTML": html.escape(TOKEN),
    "hex": TOKEN.encode().hex(),
    "base64": base64.b64encode(TOKEN.encode()).decode(),
    "base64 of a pair": base64.b64encode(f"user:{TOKEN}".encode()).decode(),
    "base64 of a longer pair": base64.b64encode(f"owner:{TOKEN}:x".encode()).decode(),
    "base64 for addresses": base64.urlsafe_b64encode(f"me:{TOKEN}".encode()).decode(),
    "without spaces": TOKEN.replace(" ", ""),
}
MIXED = {
    "percent twice": quote(quote(TOKEN, safe=""), safe=""),
    "some letters": TOKEN.replace("s", "%73", 1),
    "some JSON escapes": TOKEN.replace("c", "\\u0063", 1),
    "some entities": TOKEN.replace("k", "&#107;", 1),
}


def exchange(answer: bytes, request: bytes = REQUEST, url: str = "http://api/a?x=1") -> WireExchange:
    return WireExchange(url, datetime(2026, 1, 2, tzinfo=UTC), "127.0.0.1", bytearray(request), io.BytesIO(answer))


def answer_of(kept: Redacted) -> bytes:
    kept.exchange.answer.seek(0)
    return kept.exchange.answer.read()


def with_length(body: bytes, lines: bytes = b"") -> bytes:
    return b"HTTP/1.1 200 OK\r\n" + lines + b"Content-Length: %d\r\n\r\n" % len(body) + body


def chunked(body: bytes, size: int) -> bytes:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b"".join(b"%x\r\n%s\r\n" % (len(each), each) for each in pieces)
        + b"0\r\n\r\n"
    )


def clean(answer: bytes, removal: Removal = REMOVAL, **how: object) -> Redacted:
    kept = redacted(exchange(answer, **how), removal)  # type: ignore[arg-type]
    assert kept is not None
    return kept


def test_credentials_and_cookies_are_removed_and_named() -> None:
    request = REQUEST.replace(
        b"Accept", b'cookie: a=b\r\nX-WSSE: UsernameToken PasswordDigest="abc123def456"\r\nAccept'
    )
    kept = clean(with_length(b"{}", b"Set-Cookie: sid=1234567890\r\nX-A: b\r\nset-cookie: c=d\r\n"), request=request)
    assert bytes(kept.exchange.request) == b"GET /a?x=1 HTTP/1.1\r\nHost: api\r\nAccept: */*\r\n\r\n"
    assert answer_of(kept) == b"HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 2\r\n\r\n{}"
    assert kept.removed == {
        "request header Authorization", "request header cookie", "request header X-WSSE",
        "response header Set-Cookie", "response header set-cookie",
    }  # fmt: skip


def test_a_folded_header_is_removed_as_a_whole() -> None:
    kept = clean(with_length(b"{}", b"Set-Cookie: sid=12345678;\r\n  path=/\r\nX-A: b\r\n"))
    assert answer_of(kept) == b"HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 2\r\n\r\n{}"


def test_a_parameter_is_removed_from_the_request_and_its_address() -> None:
    request = b"GET /a?key=tok&x=1&k%65y=tok HTTP/1.1\r\nHost: api\r\n\r\n"
    removal = replace(REMOVAL, token_parameter="key", secrets=frozenset({"tok"}))
    kept = clean(with_length(b"{}"), removal, request=request, url="http://api/a?key=tok&x=1&k%65y=tok")
    assert bytes(kept.exchange.request).startswith(b"GET /a?x=1 HTTP/1.1\r\n")
    assert kept.exchange.url == "http://api/a?x=1"
    assert "request parameter key" in kept.removed


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("size", [0, 1, 7])
def test_a_secret_in_a_body_is_replaced_in_place(form: str, size: int) -> None:
    body = f'{{"before": 1, "said": "{form}", "after": "海"}}'.encode()
    whole = chunked(body, size) if size else with_length(body)
    kept = clean(whole)
    answer = answer_of(kept)
    assert "a secret in a response body" in kept.removed
    assert len(answer) == len(whole)
    facts = facts_of(kept.exchange)
    assert facts is not None
    assert facts.cut is None
    assert facts.size == len(body)
    text = bytes(answer)
    assert form.encode() not in text
    # Everything else is the same.
    mask = b'{"before": 1, "said": "' + b"*" * len(form) + '", "after": "海"}'.encode()
    assert answer == (chunked(mask, size) if size else with_length(mask))


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_secret_in_a_header_is_replaced(form: str) -> None:
    kept = clean(with_length(b"{}", f"X-Echo: you said {form}!\r\n".encode()))
    assert answer_of(kept) == with_length(b"{}", b"X-Echo: you said " + b"*" * len(form) + b"!\r\n")
    assert "a secret in a response header" in kept.removed


@pytest.mark.parametrize("form", MIXED.values(), ids=MIXED)
def test_a_secret_in_a_mixed_form_refuses_the_exchange(form: str) -> None:
    for answer in (with_length(form.encode()), with_length(b"", b"X-A: " + form.encode() + b"\r\n")):
        with pytest.raises(NotRedactable):
            redacted(exchange(answer), REMOVAL)


@pytest.mark.parametrize("form", [*FORMS.values(), *MIXED.values()])
def test_a_secret_inside_gzip_refuses_the_exchange(form: str) -> None:
    body = gzip.compress(f"said {form}".encode())
    with pytest.raises(NotRedactable):
        redacted(exchange(with_length(body, b"Content-Encoding: gzip\r\n")), REMOVAL)


def test_gzip_without_a_secret_stays_as_it_is() -> None:
    answer = with_length(gzip.compress(b"nothing"), b"Content-Encoding: gzip\r\n")
    assert answer_of(clean(answer)) == answer


@pytest.mark.parametrize(
    "answer",
    [
        with_length(b"x", b"Content-Encoding: compress\r\n"),
        with_length(gzip.compress(b"long" * 100)[:20], b"Content-Encoding: gzip\r\n"),
        chunked(b"ab", 2).replace(b"2\r\n", b"2;ext=" + quote(TOKEN, safe="").encode() + b"\r\n"),
        chunked(b"ab", 2).replace(b"0\r\n", b"0\r\nSet-Cookie: a=b\r\n"),
    ],
    ids=["unknown encoding", "cut gzip", "chunk extension", "cookie in a trailer"],
)
def test_what_cannot_be_searched_is_refused(answer: bytes) -> None:
    with pytest.raises(NotRedactable):
        redacted(exchange(answer), REMOVAL)


def test_a_secret_in_the_request_refuses_the_exchange() -> None:
    with pytest.raises(NotRedactable):
        redacted(exchange(with_length(b"{}"), url=f"http://api/{quote(TOKEN)}"), REMOVAL)


def test_a_cookie_or_a_signature_that_the_answer_repeats_is_replaced() -> None:
    header = b'OAuth oauth_token="t", oauth_signature="abc%3Ddefgh%2B"'
    request = REQUEST.replace(b"Bearer " + TOKEN.encode(), header)
    body = b"sid 0123456789 and abc=defgh+ and abc%3Ddefgh%2B"
    kept = clean(with_length(body, b"Set-Cookie: sid=0123456789; Path=/\r\n"), Removal(), request=request)
    assert answer_of(kept).endswith(b"sid ********** and ********** and **************")


def test_hostile_numbers_are_searched() -> None:
    answer = with_length(b"&#" + b"1" * 5000 + b"; &#x" + b"f" * 5000 + b"; \\u00zz %zz")
    assert answer_of(clean(answer)) == answer


def test_an_answer_without_a_head_is_no_exchange() -> None:
    assert redacted(exchange(b"HTTP/1.1 200 OK\r\nContent-"), REMOVAL) is None


def test_only_the_final_answer_is_kept() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nX-Echo: " + TOKEN.encode() + b"\r\n\r\n"
    assert answer_of(clean(early + with_length(b"{}") + b"garbage")) == with_length(b"{}")


@given(st.binary(max_size=300), st.integers(1, 50), st.booleans())
def test_without_a_secret_no_byte_changes(body: bytes, size: int, is_chunked: bool) -> None:
    answer = chunked(body, size) if is_chunked else with_length(body)
    try:
        kept = clean(answer)
    except NotRedactable:
        return  # random bytes may look like a chunk with a cookie
    assert answer_of(kept) == answer
    assert kept.removed == {"request header Authorization"}


@given(st.text("abcXYZ019/+=-_%.~", min_size=8, max_size=40), st.binary(max_size=60), st.binary(max_size=60))
def test_no_form_of_any_token_survives(token: str, before: bytes, after: bytes) -> None:
    forms = [token, quote(token, safe=""), json.dumps(token), base64.b64encode(token.encode()).decode()]
    body = before + b"|".join(each.encode() for each in forms) + after
    try:
        kept = clean(with_length(body), Removal(frozenset({token})), request=b"GET / HTTP/1.1\r\n\r\n")
    except NotRedactable:
        return
    answer = answer_of(kept)
    assert not [each for each in forms if each.encode() in answer]
