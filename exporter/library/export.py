"""Export an archive, and copy its site. Public and private entries go into separate folders with reports."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from exporter.archive.archive import Archive, read_consistently
from exporter.archive.state import State
from exporter.arguments import checked
from exporter.errors import NoSuchRecord, UsageError
from exporter.export.blog_title import title_for_export
from exporter.export.folder import check_target, measure_export, require_name, write_export
from exporter.export.formats import FORMATS, NAMED, Format
from exporter.export.interface import ExportOptions, RecordSource, Side, WrittenFile
from exporter.export.media import MADE_FIELDS
from exporter.export.names import wordpress_name
from exporter.export.own_links import InferredPattern, infer_entry_url
from exporter.export.posts import Newest, Posts
from exporter.export.report import Report
from exporter.export.targets import TARGETS
from exporter.html.text import collapse
from exporter.library.visibility import read_at, visibility_of
from exporter.message import listed as named
from exporter.message import message
from exporter.model.changes import RecordChange
from exporter.model.kinds import Kind
from exporter.model.publication import Declared
from exporter.service.interface import Records
from exporter.service.registry import service_of
from exporter.settings import Settings

Only = Literal["public", "private", "all"]
_ENTRIES_ASKED: Final = 100
"""The entries that show whether a service states addresses."""

_MIN_SIMILARITY: Final = 0.5
"""Of a category's name to the one suggested. Many names have only two characters."""


class Exported(NamedTuple):
    """An exported folder: its path, its report, as in ``OUT.report.json``, and its files."""

    folder: Path
    report: Report
    document: dict[str, Any]
    files: list[WrittenFile]

    @property
    def private(self) -> bool:
        """Whether the folder has private content, which must never be imported or published."""
        return self.document["side"] not in {Side.PUBLIC, Side.DRAFTS}


@checked
def export_blog(
    archive: Path | str,
    form: str,
    target: Path | str,
    options: ExportOptions,
    *,
    at: int | None = None,
    only: Only = "public",
    force: bool = False,
    dry_run: bool = False,
    check: Callable[[State], None] = lambda _: None,
    tell_mails: Callable[[int], None] = lambda _: None,
) -> list[Exported]:
    """Write the blog as a format into ``target``, and records that are not public into ``target.NOT-PUBLIC``.

    Args:
        archive: the archive's folder; nothing else is read.
        form: the format or target, a key of :data:`~exporter.export.formats.NAMED`.
        target: a new folder.
        options: the options of the export; this function sets ``side`` and ``as_of``.
        at: the version; by default the newest. Entries that were hidden or removed later are not public.
        only: which folders to write; a format of the whole archive needs ``all``.
        force: replace an earlier export.
        dry_run: write nothing, and return the reports.
        check: called with the records before anything is written; may raise.
        tell_mails: called before a folder is written with the number of mail addresses of commenters in it, unless
            it is 0.

    Raises:
        UsageError: an option is invalid, nothing says which entries are public, or a folder cannot be written.
        NoArchive, NoSuchRecord, ArchiveDamaged: the version cannot be read.
    """
    archive, target = Path(archive), Path(target)
    known = format_named(form)
    chosen = {"at": at, "since": options.since, "until": options.until, "category": options.category,
              "tag": options.tag, "without-addresses": options.without_addresses or None}  # fmt: skip
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
        with contextlib.closing(reader.state(version)) as state, newer_state(reader, version) as newest:
            check(state)
            if not known.whole:
                require_declared(options.service, options.declared)
            checked, shown = checked_options(options, state, infer=not known.whole)
            title = title_for_export(options.title, archive, state, options.service)
            chosen = replace(checked, as_of=as_of, title=title)
            return [
                _side(
                    reader,
                    state,
                    newest,
                    form,
                    replace(chosen, side=side),
                    shown,
                    folder,
                    both=len(folders) > 1,
                    dry_run=dry_run,
                    tell_mails=tell_mails,
                )
                for side, folder in folders.items()
            ]

    return read_consistently(archive, made)


def format_named(name: str) -> Format:
    """Return a format by its name or by a target's name.

    Raises:
        UsageError: the name is unknown; suggests a similar one, or lists all.
    """
    if name not in NAMED:
        near = get_close_matches(name, NAMED, 1)
        if near:
            raise UsageError("There is no format {name!r} (did you mean {near}?).", name=name, near=near[0])
        raise UsageError(
            "There is no format {name!r}: it is one of {formats}, or a target, one of {targets}.",
            name=name,
            formats=named(FORMATS),
            targets=named(TARGETS),
        )
    return NAMED[name]


def check_form(form: str, *, only: Only, all_as_draft: bool, chosen: Mapping[str, object]) -> None:
    """Refuse options that a format cannot honour.

    Args:
        form: the format or target.
        only: which folders to write.
        all_as_draft: whether every entry becomes a draft.
        chosen: the options that leave something out; ``None`` for those not given.

    Raises:
        UsageError: the export would publish drafts, or would have private content that was not asked for.
    """
    if all_as_draft and not NAMED[form].drafts:
        raise UsageError(
            "{form} has no drafts, so --all-as-draft would publish everything. Leave it out, or choose a format "
            "with drafts: {formats}.",
            form=form,
            formats=named(name for name, each in FORMATS.items() if each.drafts),
        )
    if NAMED[form].whole:
        if only != "all":
            raise UsageError(
                "{form} takes the whole archive, private entries and earlier versions too, which "
                "no public folder may "
                "hold; if that is what you want, say --only all, and it goes to OUT.NOT-PUBLIC.",
                form=form,
            )
        for option, value in chosen.items():
            if value is not None:
                raise UsageError("{form} takes the whole archive; leave out --{option}.", form=form, option=option)


def check_apart(folder: Path, archive: Path) -> None:
    """Refuse a folder inside an archive or around it.

    Raises:
        UsageError: one of the two folders contains the other.
    """
    new, old = folder.resolve(), archive.resolve()
    if new.is_relative_to(old) or old.is_relative_to(new):
        raise UsageError(
            "{folder} and the archive {archive} cannot be inside each other; name another folder.",
            folder=folder,
            archive=archive,
        )


@contextmanager
def newer_state(reader: Archive, version: int) -> Iterator[Newest | None]:
    """Yield the newest state if ``version`` is an older one: entries hidden or removed since then are not public."""
    newest = reader.resolve()
    if version == newest:
        yield None
        return
    with contextlib.closing(reader.state(newest)) as state:
        yield Newest(state, read_at(reader, newest))


def wordpress_posts(state: State, options: ExportOptions, report: Report, newest: Newest | None) -> Posts:
    """Return one side's posts with the names that WordPress uses in addresses, for moves and comparisons."""
    return Posts(state, options, report, holds_back=True, newest=newest, spelling=wordpress_name)


def listed(written: list[WrittenFile], *, public: bool) -> dict[str, Any]:
    """Return a report's members about files. Private ones are not named, because their paths have titles in them."""
    return {
        "file_count": len(written),
        "bytes": sum(file.bytes for file in written),
        "files": [file._asdict() for file in written] if public else [],
    }


def _folders(target: Path, options: ExportOptions, *, only: Only) -> dict[Side, Path]:
    """Return the folder of each side. No folder has both public and private entries."""
    require_name(target)
    apart = {Side.REST: target.with_name(f"{target.name}.NOT-PUBLIC")}
    if only == "private":
        return apart
    side = Side.DRAFTS if options.declared.all_as_draft else Side.PUBLIC
    return {side: target, **(apart if only == "all" else {})}


def require_declared(service: Records, declared: Declared) -> None:
    """Refuse options that do not say which entries are public.

    Raises:
        UsageError: they do not, and do not make all entries drafts.
    """
    if service.is_undeclared(declared):
        raise UsageError(message("Nothing says yet which entries are public: declare it, or make drafts of all."))


def checked_options(
    options: ExportOptions, records: RecordSource, *, infer: bool = True
) -> tuple[ExportOptions, InferredPattern | None]:
    """Check options against the records; return them with the entries' addresses, inferred unless they are given.

    Raises:
        UsageError: a pattern has fields that no entry has.
        NoSuchRecord: no entry has the chosen category or tag.
    """
    _check_patterns(options, records)
    _check_category(records, options.service, options.category)
    _check_tag(records, options.service, options.tag)
    infer = infer and not options.old_urls and not _state_addresses(records, options.service)
    shown = infer_entry_url(options.service, records) if infer else None
    return (options if shown is None else replace(options, old_urls=(shown.pattern,))), shown


def _check_patterns(options: ExportOptions, records: RecordSource) -> None:
    known = options.service.post_fields
    patterns = [(each, known) for each in options.old_urls]
    if options.new_url is not None:
        patterns.append((options.new_url, (*known, *MADE_FIELDS)))
    if any(set(pattern.fields) - set(names) for pattern, names in patterns):
        # The service may send fields that its documentation does not name.
        sent = {name for _, raw in records.scan(Kind.ENTRIES) for name in raw}
        for pattern, names in patterns:
            pattern.check(dict.fromkeys([*names, *sorted(sent)]))


def _check_category(records: RecordSource, service: Records, name: str | None) -> None:
    if name is None:
        return
    listed = (service.post(None, raw) for _, raw in records.scan(Kind.ENTRY_LIST))
    known = {collapse(category.name) for post in listed for category in post.every_category}
    if name not in known:
        # Some services list entries without their categories.
        read = (service.post(raw) for _, raw in records.scan(Kind.ENTRIES))
        known |= {collapse(category.name) for post in read for category in post.every_category}
    if name not in known:
        near = get_close_matches(name, known, 1, _MIN_SIMILARITY)
        if near:
            raise NoSuchRecord("No entry is of the category {name} (did you mean {near}?).", name=name, near=near[0])
        raise NoSuchRecord("No entry is of the category {name}.", name=name)


def _check_tag(records: RecordSource, service: Records, name: str | None) -> None:
    if name is None:
        return
    known = {collapse(tag) for _, raw in records.scan(Kind.ENTRIES) for tag in service.post(raw).tags}
    if name not in known:
        near = get_close_matches(name, known, 1, _MIN_SIMILARITY)
        if near:
            raise NoSuchRecord("No entry has the tag {name} (did you mean {near}?).", name=name, near=near[0])
        raise NoSuchRecord("No entry has the tag {name}.", name=name)


def _state_addresses(records: RecordSource, service: Records) -> bool:
    """Return whether entries state their addresses, as the first ones show."""
    first = islice(records.scan(Kind.ENTRIES), _ENTRIES_ASKED)
    return any(service.post(raw).permalink for _, raw in first)


def _side(
    reader: Archive,
    state: State,
    newest: Newest | None,
    form: str,
    options: ExportOptions,
    shown: InferredPattern | None,
    folder: Path,
    *,
    both: bool,
    dry_run: bool,
    tell_mails: Callable[[int], None],
) -> Exported:
    public = options.side is Side.PUBLIC
    report = Report(public=public, both=both, tell_mails=tell_mails)
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


@dataclass(frozen=True, slots=True)
class SiteCopy:
    """A copied site: its first page and its report."""

    start: Path
    document: dict[str, Any]


@checked
def copy_site(
    archive: Path | str,
    target: Path | str,
    settings: Settings,
    *,
    at: int | None = None,
    public: Declared | None = None,
    force: bool = False,
    check: Callable[[State], None] = lambda _: None,
) -> SiteCopy:
    """Write the site and its pictures into a folder outside of the archive.

    Args:
        archive: the archive's folder.
        target: a new folder.
        settings: the site's title, language and addresses.
        at: the version; by default the newest.
        public: the flags' declared meaning, for a public site; ``None`` for everything.
        force: replace an earlier site.
        check: called with the records before anything is written; may raise.

    Raises:
        UsageError: the folder cannot be written, or nothing declares which entries are public.
    """
    from exporter.library.views import SITE, captured_pages, site_options, titled, with_help  # noqa: PLC0415
    from exporter.site.captured import CapturedPages  # noqa: PLC0415
    from exporter.site.history import ArchiveHistory  # noqa: PLC0415 - exports need no site
    from exporter.site.thumbnails import Thumbnails  # noqa: PLC0415
    from exporter.site.view import (  # noqa: PLC0415
        PublicRecords,
        SiteView,
        copied_site,
    )

    archive, target = Path(archive), Path(target)
    check_target(target, force=force)

    def copied(reader: Archive) -> SiteCopy:
        version = reader.resolve(at)
        service = service_of(settings, reader.info.service)
        if public is not None and service.is_undeclared(public):
            raise UsageError(message("Nothing says yet which entries are public: declare it."))
        history = None if public is not None else ArchiveHistory(reader, service, version)
        with contextlib.closing(reader.state(version)) as state, newer_state(reader, version) as newest:
            check(state)
            own = titled(site_options(settings, archive), state, service)
            options = replace(own, public=public is not None, assets="")
            records: RecordSource = state
            left_out = dict.fromkeys(Kind, 0)
            if public is not None:
                records = chosen = PublicRecords(state, public, read_at(reader, version), service, newest)
                left_out = chosen.left_out
            counts = {str(kind): len(records.ids(kind)) for kind in Kind}

            def document(written: list[WrittenFile]) -> dict[str, Any]:
                return {
                    "format": SITE,
                    "blog_id": reader.info.blog_id,
                    "version": version,
                    "side": "all" if public is None else "public",
                    "folder": str(target.resolve()),
                    "written": counts,
                    "left_out": {str(kind): left_out[kind] for kind in Kind},
                    **listed(written, public=public is not None),
                }

            view = SiteView(
                service,
                history,
                options,
                thumbnails=Thumbnails(reader.layout),
                captured=captured_pages(reader, state, settings) if public is None else CapturedPages(),
                visibility=visibility_of(reader, state, service, settings) if public is None else None,
            )
            files = copied_site(view, records, with_help(view.files(records), lambda _: False))
            written = write_export(files, archive, target, document)
        return SiteCopy(target / "index.html", document(written))

    return read_consistently(archive, copied)


class ExportableArchive(Archive):
    """The public API's archive, with exports, which the room ``archive`` cannot import."""

    def diff(self, before: int, after: int, service: Records | None = None) -> Iterator[RecordChange]:
        """Yield what differs between two versions, by default in the words of the archive's own service."""
        return super().diff(before, after, service or service_of(Settings(), self.info.service))

    def export(
        self,
        form: str,
        target: Path | str,
        options: ExportOptions,
        *,
        at: int | None = None,
        only: Only = "public",
        force: bool = False,
        dry_run: bool = False,
    ) -> list[Exported]:
        """Write the blog as a format, as :func:`export_blog` does."""
        return export_blog(self.path, form, target, options, at=at, only=only, force=force, dry_run=dry_run)
