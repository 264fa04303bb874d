"""Exports of an archive: what is public and what is not goes into folders of its own, each with its report."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from exporter.archive.archive import Archive, read_consistently
from exporter.archive.state import State
from exporter.errors import NoSuchRecord, UsageError
from exporter.export.folder import check_target, measure_export, write_export
from exporter.export.formats import FORMATS, NAMED, Format
from exporter.export.interface import ExportOptions, RecordSource, Side, WrittenFile
from exporter.export.media import MADE_FIELDS
from exporter.export.own_links import InferredPattern, infer_entry_url
from exporter.export.posts import Newest
from exporter.export.report import Report
from exporter.export.targets import TARGETS
from exporter.html.text import collapse
from exporter.message import message
from exporter.model.kinds import Kind
from exporter.service.interface import Records

Only = Literal["public", "private", "all"]
_NEAR: Final = 0.5
"""How alike two names must be: those of categories have two characters as often as ten."""


class Exported(NamedTuple):
    """One folder of an export, its report, also as ``OUT.report.json`` has it, and the files in it."""

    folder: Path
    report: Report
    document: dict[str, Any]
    files: list[WrittenFile]

    @property
    def private(self) -> bool:
        """Whether what is not public is in it, which must never be imported or published."""
        return self.document["side"] not in {Side.PUBLIC, Side.DRAFTS}


def export_blog(
    archive: Path,
    form: str,
    target: Path,
    options: ExportOptions,
    *,
    at: int | None = None,
    only: Only = "public",
    force: bool = False,
    dry_run: bool = False,
    check: Callable[[State], None] = lambda _: None,
) -> list[Exported]:
    """Write the blog as a format, into ``target`` and, for what is not public, ``target.NOT-PUBLIC``.

    Args:
        archive: the archive's folder; nothing else is read.
        form: the format or target, a key of :data:`~exporter.export.formats.NAMED`.
        target: a new folder.
        options: what is wanted; ``side`` and ``as_of`` are set by this function.
        at: the version; by default the newest. What was hidden or removed since is not public.
        only: which folders are written; a format of the whole archive wants ``all``.
        force: replace an earlier export.
        dry_run: write nothing, and return what the reports would say.
        check: called with the records before anything is written; may raise.

    Raises:
        UsageError: the options cannot be right, nothing says which entries are public, or a folder cannot be written.
        NoArchive, NoSuchRecord, ArchiveDamaged: what is asked for cannot be read.
    """
    known = format_named(form)
    chosen = {"at": at, "since": options.since, "until": options.until, "category": options.category}
    check_form(form, only=only, all_as_draft=options.declared.all_as_draft, chosen=chosen)
    version, as_of = read_consistently(
        archive, lambda reader: (reader.resolve(at), read_at(reader, reader.resolve(at)))
    )
    if not known.holds_back:
        options = replace(options, hidden_comments=False)
    folders = _folders(target, options, only="private" if known.whole else only)
    if not dry_run:
        for folder in folders.values():
            check_apart(folder, archive)
            check_target(folder, force=force)

    def made(reader: Archive) -> list[Exported]:
        with contextlib.closing(reader.state(version)) as state, newest_beside(reader, version) as newest:
            check(state)
            if not known.whole and options.declared.public_access is None and not options.declared.all_as_draft:
                raise UsageError(
                    message("Nothing says yet which entries are public: declare it, or make drafts of all.")
                )
            check_patterns(options, state)
            check_category(state, options.service, options.category)
            shown = None if known.whole or options.old_urls else infer_entry_url(options.service, state)
            old_urls = options.old_urls if shown is None else (shown.pattern,)
            chosen = replace(options, old_urls=old_urls, as_of=as_of)
            return [
                _side(reader, state, newest, form, replace(chosen, side=side), shown, folder, dry_run=dry_run)
                for side, folder in folders.items()
            ]

    return read_consistently(archive, made)


def format_named(name: str) -> Format:
    """Return a format, or that of a target.

    Raises:
        UsageError: there is none of that name; says which is near, or which there are.
    """
    if name not in NAMED:
        near = get_close_matches(name, NAMED, 1)
        if near:
            raise UsageError(message("There is no format {name!r} (did you mean {near}?).", name=name, near=near[0]))
        raise UsageError(
            message(
                "There is no format {name!r}: it is one of {formats}, or a target, one of {targets}.",
                name=name,
                formats=", ".join(FORMATS),
                targets=", ".join(TARGETS),
            )
        )
    return NAMED[name]


def check_form(form: str, *, only: Only, all_as_draft: bool, chosen: Mapping[str, object]) -> None:
    """Refuse what a format cannot do, rather than do something else than was asked for.

    Args:
        form: the format or target.
        only: which folders are to be written.
        all_as_draft: whether every entry is to be a draft.
        chosen: by option, what chooses a part of the blog; ``None`` where it does not.

    Raises:
        UsageError: it would publish drafts, or hold what is private without being asked for.
    """
    if all_as_draft and not NAMED[form].drafts:
        raise UsageError(
            message(
                "{form} has no drafts, so --all-as-draft would publish everything; say what is public with "
                "--public-open-flg, or choose a format with drafts: {formats}.",
                form=form,
                formats=", ".join(name for name, each in FORMATS.items() if each.drafts),
            )
        )
    if NAMED[form].whole:
        if only != "all":
            raise UsageError(
                message(
                    "{form} takes the whole archive, private entries and earlier versions too, which "
                    "no public folder may "
                    "hold; if that is what you want, say --only all, and it goes to OUT.NOT-PUBLIC.",
                    form=form,
                )
            )
        for option, value in chosen.items():
            if value is not None:
                raise UsageError(
                    message("{form} takes the whole archive; leave out --{option}.", form=form, option=option)
                )


def check_apart(folder: Path, archive: Path) -> None:
    """Refuse to write into an archive, or around it.

    Raises:
        UsageError: one of the two folders is in the other.
    """
    new, old = folder.resolve(), archive.resolve()
    if new.is_relative_to(old) or old.is_relative_to(new):
        raise UsageError(
            message(
                "{folder} and the archive {archive} cannot be inside each other; name another folder.",
                folder=folder,
                archive=archive,
            )
        )


@contextmanager
def newest_beside(reader: Archive, version: int) -> Iterator[Newest | None]:
    """Give the newest state where ``version`` is an older one: what was hidden or removed since is not public."""
    newest = reader.resolve()
    if version == newest:
        yield None
        return
    with contextlib.closing(reader.state(newest)) as state:
        yield Newest(state, read_at(reader, newest))


def read_at(reader: Archive, version: int) -> datetime:
    """Return when the blog was read for a version."""
    moment = datetime.fromisoformat(reader.manifest(version).finished_at)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def listed(written: list[WrittenFile], *, public: bool) -> dict[str, Any]:
    """Return what a report says of the files; named only where all is public, since titles are in their paths."""
    return {
        "file_count": len(written),
        "bytes": sum(file.bytes for file in written),
        "files": [file._asdict() for file in written] if public else [],
    }


def _folders(target: Path, options: ExportOptions, *, only: Only) -> dict[Side, Path]:
    """Return which sides are written where; a folder never holds both."""
    apart = {Side.REST: target.with_name(f"{target.name}.NOT-PUBLIC")}
    if only == "private":
        return apart
    side = Side.DRAFTS if options.declared.all_as_draft else Side.PUBLIC
    return {side: target, **(apart if only == "all" else {})}


def check_patterns(options: ExportOptions, records: RecordSource) -> None:
    """Refuse patterns with fields that no entry has: they would give no address at all.

    Raises:
        UsageError: there is one.
    """
    known = options.service.post_fields
    patterns = [(each, known) for each in options.old_urls]
    if options.new_url is not None:
        patterns.append((options.new_url, (*known, *MADE_FIELDS)))
    if any(set(pattern.fields) - set(names) for pattern, names in patterns):
        # The service may send fields that its documents do not name.
        sent = {name for _, raw in records.scan(Kind.ENTRIES) for name in raw}
        for pattern, names in patterns:
            pattern.check(dict.fromkeys([*names, *sorted(sent)]))


def check_category(records: RecordSource, service: Records, name: str | None) -> None:
    """Refuse the name of a category that no entry has; ``None`` is that of none.

    Raises:
        NoSuchRecord: no entry has it; says which is near.
    """
    if name is None:
        return
    known = {collapse(service.post(None, raw).category or "") for _, raw in records.scan(Kind.ENTRY_LIST)}
    if name not in known:
        near = get_close_matches(name, known, 1, _NEAR)
        if near:
            raise NoSuchRecord(
                message("No entry is of the category {name} (did you mean {near}?).", name=name, near=near[0])
            )
        raise NoSuchRecord(message("No entry is of the category {name}.", name=name))


def _side(
    reader: Archive,
    state: State,
    newest: Newest | None,
    form: str,
    options: ExportOptions,
    shown: InferredPattern | None,
    folder: Path,
    *,
    dry_run: bool,
) -> Exported:
    public = options.side is Side.PUBLIC
    report = Report(public=public)
    if shown is not None:
        report.infer(shown.pattern.text, shown.matches)
    known = NAMED[form]
    target = known.target or options.target
    files = known.files(state, options, report, newest)
    root = reader.path

    def document(written: list[WrittenFile]) -> dict[str, Any]:
        return {
            "format": form if known.target is None else known.target.form,
            "target": None if target is None else target.name,
            "blog_id": reader.info.blog_id,
            "version": state.version,
            "side": "all" if known.whole else str(options.side),
            "folder": str(folder.resolve()),
            **listed(written, public=public),
            **report.document(),
        }

    written = measure_export(files, root) if dry_run else write_export(files, root, folder, document)
    return Exported(folder, report, document(written), written)


class ExportableArchive(Archive):
    """The archive as the public API has it: exports are above the room of the archive, which knows nothing of them."""

    def export(self, form: str, target: Path, options: ExportOptions, **how: Any) -> list[Exported]:
        """Write the blog as a format; see :func:`export_blog`, whose further arguments are taken too."""
        return export_blog(self.path, form, target, options, **how)
