"""Taking the secrets out of an exchange before it reaches a file. Pure.

The header lines and the parameter that carry credentials are removed, and so are the cookies of the answer. Elsewhere
in the answer a secret is replaced by as many asterisks, so lengths and chunk sizes stay right. All other bytes are
unchanged. If a secret is in a form that cannot be replaced in place, such as inside gzip, the exchange as
a whole is refused.
"""

from __future__ import annotations

import base64
import binascii
import html
import io
import json
import re
from collections.abc import Iterator
from dataclasses import field, replace
from functools import lru_cache
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from exporter.errors import BadBody, BodyTooLarge
from exporter.frozen import frozen
from exporter.http.wire import WireExchange
from exporter.warc.http_message import Head, Payload, decoded, read_head

REQUEST_HEADERS: Final = ("Authorization", "Proxy-Authorization", "Cookie", "Cookie2", "X-WSSE")
RESPONSE_HEADERS: Final = (
    "Set-Cookie",
    "Set-Cookie2",
    "Authentication-Info",
    "Proxy-Authentication-Info",
    "X-WP-Nonce",
)
"""Header fields with credentials: RFC 9110 (11.6, 11.7), RFC 6265, RFC 7615, the WSSE of Atom services, and the REST
API of WordPress."""
_BASE64: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=")
_MIN_BASE64_CHARACTERS: Final = 6
"""Shorter runs also occur by chance."""
_MIN_PROOF_CHARACTERS: Final = 8
_PROOFS: Final = re.compile(
    rb"(?:PasswordDigest|Nonce|oauth_signature|oauth_nonce|oauth_token|cnonce)\s*=\s*\"([^\"]+)\"",
    re.IGNORECASE,
)
"""The parts of WSSE, OAuth 1 and digest headers that prove a secret for one request."""
_JSON_ESCAPE: Final = re.compile(rb"\\(?:u00([0-9A-Fa-f]{2})|x([0-9A-Fa-f]{2})|([/\"\\]))")
_LONG_NUMBER: Final = re.compile(r"&#[0-9]{100,}")
_MASK: Final = b"*"


class NotRedactable(Exception):
    """An exchange has a secret that cannot be replaced, or bytes that cannot be searched."""


@frozen
class Removal:
    """The secrets and fields that are taken out of exchanges.

    Attributes:
        secrets: the tokens, passwords and keys of the requests.
        token_header: a further request header with credentials.
        token_parameter: the query parameter with the token; empty for none.
        max_decoded: the most bytes of a decoded answer that are searched.
    """

    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    token_header: str = "Authorization"  # noqa: S105 - the name of a header
    token_parameter: str = ""
    max_decoded: int = 64 * 1024 * 1024


@frozen
class Redacted:
    """An exchange without secrets.

    Attributes:
        exchange: its answer begins with the final head and is in memory.
        removed: names of the removed header fields and parameters, never a value.
    """

    exchange: WireExchange
    removed: frozenset[str]


def redacted(exchange: WireExchange, removal: Removal) -> Redacted | None:
    """Return an exchange without secrets; ``None`` if its answer has no complete head.

    Raises:
        NotRedactable: a secret would remain, or the answer cannot be searched.
    """
    head = read_head(exchange.answer)
    if head is None:
        return None
    exchange.answer.seek(0)
    answer = exchange.answer.read()
    lines, proofs = _without_headers(bytes(exchange.request), _lower(REQUEST_HEADERS) | {removal.token_header.lower()})
    head_lines, cookies = _without_headers(answer[head.start : head.end], _lower(RESPONSE_HEADERS))
    removed = {f"request header {name}" for name in proofs} | {f"response header {name}" for name in cookies}
    request, url, found = _without_parameter(b"".join(lines), exchange.url, removal.token_parameter)
    if found:
        removed.add(f"request parameter {removal.token_parameter}")
    values = (each for name, found in cookies.items() if "cookie" in name.lower() for each in found)
    forms = _Forms(
        removal.secrets
        | {each for found in proofs.values() for value in found for each in _proofs_in(value)}
        | {each for value in values for each in _cookie(value)}
    )
    if forms.found_in(request) or forms.found_in(url.encode("utf-8", "surrogatepass")):
        raise NotRedactable
    new_head, masked = forms.masked(b"".join(head_lines))
    if masked:
        removed.add("a secret in a response header")
    body, masked = _clean_body(exchange, answer, head, forms, removal.max_decoded)
    if masked:
        removed.add("a secret in a response body")
    clean = replace(exchange, url=url, request=bytearray(request), answer=io.BytesIO(new_head + body))
    return Redacted(clean, frozenset(removed))


def _clean_body(
    exchange: WireExchange, answer: bytes, head: Head, forms: _Forms, max_decoded: int
) -> tuple[bytes, bool]:
    """Return a body as sent, with its secrets replaced, and whether it had one.

    Raises:
        NotRedactable: a secret is in the chunk framing or in an encoding, or the encoding cannot be read.
    """
    payload = Payload(exchange.answer, head)
    places: list[tuple[int, int]] = []  # positions and lengths of the pieces
    pieces = []
    for piece in payload:
        places.append((exchange.answer.tell() - len(piece), len(piece)))
        pieces.append(piece)
    body = answer[head.end : payload.end]
    framing = _framing(answer, head, payload.end, places)
    if framing and (b"cookie" in framing.lower() or forms.found_in(framing)):
        raise NotRedactable
    if not forms or not pieces:
        return body, False
    encoding = head.get("content-encoding").strip().lower()
    if encoding not in {"", "identity"}:
        try:
            plain = decoded(iter(pieces), encoding, max_decoded)
        except (BadBody, BodyTooLarge) as error:
            raise NotRedactable from error
        if forms.found_in(plain):
            raise NotRedactable
    clean, masked = forms.masked(b"".join(pieces))
    if not masked:
        return body, False
    new, at = bytearray(body), 0
    for place, length in places:
        new[place - head.end : place - head.end + length] = clean[at : at + length]
        at += length
    return bytes(new), True


def _lower(names: tuple[str, ...]) -> set[str]:
    return {name.lower() for name in names}


def _without_headers(head: bytes, names: set[str]) -> tuple[list[bytes], dict[str, list[bytes]]]:
    """Return a head's lines without some fields, and the values of these fields by their names as sent."""
    first, *lines = head.splitlines(keepends=True) or [b""]
    kept: list[bytes] = [first]
    values: dict[str, list[bytes]] = {}
    name = ""
    for number, line in enumerate(lines):
        if not line.strip():
            kept += lines[number:]  # the empty line and a request's body
            break
        if line[:1] in b" \t":  # an obsolete folded line belongs to the field before it
            if name:
                values[name].append(line.strip())
                continue
        else:
            sent = line.partition(b":")[0].strip().decode("latin-1")
            name = sent if sent.lower() in names else ""
        if name:
            values.setdefault(name, []).append(line.partition(b":")[2].strip())
        else:
            kept.append(line)
    return kept, values


def _without_parameter(request: bytes, url: str, parameter: str) -> tuple[bytes, str, bool]:
    """Return a request and its address without a query parameter, and whether there was one."""
    if not parameter:
        return request, url, False
    line, end, rest = request.partition(b"\r\n")
    method, space, target = line.partition(b" ")
    target, second, version = target.partition(b" ")
    path, mark, query = target.partition(b"?")
    kept, found = _other_pairs(query, parameter)
    if not found:
        return request, url, False
    target = path + mark + kept if kept else path
    place, _, asked = url.partition("?")
    asked, number, fragment = asked.partition("#")
    others = _other_pairs(asked.encode("utf-8", "surrogatepass"), parameter)[0].decode("utf-8", "surrogatepass")
    return (
        method + space + target + second + version + end + rest,
        (f"{place}?{others}" if others else place) + number + fragment,
        True,
    )


def _other_pairs(query: bytes, parameter: str) -> tuple[bytes, bool]:
    pairs = query.split(b"&")
    kept = [each for each in pairs if unquote_to_bytes(each.partition(b"=")[0]) != parameter.encode()]
    return b"&".join(kept), len(kept) != len(pairs)


def _proofs_in(value: bytes) -> Iterator[str]:
    """Yield the parts of a header's value that would let a stranger repeat the request."""
    scheme, _, rest = value.partition(b" ")
    found = [match[1] for match in _PROOFS.finditer(value)]
    if b'="' not in rest and rest:
        found.append(rest.strip())
    elif not rest:
        found.append(scheme)
    for each in found:
        if len(each) >= _MIN_PROOF_CHARACTERS:
            yield each.decode("latin-1")
            yield unquote_to_bytes(each).decode("latin-1")  # OAuth 1 encodes its signature


def _cookie(value: bytes) -> Iterator[str]:
    text = value.partition(b";")[0].partition(b"=")[2].strip(b' "')
    if len(text) >= _MIN_PROOF_CHARACTERS:
        yield text.decode("latin-1")


def _framing(answer: bytes, head: Head, end: int, places: list[tuple[int, int]]) -> bytes:
    """Return the bytes of a body that are no payload: the sizes of chunks, their extensions, and trailers."""
    found, at = [], head.end
    for place, length in places:
        found.append(answer[at:place])
        at = place + length
    return b"".join([*found, answer[at:end]])


class _Forms:
    """Finds secrets in bytes, in the forms in which services repeat them."""

    def __init__(self, secrets: frozenset[str]) -> None:
        self._plain, self._base64 = _forms_of(frozenset(filter(None, secrets)))

    def __bool__(self) -> bool:
        return bool(self._plain)

    def found_in(self, data: bytes) -> bool:
        """Return whether a secret is in the data, encoded or not."""
        return self._is_in(data) or self._is_encoded_in(data)

    def masked(self, data: bytes) -> tuple[bytes, bool]:
        """Return the data with each secret replaced by asterisks, and whether there was one.

        Raises:
            NotRedactable: a secret is in the data in a form that cannot be replaced.
        """
        if not self:
            return data, False
        new = data
        for form in self._plain:
            if form in new:
                new = new.replace(form, _MASK * len(form))
        for form in self._base64:
            if form in new:
                new = _masked_runs(new, form)
        if self._is_encoded_in(new):
            raise NotRedactable
        return new, new is not data

    def _is_in(self, data: bytes) -> bool:
        return any(form in data for form in self._plain) or any(form in data for form in self._base64)

    def _is_encoded_in(self, data: bytes) -> bool:
        if not self:
            return False
        for decode in (_percent, _json, _entities, _percent):
            before, data = data, decode(data)
            if data is not before and self._is_in(data):
                return True
        return False


def _percent(data: bytes) -> bytes:
    return unquote_to_bytes(data) if b"%" in data else data


def _json(data: bytes) -> bytes:
    if b"\\" not in data:
        return data
    return _JSON_ESCAPE.sub(lambda match: match[3] or binascii.unhexlify(match[1] or match[2]), data)


def _entities(data: bytes) -> bytes:
    if b"&" not in data:
        return data
    # A longer number is no character, and Python refuses to read it.
    return html.unescape(_LONG_NUMBER.sub("", data.decode("latin-1"))).encode("utf-8")


def _masked_runs(data: bytes, form: bytes) -> bytes:
    """Replace each run of base64 that holds a form, because its other characters may be parts of the secret."""
    new = bytearray(data)
    at = data.find(form)
    while at >= 0:
        start, end = at, at + len(form)
        while start > 0 and data[start - 1] in _BASE64:
            start -= 1
        while end < len(data) and data[end] in _BASE64:
            end += 1
        new[start:end] = _MASK * (end - start)
        at = data.find(form, end)
    return bytes(new)


@lru_cache(maxsize=64)
def _forms_of(secrets: frozenset[str]) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """Return the literal forms of secrets, and those in base64; the longest first."""
    plain: set[bytes] = set()
    runs: set[bytes] = set()
    for secret in secrets:
        # WordPress accepts its application passwords with and without the spaces.
        for text in {secret, secret.replace(" ", "")}:
            data = text.encode("utf-8", "surrogatepass")
            whole = "".join(f"%{byte:02X}" for byte in data)
            escaped = "".join(f"\\u{byte:04x}" for byte in data)
            plain |= {data, whole.encode(), whole.lower().encode(), escaped.encode(), escaped.upper().encode()}
            for safe in ("", "/"):
                encoded = quote(data, safe).encode()
                plain |= {encoded, encoded.replace(b"%20", b"+"), re.sub(rb"%..", lambda one: one[0].lower(), encoded)}
            plain |= {json.dumps(text)[1:-1].encode(), text.replace("/", "\\/").encode(), html.escape(text).encode()}
            plain |= {data.hex().encode(), data.hex().upper().encode()}
            plain |= {text.encode("utf-16-le", "surrogatepass"), text.encode("utf-16-be", "surrogatepass")}
            for offset in range(3):
                whole_run = base64.b64encode(b"\0" * offset + data)
                start = (0, 2, 3)[offset]
                end = (len(data) + offset) * 8 // 6
                run = whole_run[start:end]
                if len(run) >= _MIN_BASE64_CHARACTERS:
                    runs |= {run, run.replace(b"+", b"-").replace(b"/", b"_")}
    plain -= {b""}
    return tuple(sorted(plain, key=len, reverse=True)), tuple(sorted(runs - plain, key=len, reverse=True))
