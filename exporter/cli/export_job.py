"""What the owner of a blog said about its flags: from the settings, or kept from an earlier export.

Answers given as options are kept for each blog in ``exports.json``, in the user's configuration folder. Options,
variables and the settings file go before them.
"""

from __future__ import annotations

import contextlib
import json
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import platformdirs

from exporter.archive import atomic
from exporter.archive.archive import Archive, read_consistently
from exporter.archive.state import State
from exporter.cli.export_options import check_form, check_patterns, read_options
from exporter.cli.inspect import HINT
from exporter.cli.output import Output, counted
from exporter.errors import BlogExporterError, Terminated, UsageError
from exporter.export.folder import check_target, measure_export, write_export
from exporter.export.formats import FORMATS
from exporter.export.interface import ExportOptions, Side, WrittenFile
from exporter.export.posts import Newest
from exporter.export.report import Report
from exporter.export.survey import occurring, survey_lines
from exporter.html.runs import collapse
from exporter.model.kinds import Kind
from exporter.model.publication import Declared
from exporter.service.interface import Records
from exporter.settings import SETTINGS, Settings, resolve
from exporter.text import printable

if TYPE_CHECKING:
    from exporter.export.interface import RecordSource

NAMES: Final = ("public_open_flg", "period_flg_public", "visible_delete_flg")
FILE_NAME: Final = "exports.json"
_OF_ENTRIES: Final = ("public_open_flg", "period_flg_public")
_SHOWN: Final = 10

Teller = Callable[[str, Path], None]


def answers_path() -> Path:
    """Return where answers are kept."""
    return Path(platformdirs.user_config_dir("blog-exporter", appauthor=False)) / FILE_NAME


def teller(out: Output, blog_id: str) -> Teller:
    """Return what says on standard error which answers are used."""
    return lambda said, path: out.say(printable(f"Using what was kept for {blog_id}: {said} (in {path})"))


def declared_flags(settings: Settings, blog_id: str, tell: Teller, *, all_as_draft: bool) -> Declared:
    """Return what was said about a blog's flags.

    Args:
        settings: where it is looked for first.
        blog_id: the blog.
        tell: is told what was kept earlier and is used now, since it decides what is published, and where it is kept.
        all_as_draft: whether drafts are to be made of all entries, so that what was kept about them is not used.

    Raises:
        UsageError: the file of answers cannot be read.
    """
    kept = _read(answers_path()).get(blog_id, {})
    said: dict[str, Any] = {}
    used: dict[str, str | None] = {}
    for name in NAMES:
        said[name] = getattr(settings, name)
        if said[name] is None and isinstance(kept.get(name), str):
            try:
                said[name] = SETTINGS[name].read(kept[name])
                used |= {name: kept[name]} if name not in _OF_ENTRIES or not all_as_draft else {}
            except ValueError as error:
                raise UsageError(f"{answers_path()}: {name} of {blog_id} is {kept[name]!r}: {error}.") from error
    if used:
        tell(written(used), answers_path())
    return Declared(
        public_access=said["public_open_flg"],
        period_public=bool(said["period_flg_public"]),
        visible_comment_flags=said["visible_delete_flg"] or frozenset(),
        all_as_draft=all_as_draft,
    )


def check(
    said: Declared, given: Mapping[str, Any], records: RecordSource, service: Records, warn: Callable[[str], None]
) -> None:
    """Compare what was said with the values that occur, since a typing error would publish nothing, and be kept.

    Args:
        said: what was said, from whatever source.
        given: the options of the command line by their names.
        records: the state that is to be published.
        service: reads the records.
        warn: is told of values that no entry has, where entries have others that were named.

    Raises:
        UsageError: no entry has any value that is said to mean published, or no comment one that is said to mean shown.
    """
    if said.public_access is not None and (given["public_open_flg"] is not None or not said.all_as_draft):
        found = occurring(records, Kind.ENTRIES, service.access_flag, said.public_access)
        unknown = said.public_access - set(found)
        if unknown == said.public_access and found:
            raise UsageError(_not_among("public_open_flg", said.public_access, service.access_flag, found, "entry"))
        if unknown and found:
            warn(f"No entry has {service.access_flag} {' or '.join(sorted(unknown))}, which is said to be public.")
    if given["visible_delete_flg"] is not None:
        shown = occurring(records, Kind.COMMENTS, service.deleted_flag, said.visible_comment_flags)
        if shown and not said.visible_comment_flags & set(shown):
            raise UsageError(
                _not_among("visible_delete_flg", said.visible_comment_flags, service.deleted_flag, shown, "comment")
            )


def _not_among(name: str, values: frozenset[str], flag: str, found: Counter[str], noun: str) -> str:
    known = [f"{value} ({counted(count, noun)})" for value, count in found.most_common(_SHOWN)]
    return (
        f"{name} is {','.join(sorted(values))}, which no {noun} has: {flag} is {' or '.join(known)}; "
        f"say which of these with --{name.replace('_', '-')}, or look at inspect DIR."
    )


def written(said: Mapping[str, str | None]) -> str:
    """Return answers as a settings file has them, with commas between them."""
    return ", ".join(f'{name} = "{value}"' for name, value in sorted(said.items()) if value is not None)


def keep(given: dict[str, str | None], blog_id: str, out: Output) -> Path | None:
    """Keep the answers given as options, so that they need not be given again; returns where, if there was any news."""
    new = {name: text for name, text in given.items() if text is not None}
    path = answers_path()
    answers = _read(path)
    known = answers.get(blog_id, {})
    if not new or {**known, **new} == known:
        return None
    answers[blog_id] = {**known, **new}
    text = json.dumps(answers, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
    try:
        with atomic.translated(path):
            atomic.make_folder(path.parent)
            atomic.write_file(path, text.encode())
    except BlogExporterError as error:
        out.warn(f"The answers could not be kept: {error} Put them into the settings file: {written(new)}")
        return None
    return path


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read ({error}); repair or remove it.") from error
    if not isinstance(document, dict) or not all(isinstance(answers, dict) for answers in document.values()):
        raise UsageError(f"{path} must hold an object for each blog; repair or remove it.")
    return document


_NEAR: Final = 0.5
"""How alike two names must be: those of categories have two characters as often as ten."""


@dataclass(frozen=True, slots=True)
class Job:
    """What was asked for.

    Attributes:
        form: the name of the format.
        archive: the archive's folder.
        target: the new folder.
        given: the options of the command line by their names.
    """

    form: str
    archive: Path
    target: Path
    given: Mapping[str, Any]


class Done(NamedTuple):
    """One side of an export: its folder, its report, as a document too, its files, and what the owner had declared."""

    folder: Path
    report: Report
    document: dict[str, Any]
    files: list[WrittenFile]
    declared: Declared


def said(given: Mapping[str, Any]) -> dict[str, str | None]:
    """Return what options say of the blog's flags, as settings write it."""
    return {
        "public_open_flg": given["public_open_flg"],
        "period_flg_public": "yes" if given["period_flg_public"] else None,
        "visible_delete_flg": given["visible_delete_flg"],
    }


def run(job: Job, out: Output, *, dry_run: bool, tell: Teller | None = None) -> list[Done]:
    """Make every side that was asked for; with ``dry_run``, keep nothing but the reports.

    Args:
        job: what was asked for.
        out: how the command talks.
        dry_run: whether only the reports are wanted.
        tell: is told which answers that were kept are used; by default ``out`` says it.

    Raises:
        UsageError: the options cannot be right, or nothing says yet what is public; the table was shown then.
    """
    check_form(job.form, job.given)
    form = FORMATS[job.form]
    blog_id = Archive.open(job.archive).info.blog_id
    settings = resolve(
        {"timezone": job.given["timezone"], **said(job.given)},
        config=job.given["config"],
        blog_id=blog_id,
        warn=out.warn,
    )
    drafts = job.given["all_as_draft"]
    tell = tell or teller(out, blog_id)
    declared = Declared() if form.whole else declared_flags(settings, blog_id, tell, all_as_draft=drafts)
    at = job.given["at"]

    def stated(reader: Archive) -> tuple[int, datetime]:
        version = reader.resolve() if at is None else reader.version_at(at, settings.timezone)
        return version, read_at(reader, version)

    version, moment = read_consistently(job.archive, stated)
    options = read_options(dict(job.given), settings, declared, moment)
    if not form.holds_back:
        options = replace(options, hidden_comments=False)
    folders = _folders(job, options)
    if not dry_run:
        for folder in folders.values():
            check_apart(folder, job.archive)
            check_target(folder, force=job.given["force"])

    def made(reader: Archive) -> list[Done]:
        with contextlib.closing(reader.state(version)) as state, newest_beside(reader, version) as newest:
            if not form.whole:
                _stop_undeclared(job.form, state, options.service, declared, out)
                check(declared, job.given, state, options.service, out.warn)
            check_patterns(options, state)
            _check_category(state, options.service, options.category)
            making = _Making(job.form, reader, state, newest, declared, dry_run)
            with _ended_by_signal():
                return [making.side(replace(options, side=side), folder) for side, folder in folders.items()]

    return read_consistently(job.archive, made)


@contextmanager
def newest_beside(reader: Archive, version: int) -> Iterator[Newest | None]:
    """Give the newest state where ``version`` is an older one: what was hidden or removed since is not public."""
    newest = reader.resolve()
    if version == newest:
        yield None
        return
    with contextlib.closing(reader.state(newest)) as state:
        yield Newest(state, read_at(reader, newest))


def check_apart(folder: Path, archive: Path) -> None:
    """Refuse to write into an archive, or around it.

    Raises:
        UsageError: one of the two folders is in the other.
    """
    new, old = folder.resolve(), archive.resolve()
    if new.is_relative_to(old) or old.is_relative_to(new):
        raise UsageError(f"{folder} and the archive {archive} cannot stand in each other; name another folder.")


def _folders(job: Job, options: ExportOptions) -> dict[Side, Path]:
    """Return which sides are written where; a folder never holds both."""
    only = job.given["only"]
    apart = {Side.REST: job.target.with_name(f"{job.target.name}.NOT-PUBLIC")}
    if FORMATS[job.form].whole or only == "private":
        return apart
    side = Side.DRAFTS if options.declared.all_as_draft else Side.PUBLIC
    return {side: job.target, **(apart if only == "all" else {})}


def _stop_undeclared(form: str, state: State, service: Records, declared: Declared, out: Output) -> None:
    if declared.public_access is not None or declared.all_as_draft:
        return
    for line in survey_lines(state, service):
        out.say(printable(line), level=-1)
    out.say(level=-1)
    out.say(HINT, level=-1)
    drafts = ", or make drafts of all with --all-as-draft" if FORMATS[form].drafts else ""
    raise UsageError(
        "Nothing says yet which entries are public: look at the table above (or inspect DIR), and say so once with "
        f"--public-open-flg{drafts}."
    )


def _check_category(state: State, service: Records, name: str | None) -> None:
    if name is None:
        return
    known = {collapse(service.post(None, raw).category or "") for _, raw in state.scan(Kind.ENTRY_LIST)}
    if name not in known:
        near = get_close_matches(name, known, 1, _NEAR)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise UsageError(f"No entry is of the category {name}{hint}.")


@dataclass(frozen=True, slots=True)
class _Making:
    """What the sides of one export share."""

    form: str
    reader: Archive
    state: State
    newest: Newest | None
    declared: Declared
    dry_run: bool

    def side(self, options: ExportOptions, folder: Path) -> Done:
        """Make one side."""
        public = options.side is Side.PUBLIC
        report = Report(public=public)
        files = FORMATS[self.form].files(self.state, options, report, self.newest)
        root = self.reader.layout.root

        def document(written: list[WrittenFile]) -> dict[str, Any]:
            return {
                "format": self.form,
                "blog_id": self.reader.info.blog_id,
                "version": self.state.version,
                "side": "all" if FORMATS[self.form].whole else str(options.side),
                "folder": str(folder.resolve()),
                **listed(written, public=public),
                **report.document(),
            }

        written = measure_export(files, root) if self.dry_run else write_export(files, root, folder, document)
        return Done(folder, report, document(written), written, self.declared)


def listed(written: list[WrittenFile], *, public: bool) -> dict[str, Any]:
    """Return what a report says of the files; named only where all is public, since titles are in their paths."""
    return {
        "file_count": len(written),
        "bytes": sum(file.bytes for file in written),
        "files": [file._asdict() for file in written] if public else [],
    }


@contextmanager
def _ended_by_signal() -> Iterator[None]:
    """Let SIGTERM end the work as Ctrl-C does, with what is half made removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(_number: int, _frame: FrameType | None) -> None:
        raise Terminated("Terminated; nothing was written.")

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def read_at(reader: Archive, version: int) -> datetime:
    """Return when the blog was read for a version."""
    moment = datetime.fromisoformat(reader.manifest(version).finished_at)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
