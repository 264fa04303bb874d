"""Run a job on all archives of a fleet in many processes: sites, checks, ``latest/`` and search indexes.

Each job makes the same call as the command for one archive. An archive that fails does not stop the others, even if it
kills the process that works on it. No list of the archives is held: a million take the memory of one folder's names.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from exporter.archive.archive import Archive
from exporter.archive.atomic import translate
from exporter.archive.captures import captures
from exporter.archive.fleet_folder import FoundArchive, archives_in, open_archive, shards_in
from exporter.archive.settings_file import settings_to_read_with
from exporter.archive.verify import ignore_progress
from exporter.errors import ArchiveDamaged, BlogExporterError, Incomplete, Interrupted, NoMemory, NoSpace, UsageError
from exporter.fleet.pool import WorkerPool, error_of, results_as_completed
from exporter.library.views import MARKDOWN, SITE
from exporter.message import message, message_n, said, stored_as
from exporter.service.registry import service_of
from exporter.settings import shared_variables, variables

if TYPE_CHECKING:
    from exporter.archive.checks import Finding
    from exporter.copies.store import Store, WithinStore
    from exporter.settings import Settings

MADE: Final = "made"
CURRENT: Final = "up_to_date"
EMPTY: Final = "empty"
FAILED: Final = "failed"
STATES: Final = (MADE, CURRENT, EMPTY, FAILED)

FATAL: Final = (NoSpace, NoMemory, Interrupted, MemoryError)
"""Errors that are not about the archive being read; they end the work."""
_MAX_NAMED: Final = 1000
_MAX_REASON_CHARACTERS: Final = 500
_MAX_FINDINGS: Final = 5
"""The maximum number of findings in a result; ``verify`` of that archive names all."""
_MAX_REFUSED_FIRST: Final = 20
"""If a usage error refuses each of the first 20 archives, the options are wrong, and the work ends."""
Options = TypeVar("Options")


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a job on an archive.

    Attributes:
        made: whether anything had to be made; false if all was up to date.
        facts: what JSON shows of it.
        problem: the error that describes a fault of the archive; ``None`` without a fault.
    """

    made: bool
    facts: dict[str, Any] = field(default_factory=dict)
    problem: BlogExporterError | None = None


@dataclass(frozen=True, slots=True)
class JobOptions:
    """Settings for a job, which pickle and hold no secret.

    Attributes:
        settings: options of the command line by the names of settings; ``None`` for options not given.
        config: the settings file of the command line; ``None`` for the user's own.
        environment: settings from the main process's environment, for workers on other machines.
    """

    settings: Mapping[str, str | None] = field(default_factory=dict)
    config: Path | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: variables(shared_variables(os.environ)))

    def resolved(self, archive: Archive) -> Settings:
        """Return the settings for an archive."""
        given = {name: value for name, value in self.settings.items() if value is not None}
        return settings_to_read_with(archive, {**self.environment, **given}, self.config)


def site(archive: Archive, options: JobOptions) -> Done:
    """Make or update ``latest/site``, as ``site`` does."""
    from exporter.library.views import refresh  # noqa: PLC0415 - each process does one kind of work

    version = archive.resolve()
    made = refresh(archive, options.resolved(archive), at=version, also={SITE})
    return Done(made.files > 0, {"version": version, "files_made": made.files})


def rebuild(archive: Archive, options: JobOptions) -> Done:
    """Make ``latest/`` again, with the views that exist and those that the command line asks for."""
    from exporter.library import views  # noqa: PLC0415 - see above

    settings = options.resolved(archive)
    latest, asked = archive.layout.latest, options.settings
    markdown, pages = ((latest / name).is_dir() or asked.get(name) == "yes" for name in (MARKDOWN, SITE))
    version = archive.resolve()
    made = views.rebuild(archive, replace(settings, markdown=markdown, site=pages), at=version)
    return Done(True, {"version": version, "files_made": made.files})


def search_index(archive: Archive, options: JobOptions) -> Done:
    """Make or update the index that ``search`` keeps in the archive."""
    from exporter.search.index import Index, index_path  # noqa: PLC0415 - see above

    path = index_path(archive.layout)
    version = archive.resolve()
    before = path.lstat() if path.is_file() else None
    with Index(archive, service_of(options.resolved(archive), archive.info.service), at=version):
        after = path.lstat() if path.is_file() else None
    facts = {"version": version, "bytes": None if after is None else after.st_size}
    if after is None:
        return Done(True, facts, Incomplete(message("The search index could not be written into the archive.")))
    return Done(before is None or (before.st_ino, before.st_mtime_ns) != (after.st_ino, after.st_mtime_ns), facts)


def verify(archive: Archive, quick: bool) -> Done:
    """Check whether an archive is intact and complete, as ``verify`` does; an archive of captures alone is complete."""
    from exporter.warc.checks import record_checks  # noqa: PLC0415 - see above

    return checked(archive, archive.verify(quick=quick, records=record_checks(archive.layout)))


def checked(archive: Archive, found: Iterable[Finding]) -> Done:
    """Return a check's result, given its findings."""
    findings = damage = 0
    first: Finding | None = None
    shown: list[dict[str, Any]] = []
    for finding in found:
        findings += 1
        first = first or finding
        damage += finding.damage
        if len(shown) < _MAX_FINDINGS:
            shown.append({"code": str(finding.code), "path": finding.path, "detail": str(finding.detail)})
    completeness, _ = archive.completeness()
    complete = bool(completeness.get("complete")) or not archive.versions()
    facts = {
        "versions": len(archive.versions()), "head": archive.head(), "intact": not damage, "complete": complete,
        "findings": findings, "first_findings": shown,
    }  # fmt: skip
    problem: BlogExporterError | None = None
    if damage and first is not None:
        text = message_n(
            "Damaged, {n:,} finding; the first: {path}: {detail}",
            "Damaged, {n:,} findings; the first: {path}: {detail}",
            findings,
            path=first.path,
            detail=first.detail,
        )
        problem = ArchiveDamaged(text)
    elif not complete:
        problem = Incomplete(message("Intact, but not everything could be read; save the blog again."))
    return Done(True, facts, problem)


@dataclass(frozen=True, slots=True)
class ArchiveResult:
    """The result for one archive.

    Attributes:
        blog_id: its blog, by the folder's name.
        path: its folder, or the address of a copy of it.
        state: ``made``, ``up_to_date``, ``empty`` (no version yet) or ``failed``.
        exit_code: the exit code of the command for this archive alone.
        kind: the class of the error; ``None`` for none.
        reason: the text of the error.
        facts: what JSON shows of the archive.
        seconds: the duration.
        cpu_seconds: the processor time of that process.
    """

    blog_id: str
    path: Path | str
    state: str
    exit_code: int = 0
    kind: str | None = None
    reason: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def document(self) -> dict[str, Any]:
        """Return it as JSON shows it."""
        return {
            "blog_id": self.blog_id,
            "archive": str(self.path),
            "state": self.state,
            "exit_code": self.exit_code,
            "kind": self.kind,
            **stored_as("reason", self.reason),
            "seconds": round(self.seconds, 3),
            **self.facts,
        }


def do(
    job: Callable[[Archive, Options], Done], options: Options, found: FoundArchive, *, of_captures: bool = False
) -> ArchiveResult:
    """Run a job on one archive; the result holds any error. All arguments and the result pickle.

    Args:
        job: the job.
        options: its second argument.
        found: the archive.
        of_captures: whether the job also works on an archive that has captures and no version.
    """

    def work() -> Done | None:
        archive = open_archive(found)
        is_empty = archive.newest() is None and not (of_captures and captures(archive.layout))
        return None if is_empty else job(archive, options)

    return result_of(found.blog_id, found.path, work)


def result_of(blog_id: str, path: Path | str, work: Callable[[], Done | None]) -> ArchiveResult:
    """Run a function on an archive; the result holds any error.

    Args:
        blog_id: its blog.
        path: its folder or address.
        work: the call to make; returns ``None`` if the archive has no version yet.
    """
    begun, cpu = time.monotonic(), time.process_time()
    done: Done | None = None
    error: BlogExporterError | None = None
    try:
        done = work()
        error = None if done is None else done.problem
    except Exception as failure:  # noqa: BLE001 - whatever it is, the other archives have their turn
        error = error_of(failure)
    state = EMPTY if done is None else MADE if done.made else CURRENT
    return ArchiveResult(
        blog_id,
        path,
        FAILED if error is not None else state,
        0 if error is None else error.exit_code,
        None if error is None else type(error).__name__,
        None if error is None else said(error),
        {} if done is None else done.facts,
        time.monotonic() - begun,
        time.process_time() - cpu,
    )


def lost(found: FoundArchive, how: str) -> ArchiveResult:
    """Return the result for an archive that killed its process twice, and how the second one died."""
    text = message(
        "The process that worked on it died twice, the second time while nothing else ran ({how}): "
        "it may need more memory.",
        how=how or message("no reason given"),
    )
    return ArchiveResult(
        found.blog_id, found.path, FAILED, BlogExporterError.exit_code, BlogExporterError.__name__, text
    )


def work_over(
    root: Path,
    job: Callable[[Archive, Options], Done],
    options: Options,
    pool: WorkerPool,
    *,
    of_captures: bool = False,
) -> Generator[ArchiveResult]:
    """Yield the result for each archive, in any order.

    Args:
        root: the fleet's folder.
        job: a function of a module.
        options: its second argument; pickles.
        pool: runs it.
        of_captures: whether it also works on archives that have captures and no version.

    Raises:
        NoSpace: the disk is full.
        UsageError: the options are wrong for every archive.
        BlogExporterError: no worker can run.
    """
    archives = (found for shard in shards_in(root) for found in archives_in(root, shard))
    refused = 0
    work = partial(do, job, options, of_captures=of_captures)
    with closing(results_as_completed(pool, work, archives, lost=lost)) as results:
        for done, result in enumerate(results, 1):
            yield result
            refused += result.kind == UsageError.__name__
            if refused == done == _MAX_REFUSED_FIRST:
                raise UsageError("Every archive was refused, the last one so: {reason}", reason=result.reason or "")
            if result.kind == NoSpace.__name__:
                raise NoSpace(result.reason or "")


def trouble_of(error: Exception) -> str:
    """Return why an archive could not be read, shortened."""
    if isinstance(error, OSError):
        error = translate(error, message("a file"))
    is_fault = isinstance(error, BlogExporterError)
    reason = said(error) if is_fault else message("{kind}: {reason}", kind=type(error).__name__, reason=error)
    return reason if len(reason) <= _MAX_REASON_CHARACTERS else reason[:_MAX_REASON_CHARACTERS]


def copies_of_a_fleet(store: Store) -> list[str]:
    """Return the folders of all archives in a fleet's copy, in order.

    Raises:
        NoArchive: it holds no archive.
        UsageError: it is the copy of one archive.
    """
    from exporter.copies.store import archives_of  # noqa: PLC0415 - only checks of copies need it

    names = archives_of(store)
    if names == ["."]:
        raise UsageError("{place} is the copy of one archive: run verify {place}.", place=store.place)
    return names


def verify_copies(store: Store, names: list[str]) -> Iterator[ArchiveResult]:
    """Yield the result for each copy of an archive."""
    from exporter.copies.store import WithinStore  # noqa: PLC0415 - see above

    for name in names:
        within = WithinStore(store, name)
        yield result_of(name.partition("/")[2], within.place, partial(_verify_copy, within))


def _verify_copy(store: WithinStore) -> Done | None:
    from exporter.copies.checks import CopyCheck  # noqa: PLC0415 - see above

    with CopyCheck(store) as check:
        return checked(check.archive, check.findings(ignore_progress)) if check.archive.versions() else None


class WorkTally:
    """Counts results, and keeps the first thousand failures.

    Attributes:
        states: number of archives in each state.
        codes: number of failures by exit code.
        failures: those that are kept.
        sums: the sum of each number in the results, except versions.
        cpu_seconds: processor time of all.
    """

    def __init__(self) -> None:
        self.states: Counter[str] = Counter(dict.fromkeys(STATES, 0))
        self.codes: Counter[int] = Counter()
        self.failures: list[ArchiveResult] = []
        self.sums: Counter[str] = Counter()
        self.cpu_seconds = 0.0

    @property
    def archives(self) -> int:
        """The number of archives."""
        return self.states.total()

    def count(self, result: ArchiveResult) -> None:
        """Count a result."""
        self.states[result.state] += 1
        self.cpu_seconds += result.cpu_seconds
        for name, value in result.facts.items():
            if isinstance(value, int) and not isinstance(value, bool) and name != "version":
                self.sums[name] += value
        if result.state == FAILED:
            self.codes[result.exit_code] += 1
            if len(self.failures) < _MAX_NAMED:
                self.failures.append(result)

    def document(self) -> dict[str, Any]:
        """Return all of it as JSON shows it."""
        return {
            "archives": self.archives,
            **{state: self.states[state] for state in STATES},
            "exit_codes": {str(code): count for code, count in sorted(self.codes.items())},
            "sums": dict(self.sums),
            "failures": [each.document() for each in self.failures],
            "failures_not_named": self.states[FAILED] - len(self.failures),
        }

    def problem(self) -> BlogExporterError | None:
        """Return the error for the exit code: damage before other failures, ``None`` without any."""
        damaged = self.codes[ArchiveDamaged.exit_code]
        if damaged:
            return ArchiveDamaged(
                message_n(
                    "{n:,} archive is damaged: verify it by itself, then verify --repair, or save its blog again.",
                    "{n:,} archives are damaged: verify each by itself, then verify --repair, or save its blog again.",
                    damaged,
                )
            )
        if self.states[FAILED]:
            return Incomplete(
                message_n(
                    "{n:,} archive failed: see why above, then run the same command again.",
                    "{n:,} archives failed: see why above, then run the same command again.",
                    self.states[FAILED],
                )
            )
        return None
