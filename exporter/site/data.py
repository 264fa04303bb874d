"""Data for the site's scripts, as scripts: nothing else loads where a page was opened from a folder. Pure."""

from __future__ import annotations

from typing import Any

from exporter import codec

_ESCAPES = (
    (b"<", b"\\u003c"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)


def script(kind: str, name: str, value: Any) -> bytes:
    """Return a classic script that hands ``value`` to the site's own: ``blogData("kind", "name", value)``.

    ``<`` is escaped, so that no text can end a script or open a comment, and so are the line ends JSON allows and old
    scripts do not.
    """
    text = codec.dumps(value)
    for found, escaped in _ESCAPES:
        text = text.replace(found, escaped)
    return b'blogData("%b","%b",%b);\n' % (kind.encode("ascii"), name.encode("ascii"), text)
