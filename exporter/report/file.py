"""The file of a report: made of an archive's records and a check, written for its owner's eyes only, and read back."""

from __future__ import annotations

import os
import platform
import secrets
import stat
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from exporter import __version__, lossless_json
from exporter.archive.archive import Archive
from exporter.archive.atomic import translated, write_file
from exporter.archive.safe_files import kind_of
from exporter.check.facts import CheckResult
from exporter.errors import BlogExporterError, UsageError
from exporter.message import message
from exporter.model.kinds import Kind, sort_key
from exporter.report.build import FORM, GivesAway, StoredRecord, report_lines
from exporter.report.json_tree import NumberText, Pairs, read_tree
from exporter.service.interface import BlogService
from exporter.settings import Settings

NEWEST: Final = 20
"""So many of the newest records of each kind are taken from an archive."""
_MOST_COMMENTS: Final = 200
_KEYS: Final = 5
_LIBRARIES: Final = ("aiohttp", "nh3", "orjson", "selectolax", "click")
_MOST_BYTES: Final = 200_000_000


def archive_records(archive: Archive, service: BlogService, entries: Sequence[str] = ()) -> list[StoredRecord]:
    """Return the records of an archive that matter for a report.

    That is the newest of each kind, the entries named, those that the last run could not read, and their comments.

    Args:
        archive: where they are.
        service: reads them.
        entries: ids of entries.
    """
    found: list[StoredRecord] = []
    state = archive.state()
    try:
        runs = archive.runs()
        failed = [each.get("id") for each in (runs[-1].get("problems") or [] if runs else []) if isinstance(each, dict)]
        newest = sorted(state.ids(Kind.ENTRY_LIST), key=sort_key)[-NEWEST:]
        wanted = dict.fromkeys([*newest, *entries, *(each for each in failed if isinstance(each, str))])
        for kind in (Kind.ENTRIES, Kind.ENTRY_LIST):
            found += [_stored(kind, key, raw) for key in wanted if (raw := state.load(kind, key)) is not None]
        comments = [(key, raw) for key, raw in state.scan(Kind.COMMENTS) if service.post_id(raw) in wanted]
        found += [_stored(Kind.COMMENTS, key, raw) for key, raw in comments[-_MOST_COMMENTS:]]
        for kind in (Kind.FILES, Kind.USER):
            keys = sorted(state.ids(kind), key=sort_key)[-NEWEST:]
            found += [_stored(kind, key, raw) for key in keys if (raw := state.load(kind, key)) is not None]
    finally:
        state.close()
    return found


def _stored(kind: Kind, key: str, raw: dict[str, Any]) -> StoredRecord:
    return StoredRecord(kind, key, lossless_json.freeze(raw).data.decode("utf-8"))


def write_report(
    path: Path,
    result: CheckResult,
    settings: Settings,
    service: BlogService,
    records: Sequence[StoredRecord] = (),
    *,
    force: bool = False,
) -> int:
    """Write a report, which nobody else may read, and return how many lines it has.

    Args:
        path: the file.
        result: what a check found.
        settings: those of the check.
        service: tells what fields hold.
        records: of the archive.
        force: replace a file that is there.

    Raises:
        UsageError: a file is there, or it cannot be written.
        BlogExporterError: the records cannot be scrambled so that nothing of them shows.
    """
    keys = (secrets.token_bytes(32) for _ in range(_KEYS))
    try:
        lines = report_lines(result, settings, service, records, _program(service), keys)
    except GivesAway:
        raise BlogExporterError(
            message("No report was written: these records cannot be scrambled so that nothing of them shows.")
        ) from None
    data = b"".join(line + b"\n" for line in lines)
    with translated(path):
        if force:
            write_file(path, data)
        else:
            try:
                with open(path, "xb", opener=_for_the_owner) as file:
                    file.write(data)
            except FileExistsError:
                raise UsageError(
                    message("{path} is there already: name another file, or give --force.", path=path)
                ) from None
    return len(lines)


def _for_the_owner(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


def _program(service: BlogService) -> dict[str, Any]:
    libraries = {}
    for name in _LIBRARIES:
        try:
            libraries[name] = version(name)
        except PackageNotFoundError:
            libraries[name] = "none"
    return {
        "program": "blog-exporter",
        "version": __version__,
        "service": service.name,
        "python": platform.python_version(),
        "platform": sys.platform,
        "machine": platform.machine(),
        "libraries": libraries,
    }


def read_report(path: Path) -> Iterator[Pairs]:
    """Yield the lines of a report, the first one with its number checked.

    Raises:
        UsageError: it is no report, a newer one, or cannot be read.
    """
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise UsageError(
                message("The report {path} cannot be read: {error}", path=path, error=kind_of(about.st_mode))
            )
        if about.st_size > _MOST_BYTES:
            raise UsageError(message("{path} is too large for a report.", path=path))
        lines = path.read_text("utf-8").splitlines() or [""]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(message("The report {path} cannot be read: {error}", path=path, error=error)) from error
    for number, line in enumerate(lines):
        try:
            tree = read_tree(line)
        except ValueError:
            tree = None
        form = tree.get("report") if isinstance(tree, Pairs) else None
        if not isinstance(tree, Pairs) or (not number and not isinstance(form, NumberText)):
            raise UsageError(
                message("{path}, line {number}: this is no report of check --report.", path=path, number=number + 1)
            )
        if not number and form != str(FORM):
            raise UsageError(
                message("{path} is a report of a newer program: install the newest blog-exporter.", path=path)
            )
        yield tree
