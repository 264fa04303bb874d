"""Pages in one file in the site's design: a record, and what changed between two versions.

They load and run nothing. Stored pictures are inside them within a budget; others are named with their addresses.
"""

from __future__ import annotations

import base64
import contextlib
import re
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from markupsafe import Markup

from exporter import lossless_json
from exporter.archive.archive import Archive
from exporter.export.record_values import texts_of
from exporter.html.anchors import places_between
from exporter.html.dates import Dates
from exporter.html.diff import count_changes, in_context, value_text, word_diff
from exporter.html.local_links import AssetMap
from exporter.html.page_body import BodyWriter
from exporter.html.pages import page_end, page_start
from exporter.html.reading_diff import SeenThing
from exporter.model.asset import extension_of
from exporter.model.changes import ABSENT, Change, FieldChange, RecordChange
from exporter.model.kinds import Kind
from exporter.site.catalogue import one_line
from exporter.site.changes import Bodies, ChangeWriter, FieldDiff, Piece
from exporter.site.templating import CONTENT_LANGUAGE, KIND_NAMES, Parts, render_alone
from exporter.site.thumbnails import Thumbnails
from exporter.text import visible
from exporter.translation import translated, translator

if TYPE_CHECKING:
    from exporter.html.diff import Op
    from exporter.model.records import Raw
    from exporter.service.interface import Records
    from exporter.site import SiteOptions

_BUDGET_BYTES: Final = 12 << 20
"""Bytes of pictures in one page."""
_SMALL_BYTES: Final = 400_000
"""Larger pictures are shown as thumbnails."""
_MAX_THUMBNAILS: Final = 40
"""Thumbnails made for one page, half a second each."""
_RAW_CONTEXT_CHARACTERS: Final = 200
_TYPES: Final = {
    extension_of(kind): kind for kind in (f"image/{name}" for name in ("avif", "bmp", "gif", "jpeg", "png", "webp"))
}
"""Media types that contain only a picture, by their endings."""
_PLACE: Final = re.compile(r'(?<=src=")assets/[0-9a-f]{2}/([0-9a-f]{64})\.([a-z0-9]{1,8})(?=")')


class _Change(NamedTuple):
    """A record that changed, as the page shows it; ``raw`` has its fields as sent."""

    kind: Kind
    record_id: str
    change: Change
    title: str
    picture: Markup
    fields: list[FieldDiff]
    raw: list[tuple[str, list[Piece]]]


class InlinePictures:
    """The stored pictures in a page of one file.

    Args:
        archive: that has them.
    """

    def __init__(self, archive: Archive) -> None:
        self._layout = archive.layout
        self._thumbnails = Thumbnails(archive.layout)
        self._left = _BUDGET_BYTES
        self._made = 0
        self._found: dict[str, str] = {}

    def fits(self, path: str) -> bool:
        """Return whether the page has or can take the picture at a path in the archive."""
        if path not in self._found:
            self._found[path] = self._address(path)
        return self._found[path] != ""

    def inlined(self, html: Markup) -> Markup:
        """Return HTML with the pictures themselves in place of their paths."""
        return Markup(_PLACE.sub(lambda place: self._found.get(place[0], ""), html))  # noqa: S704  data in base64

    def _address(self, path: str) -> str:
        """Return a picture as a ``data:`` address; empty if the page does not show it."""
        kind = _TYPES.get(path.rpartition(".")[2])
        content = b"" if kind is None else self._content(path)
        if len(content) > _SMALL_BYTES and self._made < _MAX_THUMBNAILS:
            self._made += 1
            made = next(self._thumbnails.files([path]), None)
            kind, content = ("image/webp", made.render()) if made is not None else (kind, content)
        if not content or len(content) > self._left:
            return ""
        self._left -= len(content)
        return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"

    def _content(self, path: str) -> bytes:
        """Return the content of a picture; empty if it is damaged or larger than the budget."""
        with contextlib.suppress(OSError):
            data = self._layout.root.joinpath(*path.split("/")).read_bytes(_BUDGET_BYTES)
            if sha256(data).hexdigest() == path.rpartition("/")[2].partition(".")[0]:
                return data
        return b""


class OneFilePages:
    """Writes pages in one file about an archive.

    Args:
        archive: the archive.
        service: reads its records.
        options: of its site; only the title and the language count.
    """

    def __init__(self, archive: Archive, service: Records, options: SiteOptions) -> None:
        self._archive = archive
        self._service = service
        self._language = options.language
        self._title = visible(options.title or archive.info.blog_id)[0]
        self._t = translator(options.language)
        self._dates = Dates(options.language, service.timezone)
        self._parts = Parts(options.language, service.timezone)
        self._base = f"https://{archive.info.blog_id}/"
        self._pictures = InlinePictures(archive)

    def changes(self, changes: Iterable[RecordChange], before: int, after: int) -> bytes:
        """Return the page about the differences between two versions."""
        bodies = Bodies(self._bodies(before), self._bodies(after), inlined=self._pictures.inlined)
        writer = ChangeWriter(self._service, self._language, self._dates)
        counted: list[RecordChange] = []
        shown: list[_Change] = []
        for change in changes:
            counted.append(RecordChange(change.kind, "", change.change, "", ()))
            shown.append(self._change(change, writer, bodies))
        title = self._t("What changed")
        return self._page(title, "changes.html", {
            "title": title,
            "ends": [self._version(number) for number in (before, after)],
            "counts": count_changes(counted),
            "changes": shown,
        })  # fmt: skip

    def record(self, kind: Kind, record_id: str, data: Raw, version: int, at: int, gone: int | None = None) -> bytes:
        """Return the page about a record.

        Args:
            kind: of the record.
            record_id: its id.
            data: the raw record.
            version: that holds it.
            at: the version whose pictures are shown.
            gone: the version that found it gone.
        """
        bodies = self._bodies(at)
        title = one_line(self._service.title(kind, data)) or record_id
        post = self._service.post(data) if kind is Kind.ENTRIES else None
        comment = self._service.comment(data) if kind is Kind.COMMENTS else None
        named = (text for name in self._service.bodies.get(kind, ()) if isinstance(text := data.get(name), str))
        texts = list(texts_of(self._service, kind, data) or named)
        places = places_between(texts)
        return self._page(title, "record.html", {
            "title": title,
            "kind": kind,
            "record_id": visible(record_id)[0],
            "post": post,
            "version": self._version(version),
            "gone": None if gone is None else self._version(gone),
            "texts": [self._shown(bodies, text, places) for text in texts],
            "comment": comment and self._parts.comment(comment, self._shown(bodies, comment.text)),
            "rows": [(visible(name)[0], visible(_sent(value))[0]) for name, value in data.items()],
        })  # fmt: skip

    def _page(self, title: str, template: str, values: dict[str, Any]) -> bytes:
        kinds = {kind.value: translated(name, self._language) for kind, name in KIND_NAMES.items()}
        common = {"kind_names": kinds, "dates": self._dates, "content_lang": CONTENT_LANGUAGE, "root": ""}
        main = render_alone(template, self._language, {**common, **values})
        return (page_start(title, self._title, self._language) + visible(main)[0] + page_end(self._language)).encode()

    def _version(self, number: int) -> str:
        """Return the name of a version with its time."""
        when = self._dates.written(self._archive.manifest(number).finished_at)
        return self._t("version {number} ({time})", number=str(number), time=when)

    def _bodies(self, version: int) -> BodyWriter:
        assets = _Assets(self._archive, version, self._base)
        return BodyWriter(assets.local_path, self._base, self._language, alone=True, drawn=self._pictures.fits)

    def _shown(self, bodies: BodyWriter, source: str, places: Collection[str] = ()) -> Markup:
        return self._pictures.inlined(bodies.html(source, "", places))

    def _change(self, change: RecordChange, writer: ChangeWriter, bodies: Bodies) -> _Change:
        picture = Markup()
        if change.kind is Kind.ASSETS:
            op: Op = "delete" if change.change is Change.GONE else "equal"
            picture = bodies.shown(op, SeenThing("img", change.record_id, ""))
        shown = [] if change.kind is Kind.ASSETS else writer.of_record(change, bodies)
        raw = [(visible(field.name)[0], list(_pieces(field))) for field in writer.rows(change)]
        title, record_id = one_line(change.title), visible(change.record_id)[0]
        return _Change(change.kind, record_id, change.change, title, picture, shown, raw)


class _Assets:
    """Finds a version's stored files; they are read when a page first asks for one."""

    def __init__(self, archive: Archive, version: int, base: str) -> None:
        self._archive = archive
        self._version = version
        self._base = base

    @cached_property
    def _map(self) -> AssetMap:
        with contextlib.closing(self._archive.state(self._version, [Kind.ASSETS])) as state:
            return AssetMap((raw for _, raw in state.scan(Kind.ASSETS)), self._base)

    def local_path(self, address: str) -> str | None:
        """Return the archive's path for an address's file, or ``None``."""
        return self._map.local_path(address)


def _pieces(field: FieldChange) -> Iterator[Piece]:
    """Compare a raw field's values word by word."""
    old, new = value_text(field.before), value_text(field.after)
    if field.before is ABSENT or field.after is ABSENT:
        yield ("insert", visible(new)[0]) if field.before is ABSENT else ("delete", visible(old)[0])
        return
    for op, text in in_context(word_diff(old, new), _RAW_CONTEXT_CHARACTERS):
        yield op, visible(text)[0]


def _sent(value: Any) -> str:
    """Return a value as sent: a string unchanged, JSON for everything else."""
    return value if isinstance(value, str) else lossless_json.canonical(value).decode("utf-8")
