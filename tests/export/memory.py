"""Records in memory as exporters read them, and exports taken apart again."""

from __future__ import annotations

import contextlib
import io
import sqlite3
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from exporter.export.formats import NAMED
from exporter.export.interface import (
    ArchiveCopy,
    Content,
    Copy,
    Database,
    ExportOptions,
    Filled,
    Inline,
    Packed,
    Side,
    Summary,
    Typeset,
    Unchanged,
)
from exporter.export.report import Report
from exporter.model.kinds import Kind, sort_key
from exporter.model.publication import Declared
from exporter.service.registry import DEFAULT_SERVICE
from tests.html import records
from tests.support.parquet import read_parquet

BLOG = "umi.blog.example.jp"
SAID = Declared(frozenset({"1"}), visible_comment_flags=frozenset({"f"}))
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de000000"
    "0c4944415478da637854140d0003e901b06c3eefb70000000049454e44ae426082"
)
"""A PNG of one pixel."""


@dataclass
class Memory:
    """An archive's state in memory."""

    kinds: dict[Kind, dict[str, dict[str, Any]]] = field(default_factory=lambda: {kind: {} for kind in Kind})
    blog_id: str = BLOG
    names: dict[str, str] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    """The stored files' contents by path."""

    def add(self, kind: Kind, record: dict[str, Any]) -> None:
        record_id = record["url"] if kind is Kind.ASSETS else DEFAULT_SERVICE.key(kind, record)
        self.kinds[kind][record_id or ""] = record

    def entry(self, entry_id: str, *, listed: bool = True, category: str = "日記", **changes: Any) -> None:
        self.add(Kind.ENTRIES, records.entry(entry_id=entry_id, **changes))
        if listed:
            same = {name: changes[name] for name in ("title", "open_flg", "period_flg") if name in changes}
            self.add(Kind.ENTRY_LIST, records.item(entry_id=entry_id, category=category, **same))

    def comment(self, cm_id: str, entry_id: str, **changes: Any) -> None:
        self.add(Kind.COMMENTS, records.comment(cm_id=cm_id, entry_id=entry_id, **changes))

    def picture(self, url: str, *, entry_id: str = "", file_id: str = "", data: bytes | None = PIXEL) -> str:
        """Add an asset, and its uploaded file; return its path in an archive."""
        refs = [{"entry": entry_id}] * bool(entry_id) + [{"file": file_id}] * bool(file_id)
        content = b"" if data is None else PIXEL + url.encode() + data
        digest = None if data is None else sha256(content).hexdigest()
        self.add(Kind.ASSETS, {"url": url, "status": 200, "content_type": "image/png", "bytes": len(content), "sha256": digest,
                               "error": None, "refs": refs})  # fmt: skip
        if file_id:
            self.add(Kind.FILES, {"file_id": file_id, "name": f"{file_id}.png", "title": f"画{file_id}"})
        if digest is None:
            return ""
        path = f"assets/{digest[:2]}/{digest}.png"
        self.contents[path] = content
        return path

    def write_pictures(self, folder: Path) -> None:
        """Write the content of all pictures to their archive paths in the folder."""
        for path, content in self.contents.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)

    def ids(self, kind: Kind) -> list[str]:
        return sorted(self.kinds[kind], key=sort_key)

    def identity(self, kind: Kind, record_id: str) -> bytes | None:
        record = self.kinds[kind].get(record_id)
        return None if record is None else sha256(repr(record).encode("utf-8", "replace")).digest()

    def load(self, kind: Kind, record_id: str) -> dict[str, Any] | None:
        return self.kinds[kind].get(record_id)

    def scan(self, kind: Kind) -> Iterator[tuple[str, dict[str, Any]]]:
        for record_id in self.ids(kind):
            yield record_id, self.kinds[kind][record_id]


@dataclass
class Made:
    """An export: its files with their bytes, the sources of copied files, and its report."""

    files: dict[str, bytes]
    copies: dict[str, str]
    report: Report

    @property
    def document(self) -> dict[str, Any]:
        return self.report.document()

    def only(self) -> bytes:
        assert len(self.files) == 1, list(self.files)
        return next(iter(self.files.values()))

    def everything(self) -> bytes:
        """All bytes of all files, also those in archives, and their names."""
        parts = [name.encode() for name in [*self.files, *self.copies]]
        for data in self.files.values():
            parts.append(dump(data) if data[:6] == b"SQLite" else data)
            if data[:4] == b"PAR1":
                parts += [
                    repr(batch.to_struct_array().to_pylist()).encode() for batch in read_parquet(io.BytesIO(data))
                ]
            if data[:2] == b"PK":
                with zipfile.ZipFile(io.BytesIO(data)) as packed:
                    parts += [name.encode() + b"\n" + packed.read(name) for name in packed.namelist()]
        return b"\n".join(parts)


def export(form: str, source: Memory, **options: Any) -> Made:
    """Make an export, by default of public records only."""
    chosen = ExportOptions(**{"declared": SAID, "side": Side.PUBLIC, **options})
    report = Report()
    made = Made({}, {}, report)
    for file in NAMED[form].files(source, chosen, report):
        assert not isinstance(file, ArchiveCopy | Summary | Unchanged), "made of an archive on the disk"
        assert file.path not in made.files
        assert file.path not in made.copies
        match file:
            case Content():
                made.files[file.path] = joined(file)
            case Copy():
                made.copies[file.path] = file.source
            case Packed() | Typeset():
                out = io.BytesIO()
                with zipfile.ZipFile(out, "w") as packed:
                    for member in file.members:
                        data = joined(member) if isinstance(member, Content) else member.source.encode()
                        packed.writestr(zipfile.ZipInfo(member.path), data)
                made.files[file.path] = out.getvalue()
            case Filled():
                out = io.BytesIO()
                file.fill(out)
                made.files[file.path] = out.getvalue()
            case Database():
                with contextlib.closing(sqlite3.connect(":memory:")) as connection:
                    file.build(connection)
                    made.files[file.path] = connection.serialize()
    return made


def dump(data: bytes) -> bytes:
    """Write a database as SQL."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(data)
        return "\n".join(connection.iterdump()).encode()


def joined(file: Content) -> bytes:
    """Make a file, with the names of the archive's files in the places of their contents."""
    return b"".join(chunk.source.encode() if isinstance(chunk, Inline) else chunk for chunk in file.chunks)


def count(document: Mapping[str, Any], part: str, kind: str) -> int:
    """Count the records of a kind in one list of a report."""
    return sum(row["count"] for row in document[part] if row["kind"] == kind)
