"""How large the measured blog is, and every address a backup of it reads. Pure."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import dataclass

BLOG_ID = "bench.blog.example.jp"
PAGE_SIZE = 20
SWEEPS = 2
"""A backup of a blog that stands still sweeps its lists twice: the second proves that nothing moved meanwhile."""


@dataclass(frozen=True, slots=True)
class BlogSize:
    """Numbers of records; ids count from 1 and lists show the newest first."""

    entries: int
    comments: int
    files: int

    @classmethod
    def of(cls, options: Namespace) -> BlogSize:
        """Read it from the options that :func:`add_options` adds."""
        return cls(options.entries, options.comments, options.files)

    def times(self, factor: int) -> BlogSize:
        """Return a blog so many times as large."""
        return BlogSize(self.entries * factor, self.comments * factor, self.files * factor)

    def options(self) -> list[str]:
        """Return the options that give this size to another process."""
        return [f"--entries={self.entries}", f"--comments={self.comments}", f"--files={self.files}"]

    def __str__(self) -> str:
        return f"{self.entries:,} entries, {self.comments:,} comments, {self.files:,} files"


def add_options(parser: ArgumentParser) -> None:
    """Add the options for a blog's size."""
    parser.add_argument("--entries", type=int, default=10_000, help="number of entries (%(default)s)")
    parser.add_argument("--comments", type=int, default=20_000, help="number of comments (%(default)s)")
    parser.add_argument("--files", type=int, default=2_000, help="number of files (%(default)s)")


def pages(count: int) -> int:
    """Return how many pages a list of so many records has; an empty one has one."""
    return max(1, -(-count // PAGE_SIZE))


def addresses(size: BlogSize) -> Iterator[str]:
    """Yield the addresses a first backup reads, path and query: user, lists, entries, lists again."""
    yield "/v1/user"
    yield from _sweep(size)
    for entry_id in range(size.entries, 0, -1):
        yield f"/blog/v1/entry/get?id={BLOG_ID}&entry_id={entry_id}"
    for _ in range(SWEEPS - 1):
        yield from _sweep(size)


def _sweep(size: BlogSize) -> Iterator[str]:
    for name, count in (("entry", size.entries), ("comment", size.comments), ("file", size.files)):
        for page in range(1, pages(count) + 1):
            yield f"/blog/v1/{name}/list?id={BLOG_ID}&page={page}"
