"""A folder as a new home: a site generator's output, its Markdown sources, or exported HTML."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from exporter.compare.pages import NoPost, read_markdown, read_page
from exporter.compare.pictures import measured
from exporter.compare.posts import Aspect, HomeState, NewPost, PictureFacts, Unchecked
from exporter.errors import UsageError
from exporter.html.tree import TooComplex
from exporter.message import message

_HTML: Final = frozenset({".html", ".htm", ".xhtml"})
_MARKDOWN: Final = frozenset({".md", ".markdown"})
_ROOT: Final = "https://folder.invalid/"
"""Stands for the folder in addresses; no such host can exist (RFC 6761, section 6.4)."""
_PAGES_READ: Final = 200_000
_ALIAS_BYTES: Final = 4096
_REFRESH: Final = re.compile(r"<meta[^>]*http-equiv=[\"']?refresh[^>]*url=([^\"'>\s]+)", re.IGNORECASE)
_FILE_BYTES: Final = 32 * 1024 * 1024
_ROOTS: Final = ("", "static", "content", "public", "source", "src", "drafts", "_drafts")
"""Folders that generators serve as a site's root, and those in which an export has drafts."""
_TERM: Final = re.compile(r"(?:.*/)?(?:categories|tags)/([^/]+)/_index\.md")
"""A category's or tag's page in Hugo's sources, and the address that posts have in place of its name."""
_BOOK: Final = re.compile(r"book-[A-Za-z-]+\.html")
"""A book by ``export html``: it has all entries on one page."""
_OUTSIDE: Final = message("it is not in the folder")


class FolderHome:
    """A folder.

    Args:
        root: the folder; links out of it are not followed.
        progress: called with the number of pages read.
    """

    def __init__(self, root: Path, progress: Callable[[int], None]) -> None:
        if not root.is_dir():
            raise UsageError(
                "{root} is not a folder: name the new home's address (https://…) or the folder of its pages.", root=root
            )
        self._root = root
        self._progress = progress
        self._unread: Counter[str] = Counter()

    async def read(self) -> HomeState:
        """Read all pages: Markdown with front matter if the folder has any, else HTML."""
        files = list(self._files())
        sources = [path for path in files if path.suffix.lower() in _MARKDOWN]
        posts = _with_names(list(self._pages(sources, self._markdown)))
        words = bool(posts)
        if not words:
            pages = [path for path in files if path.suffix.lower() in _HTML]
            if pages and all(_BOOK.fullmatch(path.name) for path in pages):
                raise UsageError(
                    "{root} has a book, whose entries are all on one page. compare needs a page for each entry: "
                    "export hugo, markdown or another format with pages.",
                    root=self._root,
                )
            posts = list(self._pages(pages, self._html))
        if not posts:
            raise UsageError("{root} has no HTML page and no Markdown with front matter.", root=self._root)
        unread = [
            Unchecked(Aspect.TEXT, count, message("files that cannot be read: {why}", why=why))
            for why, count in self._unread.items()
        ]
        kind, withheld = (
            (message("folder of Markdown"), "")
            if words
            else (message("folder of HTML"), message("built pages show public entries only"))
        )
        return HomeState(kind, posts, unread, withheld, words=words)

    async def pictures(
        self, addresses: Sequence[str], held: Container[str] = frozenset()
    ) -> Mapping[str, PictureFacts]:
        """Return the facts of pictures in the folder."""
        return {address: self._picture(address, held) for address in dict.fromkeys(addresses)}

    async def follow(self, addresses: Sequence[str]) -> Mapping[str, str]:
        """Return the targets of pages that only lead to another one, at the paths of old addresses."""
        found: dict[str, str] = {}
        root = self._root.resolve()
        for address in dict.fromkeys(addresses):
            relative = unquote(urlsplit(address).path).strip("/")
            for path in (root / relative / "index.html", root / relative):
                target = _leads_to(path, root)
                if target:
                    found[address] = target
        return found

    def _files(self) -> Iterator[Path]:
        count = 0
        for folder, folders, names in os.walk(self._root):
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
            for name in sorted(names):
                path = Path(folder, name)
                if path.suffix.lower() in _HTML | _MARKDOWN and path.is_file() and not path.is_symlink():
                    count += 1
                    if count > _PAGES_READ:
                        raise UsageError(
                            "{root} has over {most_files:,} pages; name a smaller folder.",
                            root=self._root,
                            most_files=_PAGES_READ,
                        )
                    yield path

    def _pages(self, paths: Sequence[Path], read: Callable[[str, str, str], NewPost | None]) -> Iterator[NewPost]:
        for number, path in enumerate(paths, 1):
            relative = path.relative_to(self._root).as_posix()
            try:
                if path.stat().st_size > _FILE_BYTES:
                    self._unread[message("they are too large")] += 1
                    continue
                text = path.read_bytes().decode("utf-8", "replace")
            except OSError as error:
                self._unread[error.strerror or message("the disk failed")] += 1
                continue
            made = read(text, relative, _ROOT + quote(relative, safe="/", errors="replace"))
            if made is not None:
                yield made
            self._progress(number)

    def _markdown(self, text: str, path: str, address: str) -> NewPost | None:
        try:
            return read_markdown(text, path, address)
        except NoPost:
            return None  # a README, or a page of the theme

    def _html(self, text: str, _path: str, address: str) -> NewPost | None:
        try:
            return read_page(text, address)
        except TooComplex:
            self._unread[message("they are too large or too complex")] += 1
            return None

    def _picture(self, address: str, held: Container[str]) -> PictureFacts:
        if not address.startswith(_ROOT):
            return PictureFacts(unknown=_OUTSIDE)
        relative = unquote(urlsplit(address).path).lstrip("/")
        root = self._root.resolve()
        for place in _ROOTS:
            path = (root / place / relative).resolve()
            if path.is_relative_to(root) and path.is_file():
                return _read_picture(path, held)
        return PictureFacts(gone=message("there is no such file"))


def _with_names(pages: list[NewPost]) -> list[NewPost]:
    """Return the posts among pages, with the names of categories and tags that have pages of their own."""
    posts, names = [], {}
    for page in pages:
        term = _TERM.fullmatch(page.key)
        if term is None:
            posts.append(page)
        else:
            names[term[1]] = next(iter(page.titles), term[1])
    return [
        replace(
            post,
            names=None if post.names is None else tuple(names.get(name, name) for name in post.names),
            tags=None if post.tags is None else tuple(names.get(name, name) for name in post.tags),
        )
        for post in posts
    ]


def _leads_to(path: Path, root: Path) -> str:
    """Return the address to which a page sends its readers at once; empty for any other file."""
    try:
        path = path.resolve()
        if not path.is_relative_to(root) or not path.is_file() or path.stat().st_size > _ALIAS_BYTES:
            return ""
        found = _REFRESH.search(path.read_bytes().decode("utf-8", "replace"))
    except (OSError, ValueError):
        return ""
    return "" if found is None else unescape(found[1])


def _read_picture(path: Path, held: Container[str]) -> PictureFacts:
    try:
        if path.stat().st_size > _FILE_BYTES:
            return PictureFacts(unknown=message("it is too large"))
        with path.open("rb") as file:
            return measured(file, held)
    except OSError as error:
        return PictureFacts(unknown=error.strerror or message("the disk failed"))
