"""One export from its options to its report: what may be written where, and what is said of it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

from exporter.archive.history import resolve_at
from exporter.archive.reader import ArchiveReader
from exporter.archive.state import State
from exporter.cli import answers
from exporter.cli.export_options import check_form, read_options
from exporter.cli.inspect import HINT
from exporter.cli.output import Output
from exporter.cli.settings import resolve
from exporter.errors import Terminated, UsageError
from exporter.exporters.folder import check_target, measure_export, write_export
from exporter.exporters.formats import FORMATS
from exporter.exporters.interface import WrittenFile
from exporter.exporters.options import ExportOptions, Side
from exporter.exporters.report import Report
from exporter.exporters.survey import survey_lines
from exporter.model.kinds import Kind
from exporter.model.publication import Declared
from exporter.printable import printable
from exporter.render.runs import collapse

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
    """One side of an export: its folder, its report, and what the owner had declared."""

    folder: Path
    document: dict[str, Any]
    declared: Declared


def said(given: Mapping[str, Any]) -> dict[str, str | None]:
    """Return what options say of the blog's flags, as settings write it."""
    return {
        "public_open_flg": given["public_open_flg"],
        "period_flg_public": "yes" if given["period_flg_public"] else None,
        "visible_delete_flg": given["visible_delete_flg"],
    }


def run(job: Job, out: Output, *, dry_run: bool) -> list[Done]:
    """Make every side that was asked for; with ``dry_run``, keep nothing but the reports.

    Raises:
        UsageError: the options cannot be right, or nothing says yet what is public; the table was shown then.
    """
    check_form(job.form, job.given)
    reader = ArchiveReader(job.archive)
    blog_id = reader.info.blog_id
    settings = resolve(
        {"timezone": job.given["timezone"], **said(job.given)},
        config=job.given["config"],
        blog_id=blog_id,
        warn=out.warn,
    )
    declared = answers.declared(settings, blog_id, all_as_draft=job.given["all_as_draft"])
    at = job.given["at"]
    version = reader.resolve() if at is None else resolve_at(reader, at, settings["timezone"])
    options = read_options(dict(job.given), settings, declared, _read_at(reader.manifest(version).finished_at))
    if not FORMATS[job.form].holds_back:
        options = replace(options, hidden_comments=False)
    folders = _folders(job, options)
    if not dry_run:
        for folder in folders.values():
            check_apart(folder, job.archive)
            check_target(folder, force=job.given["force"])
    state = reader.state(version)
    try:
        if not FORMATS[job.form].whole:
            _stop_undeclared(state, declared, out)
        _check_category(state, options.category)
        with _ended_by_signal():
            return [
                Done(folder, _make(job.form, reader, state, replace(options, side=side), folder, dry_run), declared)
                for side, folder in folders.items()
            ]
    finally:
        state.close()


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
    apart = job.target.with_name(f"{job.target.name}.NOT-PUBLIC")
    if FORMATS[job.form].whole:
        return {Side.REST: apart}
    if options.declared.all_as_draft or only == "private":
        return {Side.REST: job.target}
    return {Side.PUBLIC: job.target, **({Side.REST: apart} if only == "all" else {})}


def _stop_undeclared(state: State, declared: Declared, out: Output) -> None:
    if declared.open_flgs is not None or declared.all_as_draft:
        return
    for line in survey_lines(state):
        out.say(printable(line), level=-1)
    out.say(level=-1)
    out.say(HINT, level=-1)
    raise UsageError(
        "Nothing says yet which entries are public: look at the table above (or inspect DIR), and say so once with "
        "--public-open-flg, or make drafts of all with --all-as-draft."
    )


def _check_category(state: State, name: str | None) -> None:
    if name is None:
        return
    listed = (raw.get("category") for _, raw in state.scan(Kind.ENTRY_LIST))
    known = {collapse(text) for text in listed if isinstance(text, str)}
    if name not in known:
        near = get_close_matches(name, known, 1, _NEAR)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise UsageError(f"No entry is of the category {name}{hint}.")


def _make(
    form: str, reader: ArchiveReader, state: State, options: ExportOptions, folder: Path, dry_run: bool
) -> dict[str, Any]:
    """Make one side and return its report."""
    report = Report()
    files = FORMATS[form].files(state, options, report)
    root = reader.layout.root

    def document(written: list[WrittenFile]) -> dict[str, Any]:
        return {
            "format": form,
            "blog_id": reader.info.blog_id,
            "version": state.version,
            "side": "all" if FORMATS[form].whole else str(options.side),
            "folder": str(folder.resolve()),
            "files": [file._asdict() for file in written],
            **report.document(),
        }

    return document(measure_export(files, root) if dry_run else write_export(files, root, folder, document))


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


def _read_at(finished_at: str) -> datetime:
    moment = datetime.fromisoformat(finished_at)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
