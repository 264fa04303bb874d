"""What can be done with each archive of a fleet: the very calls of the commands for one archive.

Each function takes an open archive and plain options, so that any process of any machine that sees the archive can do
it. It returns what there is to say of the archive; what it raises is said of the archive as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter.errors import ArchiveDamaged, BlogExporterError, Incomplete
from exporter.library.archive_settings import settings_to_read_with
from exporter.library.views import MARKDOWN, SITE
from exporter.message import message, message_n
from exporter.service.registry import service_of

if TYPE_CHECKING:
    from exporter.archive.archive import Archive
    from exporter.archive.findings import Finding
    from exporter.settings import Settings

_SHOWN: Final = 5
"""So many findings of an archive are told of each; ``verify`` of that archive tells all."""


@dataclass(frozen=True, slots=True)
class Done:
    """What was done with an archive.

    Attributes:
        made: whether anything had to be made; false where all was up to date already.
        facts: what there is to say of it, as JSON shows it.
        problem: what is wrong with the archive, where something is.
    """

    made: bool
    facts: dict[str, Any] = field(default_factory=dict)
    problem: BlogExporterError | None = None


@dataclass(frozen=True, slots=True)
class JobOptions:
    """What all jobs take.

    Attributes:
        settings: what the command line gave, by the names of settings; ``None`` where it gave nothing.
        config: the settings file asked for; the user's own is read when there is none.
    """

    settings: Mapping[str, str | None] = field(default_factory=dict)
    config: Path | None = None

    def resolved(self, archive: Archive) -> Settings:
        """Return the settings for an archive."""
        return settings_to_read_with(archive, self.settings, self.config)


Job = Callable[["Archive", Any], Done]


def site(archive: Archive, options: JobOptions) -> Done:
    """Make the site in ``latest/site``, or bring it up to date, as ``site`` does."""
    from exporter.library.upkeep import refresh  # noqa: PLC0415 - each process does one kind of work

    version = archive.resolve()
    made = refresh(archive, options.resolved(archive), at=version, also={SITE})
    return Done(made.files > 0, {"version": version, "files_made": made.files})


def rebuild(archive: Archive, options: JobOptions) -> Done:
    """Make ``latest/`` again, with the views that are there and those that the settings given ask for."""
    from exporter.library import upkeep  # noqa: PLC0415 - see above

    settings = options.resolved(archive)
    latest, asked = archive.layout.latest, options.settings
    markdown, pages = ((latest / name).is_dir() or asked.get(name) == "yes" for name in (MARKDOWN, SITE))
    version = archive.resolve()
    made = upkeep.rebuild(archive, replace(settings, markdown=markdown, site=pages), at=version)
    return Done(True, {"version": version, "files_made": made.files})


def search_index(archive: Archive, options: JobOptions) -> Done:
    """Make the index that ``search`` keeps in the archive, or bring it up to date."""
    from exporter.search.index import Index  # noqa: PLC0415 - see above
    from exporter.search.indexing import index_path  # noqa: PLC0415 - see above

    path = index_path(archive.layout)
    version = archive.resolve()
    before = path.lstat() if path.is_file() else None
    with Index(archive, service_of(options.resolved(archive), archive.info.service), at=version):
        after = path.lstat() if path.is_file() else None
    facts = {"version": version, "bytes": None if after is None else after.st_size}
    if after is None:
        return Done(True, facts, Incomplete(message("The search index could not be written into the archive.")))
    return Done(before is None or (before.st_ino, before.st_mtime_ns) != (after.st_ino, after.st_mtime_ns), facts)


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """How archives are verified; ``quick`` as in :func:`~exporter.archive.verify.verify`."""

    quick: bool = False


def verify(archive: Archive, options: VerifyOptions) -> Done:
    """Check an archive, as ``verify`` does: whether it is intact, and whether it is complete."""
    archive.resolve()
    return checked(archive, archive.verify(quick=options.quick))


def checked(archive: Archive, found: Iterable[Finding]) -> Done:
    """Return what a check says of an archive, or of a copy of one."""
    findings = damage = 0
    shown: list[dict[str, Any]] = []
    for finding in found:
        findings += 1
        damage += finding.damage
        if len(shown) < _SHOWN:
            shown.append({"code": str(finding.code), "path": finding.path, "detail": str(finding.detail)})
    completeness, _ = archive.completeness()
    complete = bool(completeness.get("complete"))
    facts = {
        "versions": len(archive.versions()), "head": archive.head(), "intact": not damage, "complete": complete,
        "findings": findings, "first_findings": shown,
    }  # fmt: skip
    problem: BlogExporterError | None = None
    if damage:
        text = message_n(
            "Damaged, {n:,} finding; the first: {path}: {detail}",
            "Damaged, {n:,} findings; the first: {path}: {detail}",
            findings,
            path=shown[0]["path"],
            detail=shown[0]["detail"],
        )
        problem = ArchiveDamaged(text)
    elif not complete:
        problem = Incomplete(message("Intact, but not everything could be read; save the blog again."))
    return Done(True, facts, problem)
