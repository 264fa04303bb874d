"""The ID of a blog: found in an address of any form, and told apart from a path."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Final

from exporter.errors import NoArchive, UsageError
from exporter.message import message, suggested

_SCHEME: Final = re.compile(r"(?:h?ttps?:|feed:)?//+", re.IGNORECASE)
_OTHER_SCHEME: Final = re.compile(r"(?!h?ttps?:|feed:)[a-z][a-z0-9+.-]*://", re.IGNORECASE)
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


def require_blog_id(text: str) -> None:
    """Check that a text can be the ID of a blog, and the name of a folder.

    Raises:
        NoArchive: it is a path at which no folder exists.
        UsageError: it is something else.
    """
    if text and not text.startswith((".", "~")) and not any(mark in text for mark in "/\\:\0"):
        return
    shown = repr(text)
    if not text or "\0" in text:
        raise UsageError(message("{text} is not a blog ID such as NAME.blog.example.jp.", text=shown))
    if _OTHER_SCHEME.match(text):
        raise UsageError(
            message(
                "{text} is not a folder, and a backup needs one. To bring a copy back from there: {command}",
                text=shown,
                command=suggested("sync", text, "DIR"),
            )
        )
    if _SCHEME.match(text) or not _is_like_a_path(text):
        raise UsageError(_of_an_address(text))
    path = Path(text)
    if path.is_dir():
        raise UsageError(
            message(
                "{folder} is a folder without an archive: name the blog itself, such as NAME.blog.example.jp.",
                folder=shown,
            )
        )
    if path.exists():
        raise UsageError(message("{path} is a file: name the folder of an archive, or a blog ID.", path=shown))
    raise NoArchive(
        message(
            "The folder {path} does not exist. If it is on another disk, connect that disk first. To begin a new "
            "archive there: {command}",
            path=shown,
            command=suggested("backup", "NAME.blog.example.jp", "--archive", path),
        )
    )


def _is_like_a_path(text: str) -> bool:
    return any(mark in text for mark in "/\\") or text.startswith((".", "~"))


def _of_an_address(text: str) -> str:
    """Say that a text is an address, and which blog it names."""
    try:
        blog_id = blog_id_in(text)
    except ValueError:
        hidden = re.sub(r"[^/]*@", "***@", text)
        return message("{text} is not a blog ID such as NAME.blog.example.jp.", text=repr(hidden))
    return message("{text} is an address: name the blog by its ID, {blog_id}.", text=repr(text), blog_id=blog_id)
