"""Exports each archive of a fleet that changed: public entries into one folder, other entries into another.

After an export, ``.BLOG_ID.made`` next to it notes the options and the versions. An export with the same options is
replaced only if its archive has changed.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter import __version__, lossless_json
from exporter.archive import atomic
from exporter.archive.fleet_folder import archive_place
from exporter.archive.layout import manifest_sha256
from exporter.export.formats import NAMED
from exporter.export.interface import ExportOptions
from exporter.fleet.work import Done, JobOptions
from exporter.html.links import AddressPattern
from exporter.library.export import Only, export_blog
from exporter.model.publication import Declared
from exporter.service.registry import service_of

if TYPE_CHECKING:
    from exporter.archive.archive import Archive

_COUNTED: Final = ("entries", "files", "bytes")


@dataclass(frozen=True, slots=True)
class FleetExportOptions:
    """How archives are exported.

    Attributes:
        job: the settings.
        form: a format or target.
        public: where public entries go, into ``PUBLIC/ab/BLOG_ID``; ``None`` for nowhere.
        private: the folder for the rest, as ``PRIVATE/ab/BLOG_ID.NOT-PUBLIC``; ``None`` for nowhere.
        options: those of every blog; the meaning of flags, addresses and the reader are looked up for each.
        at: the version or the date, as :meth:`~exporter.archive.archive.Archive.version_at` takes it.
        force: replace exports that were made in another way.
        dry_run: write nothing.
    """

    job: JobOptions
    form: str
    public: Path | None
    private: Path | None
    options: ExportOptions
    at: str | None = None
    force: bool = False
    dry_run: bool = False


def export(archive: Archive, wanted: FleetExportOptions) -> Done:
    """Export an archive, as ``export`` does, unless that was done already and nothing changed since."""
    settings = wanted.job.resolved(archive)
    whole = NAMED[wanted.form].whole
    service, drafts = service_of(settings, archive.info.service), wanted.options.declared.all_as_draft
    declared = Declared() if whole else service.declared(settings, all_as_draft=drafts)
    known = () if settings.entry_url is None else (AddressPattern(settings.entry_url, "entry_url"),)
    options = replace(wanted.options, declared=declared, old_urls=wanted.options.old_urls or known)
    version, newest = archive.version_at(wanted.at, settings.timezone), archive.resolve()
    key = {
        "how": _digest(wanted.form, str(settings.timezone), options),
        "what": [version, *(manifest_sha256(archive.layout, number) for number in (version, newest))],
    }
    options = replace(options, service=service)
    facts: dict[str, Any] = {"version": version, **dict.fromkeys(_COUNTED, 0)}
    made = False
    sides: tuple[tuple[Path | None, Only], ...] = (
        (wanted.public, "public"), (wanted.private, "all" if whole else "private"),
    )  # fmt: skip
    for root, only in sides:
        if root is not None:
            target = archive_place(root, archive.info.blog_id)
            new, counts = _side(archive, target, only, replace(wanted, options=options), version, key)
            made |= new
            for name in _COUNTED:
                facts[name] += counts[name]
    return Done(made, facts)


def _side(
    archive: Archive, target: Path, only: Only, wanted: FleetExportOptions, version: int, key: dict[str, Any]
) -> tuple[bool, dict[str, int]]:
    """Make one folder unless it is up to date; return whether it was made, and the counts of its content."""
    folder = target if only == "public" else target.with_name(f"{target.name}.NOT-PUBLIC")
    note = folder.with_name(f".{folder.name}.made")
    noted = _read(note)
    is_alike = noted.get("how") == key["how"]
    if is_alike and noted.get("what") == key["what"] and folder.is_dir() and not wanted.dry_run:
        return False, noted["counts"]
    if not is_alike and not wanted.dry_run:
        with atomic.translated(note):
            note.unlink(missing_ok=True)
    exported = export_blog(
        archive.path,
        wanted.form,
        target,
        wanted.options,
        at=None if wanted.at is None else version,
        only=only,
        force=wanted.force or is_alike,
        dry_run=wanted.dry_run,
    )
    documents = [each.document for each in exported]
    counts = {
        "entries": sum(each["out"]["entries"] for each in documents),
        "files": sum(each["file_count"] for each in documents),
        "bytes": sum(each["bytes"] for each in documents),
    }
    if not wanted.dry_run:
        with atomic.translated(note):
            atomic.write_file(note, lossless_json.dumps({**key, "counts": counts}) + b"\n")
    return True, counts


def _read(note: Path) -> dict[str, Any]:
    """Return a note; an empty one if it is missing or unreadable."""
    try:
        found = lossless_json.loads(note.read_bytes())
    except (OSError, lossless_json.NotJson):
        return {}
    counts = found.get("counts") if isinstance(found, dict) else None
    is_whole = isinstance(counts, dict) and all(isinstance(counts.get(name), int) for name in _COUNTED)
    return found if isinstance(found, dict) and is_whole else {}


def _digest(form: str, timezone: str, options: ExportOptions) -> str:
    """Return a fingerprint of everything except the records that affects the output."""
    named = (each.name for each in fields(options) if each.name != "service")
    parts = [__version__, form, timezone, *(f"{name}={_plain(getattr(options, name))}" for name in named)]
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def _plain(value: Any) -> str:
    if isinstance(value, Declared):
        return repr([(each.name, _plain(getattr(value, each.name))) for each in fields(value)])
    if isinstance(value, frozenset):
        return repr(sorted(value))
    if isinstance(value, AddressPattern):
        return value.text
    if isinstance(value, tuple):
        return repr([_plain(each) for each in value])
    return repr(getattr(value, "name", value))
