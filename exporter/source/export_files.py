"""Export files on disk: a file, a folder of files, or a ZIP of them; their format, order and content.

The names inside a ZIP are only shown, never used as paths. A member that expands to more than the limits is refused.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, cast

from exporter.arguments import checked
from exporter.errors import UsageError
from exporter.frozen import frozen
from exporter.message import listed, message, system_reason
from exporter.service.export_file import ExportFile, FoundRecord
from exporter.service.registry import export_files
from exporter.text import printable

HEAD_BYTES: Final = 65_536
_PIECE_BYTES: Final = 1024 * 1024
_MAX_MEMBERS: Final = 10_000
_MAX_MEMBER_BYTES: Final = 16 * 1024**3
_MAX_RATIO: Final = 200
"""Text compresses to a twentieth; a bomb to a thousandth. Small members are not checked."""
_RECORDS_WITH_ADDRESS: Final = 200
_RATIO_FROM_BYTES: Final = 64 * 1024**2
_ZIP: Final = b"PK\x03\x04"
_GZIP: Final = b"\x1f\x8b"


@frozen
class ExportPart:
    """One file with records.

    Attributes:
        path: the file on disk.
        name: its name for messages.
        member: its name in the ZIP at ``path``; empty for a plain file.
        format: its format.
    """

    path: Path
    name: str
    member: str
    format: type[ExportFile]

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the content for reading.

        Raises:
            OSError, zipfile.BadZipFile, zlib.error: the file cannot be read.
        """
        with _opened(self.path, self.member) as file:
            yield file


@frozen
class ExportFiles:
    """The export files that a user named.

    Attributes:
        path: the file or folder that the user named.
        parts: the files with records, in the order of their names.
        left_out: names of files in the folder or ZIP that have no known format.
    """

    path: Path
    parts: tuple[ExportPart, ...]
    left_out: tuple[str, ...] = ()

    @property
    def format(self) -> type[ExportFile]:
        """The format of all parts."""
        return self.parts[0].format

    @property
    def originals(self) -> list[Path]:
        """The files on disk that hold the parts, each once."""
        return list(dict.fromkeys(part.path for part in self.parts))

    def digest(self, check: Callable[[], None] = lambda: None) -> str:
        """Return one SHA-256 for all files on disk, in hexadecimal."""
        whole = hashlib.sha256()
        for path in self.originals:
            with path.open("rb") as file:
                while piece := file.read(_PIECE_BYTES):
                    check()
                    whole.update(piece)
        return whole.hexdigest()


@checked
def find_export_files(path: Path | str) -> ExportFiles:
    """Return the export files at a path.

    Args:
        path: a file, a ZIP, or a folder of such.

    Raises:
        UsageError: nothing there has a known format, or the files have several formats.
    """
    path = Path(path)
    shown = printable(str(path))
    try:
        paths = sorted(each for each in path.iterdir() if each.is_file()) if path.is_dir() else [path]
        found = [part for each in paths for part in _parts(each)]
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        reason = system_reason(error) if isinstance(error, OSError) else message("it is damaged or not complete")
        raise UsageError("{path} cannot be read: {reason}.", path=shown, reason=reason) from error
    parts = tuple(ExportPart(each, name, member, kind) for each, name, member, kind in found if kind is not None)
    left_out = tuple(name for _, name, _, kind in found if kind is None)
    if not parts:
        known = listed(kind.label for kind in export_files())
        raise UsageError(
            "{path} is no export file that this program knows. It reads: {known}.", path=shown, known=known
        )
    formats = {part.format.name for part in parts}
    if len(formats) > 1:
        raise UsageError(
            "{path} holds files of several formats ({formats}): name one of them.",
            path=shown,
            formats=listed(sorted(formats)),
        )
    return ExportFiles(path, parts, left_out)


def stated_address(files: ExportFiles) -> str:
    """Return the address of the blog that one of the first records of the files states; empty if none does."""
    service = files.format()
    with contextlib.suppress(OSError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError):
        for part in files.parts:
            with part.open() as file:
                records = (each for each in service.read(file, part.name) if isinstance(each, FoundRecord))
                for found in islice(records, _RECORDS_WITH_ADDRESS):
                    if address := service.blog_address(found.raw):
                        return address
    return ""


_Found = tuple[Path, str, str, type[ExportFile] | None]


def _parts(path: Path) -> Iterator[_Found]:
    with path.open("rb") as file:
        head = file.read(len(_ZIP))
    if head != _ZIP:
        yield path, printable(path.name), "", _format_of(path, "")
        return
    with zipfile.ZipFile(path) as packed:
        members = sorted((each for each in packed.infolist() if not each.is_dir()), key=lambda each: each.filename)
    if len(members) > _MAX_MEMBERS:
        raise UsageError(
            "{path} has {count:,} members, more than the {most:,} that are read.",
            path=printable(str(path)),
            count=len(members),
            most=_MAX_MEMBERS,
        )
    for each in members:
        _require_plausible(path, each)
        name = f"{path.name}/{each.filename}"
        yield path, printable(name), each.filename, _format_of(path, each.filename)


def _require_plausible(path: Path, member: zipfile.ZipInfo) -> None:
    too_dense = member.file_size > _RATIO_FROM_BYTES and member.file_size > _MAX_RATIO * max(1, member.compress_size)
    if too_dense or member.file_size > _MAX_MEMBER_BYTES:
        raise UsageError(
            "{member} in {path} would expand to {size:,} bytes, which no export file does.",
            member=printable(member.filename),
            path=printable(str(path)),
            size=member.file_size,
        )


def _format_of(path: Path, member: str) -> type[ExportFile] | None:
    with _opened(path, member) as file:
        head = file.read(HEAD_BYTES)
    return next((kind for kind in export_files() if kind.recognises(head)), None)


@contextmanager
def _opened(path: Path, member: str) -> Iterator[BinaryIO]:
    if member:
        with zipfile.ZipFile(path) as packed, packed.open(member) as inside:
            yield cast("BinaryIO", inside)
        return
    with path.open("rb") as file:
        if file.read(len(_GZIP)) == _GZIP:
            file.seek(0)
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield cast("BinaryIO", unpacked)
        else:
            file.seek(0)
            yield file
