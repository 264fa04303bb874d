"""The ID of a blog, out of its address in whatever form somebody pastes it."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from exporter.message import message

_SCHEME: Final = re.compile(r"(?:h?ttps?:|feed:)?//+", re.IGNORECASE)
_AROUND: Final = "\"'`<>()[]「」『』《》〈〉【】,;"
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_LONGEST: Final = 253


def blog_id_in(text: str) -> str:
    """Return the host of a pasted address, as the service's API wants it: small letters, of ASCII.

    Letters of full width, spaces, brackets around it, the page behind it and a scheme without its ``h`` are all
    understood; a name in Japanese becomes its punycode (RFC 3490).

    Raises:
        ValueError: there is no name of a host in it, or it holds a password.
    """
    plain = unicodedata.normalize("NFKC", text).replace("。", ".")
    plain = "".join(char for char in plain if unicodedata.category(char) not in _INVISIBLE).strip(_AROUND)
    host = re.split(r"[/?#\\]", _SCHEME.sub("", plain, count=1) if _SCHEME.match(plain) else plain, maxsplit=1)[0]
    if "@" in host:
        raise ValueError(message("an address without a name and a password before @ is expected"))
    name = host.partition(":")[0].strip(".").lower()
    try:
        ascii_name = name.encode("idna").decode("ascii")
    except UnicodeError:
        ascii_name = ""
    labels = ascii_name.split(".")
    if len(labels) < 2 or len(ascii_name) > _LONGEST or not all(map(_LABEL.fullmatch, labels)) or labels[-1].isdigit():
        raise ValueError(message("the address of a blog is expected, such as https://name.blog.example.jp/"))
    return ascii_name
