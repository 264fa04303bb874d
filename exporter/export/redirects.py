"""Redirects from the old blog's addresses to the new ones, for web servers. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from exporter.errors import UsageError
from exporter.export.formats import Format
from exporter.export.interface import Content, ExportFile
from exporter.export.media import new_address, old_addresses
from exporter.export.parts import EVERYTHING
from exporter.export.posts import Posts
from exporter.export.reasons import Reason
from exporter.export.report import Report
from exporter.message import message

_SPECIAL = re.compile(r"([\\.^$*+?{}\[\]|()\"'\s])")
_EXACT_BYTES: Final = 255
"""nginx stores the length of an exact location in one byte; longer ones need an expression."""

_APACHE_KEEPS: Final = "$-_.+!*'(),:;@&=/~"
"""Apache escapes all other characters in redirect targets, including percent signs."""


class _Move(NamedTuple):
    entry_id: str
    old: str
    new: str

    @property
    def path(self) -> str:
        """The old address without its scheme and host."""
        return urlsplit(self.old)._replace(scheme="", netloc="").geturl()

    @property
    def is_path(self) -> bool:
        """Whether the address is a path alone, which is all that simple rules compare."""
        return "?" not in self.path


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield the same list in four forms.

    Raises:
        UsageError: the old addresses are unknown, or the pattern of the new ones is missing.
    """
    if posts.options.new_url is None or not (posts.options.old_urls or posts.permalinks()):
        raise UsageError(message("Redirects need both patterns: --old-url and --new-url."))
    for name, head, row in _FORMS:
        first = name == _FORMS[0][0]
        moves = _moves(posts, posts.report if first else Report())
        yield Content(name, _lines(head, moves, row))


def _moves(posts: Posts, report: Report) -> Iterator[_Move]:
    taken: set[str] = set()
    for post in posts:
        new = new_address(posts, post.id)
        olds = [old for old in old_addresses(post, posts.options) if old not in taken]
        for each in post.comments:
            report.left("comments", Reason.ADDRESSES_ONLY, each.comment.id)
        if new is None or not olds:
            report.left("entries", Reason.NO_NEW_ADDRESS, post.id)
            continue
        taken.update(olds)
        posts.wrote(post, 0, body=False) if report is posts.report else report.wrote(0)
        for old in olds:
            move = _Move(post.id, old, new)
            if not move.is_path:
                report.limit(Reason.CSV_ONLY, post.id)
            yield move


def _lines(head: str, moves: Iterator[_Move], row: Callable[[_Move], str]) -> Iterator[bytes]:
    yield head.encode()
    for move in moves:
        yield (row(move) + "\n").encode()


def _nginx(move: _Move) -> str:
    plain = unquote(move.path)
    if not _is_expressible(move, plain):
        return _note(move)
    exact = len(plain.encode()) <= _EXACT_BYTES
    path = plain if exact else f"^{_SPECIAL.sub(_escaped, plain)}$"
    quoted = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'location {"=" if exact else "~"} "{quoted}" {{ return 301 "{move.new.replace("$", "%24")}"; }}'


def _apache(move: _Move) -> str:
    plain = unquote(move.path)
    new = urlsplit(move.new)
    target = unquote(new.path)
    kept = quote(target, safe=_APACHE_KEEPS) == new.path and not set(target) & set('"$\\')
    # Apache itself answers 404 for an escaped slash.
    if not _is_expressible(move, plain) or '"' in plain or "%2f" in move.path.lower() or not kept:
        return _note(move)
    # In quotes, Apache reads two backslashes as one, and only then the expression.
    path = _SPECIAL.sub(_escaped, plain).replace(r"\\", "\\" * 4)
    return f'RedirectMatch 301 "^{path}$" "{new._replace(path=target).geturl()}"'


def _is_expressible(move: _Move, path: str) -> bool:
    """Return whether a path can be written in one line, and whether servers compare it unchanged."""
    written = all(char.isprintable() or char == "\N{IDEOGRAPHIC SPACE}" for char in path)
    return move.is_path and written and "//" not in path and not {".", ".."} & set(path.split("/"))


def _escaped(found: re.Match[str]) -> str:
    return f"\\{found[0]}"


def _netlify(move: _Move) -> str:
    if not move.is_path:
        return _note(move)
    return f"{move.path.replace('*', '%2A').replace(':', '%3A')} {move.new} 301"


def _note(move: _Move) -> str:
    return f"# No line can say where {move.path} went: {move.new}"


def _csv(move: _Move) -> str:
    return f'"{move.old}","{move.new}"'


_FORMS: tuple[tuple[str, str, Callable[[_Move], str]], ...] = (
    ("redirects.csv", '"old","new"\n', _csv),
    ("nginx.conf", "# Include this in the server block of the old host.\n", _nginx),
    ("apache.conf", "# Include this in the virtual host of the old host, or put it into its .htaccess.\n", _apache),
    ("_redirects", "", _netlify),
)


FORMAT: Final = Format(
    message("nginx, Apache, Netlify: old addresses to new ones"),
    export,
    comments=False,
    media=False,
    pictures=False,
    holds=EVERYTHING,
)
