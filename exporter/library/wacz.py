"""Export an archive's captures as one WACZ file, with a report next to it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Any, BinaryIO, Final
from uuid import NAMESPACE_URL, UUID, uuid5

from exporter.archive.archive import Archive, read_consistently
from exporter.archive.captures import Capture, captures
from exporter.archive.segments import line_positions
from exporter.archive.state import State
from exporter.errors import NoSuchRecord, UsageError
from exporter.export.entry_page import t
from exporter.export.folder import check_target_file, content_chunks, measure_file, write_file_export
from exporter.export.formats import WACZ
from exporter.export.html_book import SinglePages
from exporter.export.interface import Comments, Content, ExportOptions, Side
from exporter.export.parts import FOR_READERS
from exporter.export.posts import ExportPost, Posts
from exporter.export.report import Report
from exporter.export.wacz import (
    PAGES,
    FoundPages,
    PostAddresses,
    created,
    find_pages,
    other_pages,
    post_pages,
    rendered_line,
    rendered_name,
    rendered_url,
    times_of,
)
from exporter.html.text import collapse
from exporter.library.export import (
    Exported,
    check_apart,
    checked_options,
    listed,
    newer_state,
    require_declared,
)
from exporter.library.visibility import read_at
from exporter.message import suggested
from exporter.model.kinds import Kind
from exporter.model.records import Raw
from exporter.warc.cdxj import IndexLine
from exporter.warc.records import RecordWriter
from exporter.warc.signature import PackageSigner
from exporter.warc.wacz import SOFTWARE, CaptureCollection, MadeSegment, PackageFacts, PageLine, WaczWriter

SUFFIX: Final = ".wacz"
_IN_MEMORY_BYTES: Final = 1 << 24
_HTML: Final = "text/html"
_DAY: Final = "%Y-%m-%d"


@dataclass(frozen=True, slots=True)
class WaczOptions:
    """How a WACZ file is made.

    Attributes:
        rendered: whether posts without a captured page get one that this program makes.
        key: the file of the private key that signs; ``None`` for an unsigned file.
        force: whether an earlier export is replaced.
        dry_run: whether nothing is written.
    """

    rendered: bool = False
    key: Path | None = None
    force: bool = False
    dry_run: bool = False


def export_wacz(
    archive: Path,
    target: Path,
    options: ExportOptions,
    wanted: WaczOptions,
    *,
    at: int | None = None,
    check: Callable[[State], None] = lambda _: None,
) -> Exported:
    """Pack an archive's captures into ``target``, with the posts of a version as the list of pages.

    Args:
        archive: the archive's folder; nothing else is read.
        target: a new file whose name ends in ``.wacz``.
        options: the declarations about flags, the addresses of entries and the title.
        wanted: how the file is made.
        at: the version whose entries are listed; by default the newest. All captures are packed in any case.
        check: called with the records before anything is written; may raise.

    Raises:
        UsageError: an option is invalid, nothing says which entries are public, or the file cannot be written.
        NoSuchRecord: the archive has no capture of public pages, or no such version.
        ArchiveDamaged: a capture differs from its hashes, or the version cannot be read.
    """
    if target.suffix != SUFFIX:
        raise UsageError("{target} must end in .wacz, as readers expect: export wacz DIR OUT.wacz.", target=target)
    check_apart(target, archive)
    if not wanted.dry_run:
        check_target_file(target, force=wanted.force)
    signer = None if wanted.key is None else PackageSigner(wanted.key)

    def made(reader: Archive) -> Exported:
        version = reader.resolve(at)
        kept = [each for each in captures(reader.layout) if each.info().kind == PAGES]
        if not kept:
            raise NoSuchRecord(
                "{archive} has no capture of public pages. Make one first: {command}",
                archive=archive,
                command=suggested("capture", archive),
            )
        with contextlib.closing(reader.state(version)) as state, newer_state(reader, version) as newest:
            check(state)
            require_declared(options.service, options.declared)
            checked, shown = checked_options(options, state)
            chosen = replace(
                checked, as_of=read_at(reader, version), side=Side.PUBLIC, comments=Comments.BODY, hidden_comments=False
            )
            report = Report()
            if shown is not None:
                report.infer(shown.pattern.text, shown.matches)
            posts = Posts(state, chosen, report, newest=newest, holds=FOR_READERS)
            addresses = PostAddresses(posts, records_outside(reader, posts))
            package = _Package(reader, posts, kept, find_pages(kept, addresses, _home(kept)))
            if wanted.dry_run:
                file = measure_file(target.name, lambda out: package.write(out, signer, rendered=wanted.rendered))
            else:
                file = write_file_export(
                    lambda out: package.write(out, signer, rendered=wanted.rendered),
                    target,
                    lambda file: {**package.document(target, version), **listed([file], public=True)},
                )
            document = {**package.document(target, version), **listed([file], public=not wanted.dry_run)}
            return Exported(target, report, document, [file])

    return read_consistently(archive, made)


def _home(kept: Sequence[Capture]) -> str:
    """Return the first address of the newest capture's scope; empty if it states none."""
    return next(iter(kept[-1].info().scope), "")


def records_outside(reader: Archive, posts: Posts | Collection[str]) -> Iterator[Raw]:
    """Yield the records of entries outside of an export in all versions, because they may have had other addresses.

    Raises:
        ArchiveDamaged: one cannot be read, so that its page would not be recognised.
    """
    for version in reader.versions():
        for kind in (Kind.ENTRIES, Kind.ENTRY_LIST):
            for entry_id, place in line_positions(reader.layout.segment(version, kind)):
                if entry_id not in posts and not place.removed:
                    yield place.read().record()


class _Package:
    """Writes one WACZ file, and counts its content."""

    def __init__(self, reader: Archive, posts: Posts, kept: Sequence[Capture], found: FoundPages) -> None:
        self._reader = reader
        self._posts = posts
        self._captures = kept
        self._found = found
        self._counts = {"posts": 0, "rendered": 0, "other_pages": 0}

    def document(self, target: Path, version: int) -> dict[str, Any]:
        """Return the report's document but for its files."""
        return {
            "format": WACZ,
            "target": None,
            "blog_id": self._reader.info.blog_id,
            "version": version,
            "side": str(Side.PUBLIC),
            "folder": str(target.resolve()),
            "captures": {
                "captures": len(self._captures),
                "segments": sum(len(each.segments()) for each in self._captures),
                "withheld_records": len(self._found.withheld),
                **self._counts,
            },
            **self._posts.report.document(),
        }

    def write(self, out: BinaryIO, signer: PackageSigner | None, *, rendered: bool) -> None:
        """Write the file."""
        collection = CaptureCollection(self._captures, self._found.withheld)
        with contextlib.ExitStack() as stack:
            pages: Iterator[PageLine] = post_pages(self._posts, self._found)
            made = None
            if rendered and any(post_id not in self._found.posts for post_id in self._posts.ids()):
                content = stack.enter_context(SpooledTemporaryFile(_IN_MEMORY_BYTES))
                renderer = _Renderer(self._reader, self._posts, content)
                pages = iter(list(post_pages(self._posts, self._found, renderer.add)))
                made = MadeSegment(rendered_name(self._posts.blog_id), content, renderer.lines)
                self._counts["rendered"] = len(renderer.lines)
            wacz = stack.enter_context(WaczWriter(out))
            wacz.segments(collection)
            if made is not None:
                wacz.made(made)
            wacz.index(collection, made)
            self._counts["posts"] = wacz.pages("pages", "Posts", pages)
            others = other_pages(self._captures, self._found)
            self._counts["other_pages"] = wacz.pages("extraPages", "Other pages", others)
            wacz.package(self._facts(), signer)

    def _facts(self) -> PackageFacts:
        infos = [each.info() for each in self._captures]
        moments = times_of(self._captures)
        options, counts = self._posts.options, self._counts
        first, last = (f"{moment:{_DAY}}" for moment in (min(moments), max(moments))) if moments else ("", "")
        title = self._posts.title
        description = (
            f"The public pages of {self._posts.blog_id} as captured from {first} to {last}. "
            f"The list of pages has {counts['posts']} posts, with the titles and dates of the blog's archive; "
            f"{counts['other_pages']} other pages are in a list of their own."
        )
        if counts["rendered"]:
            description += (
                f" {counts['rendered']} of the posts were not captured: their pages were made from the archive by "
                f"{SOFTWARE}, and are resource records, no answers of the blog's server."
            )
        moments += [options.as_of] if options.as_of is not None else []
        main = self._found.main
        return PackageFacts(
            title,
            description,
            created(moments),
            None if main is None else PageLine(main.url, main.timestamp, title),
            list(dict.fromkeys(operator for each in infos if (operator := collapse(each.operator)))),
        )


class _Renderer:
    """Writes pages of posts into a separate WARC file, as resources at addresses that no server has."""

    def __init__(self, reader: Archive, posts: Posts, content: IO[bytes]) -> None:
        self.lines: list[IndexLine] = []
        self._posts = posts
        self._root = reader.layout.root
        self._content = content
        self._moment = posts.newest()
        self._name = rendered_name(posts.blog_id)
        self._number = 0
        day = f"{self._moment:{_DAY}}"
        note = t(
            "This is not the blog's own page. It was made from the archive of {day} by blog-exporter.",
            day=day,
        )
        self._pages = SinglePages(posts, note)
        self._writer = RecordWriter(content, self._next_id)
        fields = {
            "software": SOFTWARE,
            "format": "WARC File Format 1.1",
            "conformsTo": "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
            "isPartOf": posts.blog_id,
            "description": (
                f"Pages that {SOFTWARE} rendered from the records in the archive of {posts.blog_id}, as of {day}. "
                "They are not answers of the blog's server."
            ),
        }
        self._information = self._writer.information(self._name, self._moment, fields)

    def add(self, post: ExportPost) -> PageLine:
        """Write a post's page, and return its line in the list of pages."""
        url = rendered_url(self._posts, post.id)
        page = b"".join(content_chunks(Content(url, self._pages.chunks(post)), self._root))
        offset = self._content.tell()
        digest = self._writer.resource(url, self._moment, _HTML, page, self._information)
        length = self._content.tell() - offset
        self.lines.append(
            IndexLine.of(
                url,
                self._moment,
                status=0,
                mime=_HTML,
                digest=digest,
                filename=self._name,
                offset=offset,
                length=length,
            )
        )
        return rendered_line(post, url, self._moment)

    def _next_id(self) -> UUID:
        """Return an id that the same export gives again."""
        self._number += 1
        return uuid5(NAMESPACE_URL, f"{rendered_url(self._posts, '')}#{self._moment.isoformat()}-{self._number}")
