"""Where the addresses of the old blog lead now, for the web servers that can say so. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from exporter.errors import UsageError
from exporter.exporters.interface import Content, ExportFile
from exporter.exporters.media import new_address
from exporter.exporters.options import ExportOptions
from exporter.exporters.posts import Posts
from exporter.exporters.report import Report

_SPECIAL = re.compile(r"([\\.^$*+?{}\[\]|()\"'\s])")


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


def export(posts: Posts, options: ExportOptions, report: Report) -> Iterator[ExportFile]:
    """Yield the same list in four forms.

    Raises:
        UsageError: the patterns of the old or the new addresses are missing.
    """
    if not options.old_urls or options.new_url is None:
        raise UsageError("Redirects need both patterns: --old-url and --new-url.")
    for name, head, row in _FORMS:
        first = name == _FORMS[0][0]
        moves = _moves(posts, options, report if first else Report())
        yield Content(name, _lines(head, moves, row))


def _moves(posts: Posts, options: ExportOptions, report: Report) -> Iterator[_Move]:
    taken: set[str] = set()
    for post in posts:
        new = None if options.new_url is None else new_address(posts.records, post.entry_id, options.new_url)
        olds = [old for pattern in options.old_urls if (old := pattern.fill(post.entry.raw)) and old not in taken]
        for each in post.comments:
            report.left("comments", "redirects hold addresses only", each.comment.cm_id)
        if new is None or not olds:
            report.left("entries", "lacks a field of the patterns, or shares its old address", post.entry_id)
            continue
        taken.update(olds)
        report.wrote(0, post.category)
        for old in olds:
            move = _Move(post.entry_id, old, new)
            if not move.is_path:
                report.limit("has an old address that only redirects.csv can hold", post.entry_id)
            yield move


def _lines(head: str, moves: Iterator[_Move], row: Callable[[_Move], str]) -> Iterator[bytes]:
    yield head.encode()
    for move in moves:
        yield (row(move) + "\n").encode()


def _nginx(move: _Move) -> str:
    if not (move.is_path and unquote(move.path).isprintable()):
        return _note(move)
    path = unquote(move.path).replace("\\", "\\\\").replace('"', '\\"')
    return f'location = "{path}" {{ return 301 "{move.new.replace("$", "%24")}"; }}'


def _apache(move: _Move) -> str:
    plain = unquote(move.path)
    if not (move.is_path and plain.isprintable()) or '"' in plain:
        return _note(move)
    path = _SPECIAL.sub(r"\\\1", plain)
    return f'RedirectMatch 301 "^{path}$" "{move.new.replace("$", "%24")}"'


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
