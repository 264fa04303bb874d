"""Diagnose an existing archive and the machine around it: the problems, their causes, and their repairs.

:mod:`exporter.check.service_check` finds out whether a backup would save everything that a service holds. This module
uses it only to find out whether the service still answers, and never repeats its findings about records.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from exporter.archive import atomic
from exporter.archive.archive import Archive
from exporter.archive.layout import Layout
from exporter.archive.reader import is_archive
from exporter.archive.settings_file import (
    CONFIRMED,
    NEVER_PROPOSED,
    ArchiveSettings,
    identity_of,
    noted_archives,
    option_words,
    place_of,
    proposed_settings,
    quoted,
    read_archive_settings,
    table_of,
    unknown_service,
)
from exporter.check.archive_state import state_finding
from exporter.check.facts import FAILED, NOT_AUTHORISED, CheckFinding, CheckResult
from exporter.check.findings import GONE, REDIRECTS
from exporter.check.installation import KeptPlace, installation_findings, kept_places, upgrade_command
from exporter.check.missing_archive import missing_archive
from exporter.check.nightly import nightly_findings
from exporter.check.service_check import check
from exporter.check.storage import storage_findings, user_name
from exporter.clock import SystemClock, for_people
from exporter.errors import ArchiveDamaged, BlogExporterError, Interrupted, NewerFormat, NoArchive, Stale, UsageError
from exporter.library.status import CLOCK_TOLERANCE, StatusProblem, status
from exporter.login.facts import service_command, service_origin, sign_in_ends, token_facts
from exporter.message import message, restored_from, said, suggested, system_reason
from exporter.model.kinds import Kind
from exporter.service.registry import way_of
from exporter.settings import BlogTable, Remembered, Settings, own_config_path, read_config, resolve
from exporter.text import printable

WORST_FIRST: Final = (1, 10, 14, 13, 28, 2, 12, 20, 7, 6, 4, 3)
"""The exit codes of findings. The first ones keep a person from reading the archive, the next ones keep a backup from
running, and the last ones report backups that ran."""
_ASKED: Final = frozenset({"clock", "failed", "no_answer", "not_authorised", "settings"})
"""The findings of a check that concern the service as a whole."""
_PROXIES: Final = ("https_proxy", "http_proxy", "all_proxy")
_NEW_BASE_URL: Final = ("--base-url", "NEW_ADDRESS")
_SIGN_IN_NOTICE: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The problems of an archive and of its surroundings.

    Attributes:
        archive: its absolute path.
        blog_id: its blog; ``None`` if the archive cannot be read.
        offline: whether no request was sent to the service.
        findings: the problems, the worst first, and then the remarks, whose exit code is 0.
        places: the places on this machine where the program keeps something.
    """

    archive: Path
    blog_id: str | None
    offline: bool
    findings: tuple[CheckFinding, ...]
    places: tuple[KeptPlace, ...] = field(default=())

    @property
    def problems(self) -> tuple[CheckFinding, ...]:
        """The findings that are no remarks."""
        return tuple(each for each in self.findings if each.exit_code)

    @property
    def exit_code(self) -> int:
        """The exit code of the worst problem; 0 without one."""
        return next((each.exit_code for each in self.findings), 0)

    def document(self) -> dict[str, Any]:
        """Return the diagnosis for ``--json``."""
        return {
            "archive": str(self.archive),
            "blog_id": self.blog_id,
            "offline": self.offline,
            "problems": len(self.problems),
            "findings": [asdict(each) for each in self.findings],
            "places": [asdict(each) for each in self.places],
            "exit_code": self.exit_code,
        }


def diagnose(
    root: Path,
    *,
    config: Path | None = None,
    offline: bool = False,
    now: datetime | None = None,
    warn: Callable[[str], None] = lambda _: None,
) -> Diagnosis:
    """Diagnose the archive in a folder. Problems are findings: neither a hostile archive nor a dead service raises.

    It writes one small file in ``.work/`` and removes it, to test whether a backup could write and lock there. Without
    ``offline``, it sends the service a few requests, as :func:`exporter.check.service_check.check` does. The call
    blocks, and needs a thread without an event loop.

    Args:
        root: the folder, which may be missing.
        config: the settings file to read in place of the user's own.
        offline: whether to send no request.
        now: the current time; that of this machine by default.
        warn: called with a sentence if the token would travel unencrypted, or others can read a file with a token.
    """
    root = Path(os.path.abspath(root))  # noqa: PTH100 - as schedules name it, so that each command works anywhere
    moment = now or SystemClock().now()
    archive: Archive | None = None
    found: list[CheckFinding] = []
    try:
        archive, opened = _opened(root)
        found += opened
        found += (
            _of_lost_table(root, config)
            if archive is None
            else _of_archive(archive, config, moment, offline=offline, warn=warn)
        )
    except Interrupted:
        raise
    except BlogExporterError as error:
        found.append(CheckFinding("unreadable", said(error), exit_code=error.exit_code))
    except OSError as error:
        found.append(_unreadable(root, error))
    found += installation_findings()
    blog_id = None if archive is None else archive.info.blog_id
    places = tuple(kept_places(root, config))
    return Diagnosis(root, blog_id, offline, tuple(sorted(found, key=_urgency)), places)


def _urgency(finding: CheckFinding) -> int:
    code = finding.exit_code
    return len(WORST_FIRST) if not code else WORST_FIRST.index(code) if code in WORST_FIRST else -1


def _opened(root: Path) -> tuple[Archive | None, list[CheckFinding]]:
    """Return the archive, or ``None`` and the reason why it cannot be opened."""
    if not is_archive(Layout(root)):
        return None, [missing_archive(root)]
    try:
        return Archive.open(root), []
    except NoArchive as error:
        return None, [CheckFinding("not_an_archive", said(error), exit_code=error.exit_code)]
    except NewerFormat as error:
        advice = message("Upgrade the program:")
        return None, [CheckFinding("newer_format", said(error), advice, error.exit_code, upgrade_command())]
    except ArchiveDamaged as error:
        return None, [_damaged(root, error)]


def _unreadable(root: Path, error: OSError) -> CheckFinding:
    """Return the finding about a folder or file that cannot be read."""
    damage = atomic.translate(error, root)
    if isinstance(damage, ArchiveDamaged):
        return _damaged(root, damage)
    named = str(error.filename or "")
    path = named if os.path.isabs(named) else str(root)  # noqa: PTH117 - text
    sentence = message("{path} cannot be read: {reason}.", path=printable(path), reason=system_reason(error))
    if not isinstance(error, PermissionError) or os.name != "posix":
        return CheckFinding("unreadable", sentence, exit_code=BlogExporterError.exit_code)
    command = shlex.join(["sudo", "chown", "-R", user_name(os.geteuid()), path])
    return CheckFinding("unreadable", sentence, message("If it is yours:"), UsageError.exit_code, command)


def _damaged(root: Path, error: ArchiveDamaged) -> CheckFinding:
    advice = message("For the possible repairs:")
    return CheckFinding("damaged", said(error), advice, error.exit_code, suggested("verify", root))


def _of_archive(
    archive: Archive, config: Path | None, now: datetime, *, offline: bool, warn: Callable[[str], None]
) -> Iterator[CheckFinding]:
    root = archive.path
    unknown = unknown_service(root)
    if unknown is not None:
        advice = message("Upgrade the program:")
        yield CheckFinding("service_not_known", unknown, advice, UsageError.exit_code, upgrade_command())
        yield from _of_state(archive, None, now)
        yield from storage_findings(archive.layout, now)
        return
    blogs: Mapping[str, BlogTable] = {}
    settings: Settings | None = None
    kept = ArchiveSettings(archive.layout.root)
    try:
        blogs = read_config(config).blogs
        kept = read_archive_settings(root)
        settings = _settings(archive, kept, blogs, config, warn)
    except BlogExporterError as error:
        yield CheckFinding("settings", said(error), exit_code=error.exit_code)
    state = [*_of_state(archive, settings, now)]
    yield from state
    yield from storage_findings(archive.layout, now)
    earlier = [each for each in _other_places(root) if not identity_of(each)]
    placed = [*_of_place(archive, kept, settings, blogs, earlier, config)]
    yield from placed
    if settings is not None:
        if settings.base_url is not None:
            last = None if any(each.name == "in_the_future" for each in state) else _last_end(archive)
            yield from nightly_findings(root, last, now, earlier)
            yield from _of_sign_in(settings, now)
            if not offline:
                yield from _of_service(archive, settings, now, warn)
        elif not kept.unconfirmed and not _is_of_files(settings) and all(each.name != "copy" for each in placed):
            yield CheckFinding(
                "service_unknown",
                message("Nothing says at which address the blog can be read, so no backup can run."),
                message("Back up once and name it there, by --base-url or --profile. The archive remembers it."),
                UsageError.exit_code,
            )


def _settings(
    archive: Archive,
    kept: ArchiveSettings,
    blogs: Mapping[str, BlogTable],
    config: Path | None,
    warn: Callable[[str], None],
) -> Settings:
    """Return the settings of a backup that names the archive's folder."""
    info = archive.info
    table = table_of(archive.path, info.blog_id, blogs)
    return resolve(
        {},
        config=config,
        blog_id=info.blog_id,
        blog=None if table is None else table.name,
        remembered=Remembered(kept.path, kept.values),
        service=info.service,
        warn=warn,
    )


def _is_of_files(settings: Settings) -> bool:
    from exporter.service.export_file import ExportFile  # noqa: PLC0415 - few archives were made from files

    return isinstance(way_of(settings, settings.service), ExportFile)


def _last_end(archive: Archive) -> datetime | None:
    for run in archive.newest_backups():
        return datetime.fromisoformat(str(run["finished_at"]))
    return None


def _of_state(archive: Archive, settings: Settings | None, now: datetime) -> Iterator[CheckFinding]:
    """Yield the problems that ``status`` reports, and one more if the last run is dated in the future."""
    try:
        found = status(archive)
    except NoArchive:
        yield CheckFinding(
            "no_backup_yet",
            message("The first backup into {path} did not finish.", path=archive.path),
            message("To continue it:"),
            NoArchive.exit_code,
            suggested("backup", archive.path),
        )
        return
    except ArchiveDamaged as error:
        yield _damaged(archive.path, error)
        return
    document = found.document
    if settings is not None:
        document = {**document, "last_success": for_people(str(document["last_success"]), settings.timezone)}
        if document["last_run"]:
            finished = for_people(str(document["last_run"].get("finished_at")), settings.timezone)
            document["last_run"] = {**document["last_run"], "finished_at": finished}
    why = next((restored_from(each, "reason") for each in document["problems"]), "")
    for problem in found.problems:
        finding = state_finding(problem, document, why=why)
        if problem is StatusProblem.LAST_RUN_FAILED and document["writer"] is None:
            command = suggested("backup", archive.path)
            finding = replace(finding, advice=message("Try again, and read the messages:"), command=command)
        yield finding
    last = _last_end(archive)
    if last is not None and last - now > CLOCK_TOLERANCE:
        yield state_finding(StatusProblem.IN_THE_FUTURE, document)


def _other_places(root: Path) -> list[Path]:
    """Return the other folders in which this user's backups wrote this archive."""
    identity = identity_of(root)
    try:
        noted = noted_archives()
    except UsageError:
        return []
    here = place_of(root)
    return [each.place for each in noted if identity and each.identity == identity and str(each.place) != here]


def _of_place(
    archive: Archive,
    kept: ArchiveSettings,
    settings: Settings | None,
    blogs: Mapping[str, BlogTable],
    earlier: list[Path],
    config: Path | None,
) -> Iterator[CheckFinding]:
    """Yield the problems of an archive that comes from another place or another computer."""
    root, blog_id = archive.path, archive.info.blog_id
    others = blogs.values() if table_of(root, blog_id, blogs) is None else ()
    for table in others:
        if table.blog_id == blog_id and not identity_of(table.archive):
            yield CheckFinding(
                "settings_of_old_place",
                message(
                    "[blogs.{name}] in {config} names {path} as the archive, but that folder has none.",
                    name=printable(table.name, 80),
                    config=own_config_path(config),
                    path=table.archive,
                ),
                message("Write there: archive = {path}", path=quoted(str(root))),
                NoArchive.exit_code,
            )
    try:
        is_known = any(str(each.place) == place_of(root) for each in noted_archives())
    except UsageError as error:
        yield CheckFinding("notes_unreadable", said(error), exit_code=error.exit_code)
        return
    if is_known or earlier:
        yield from _of_changed_settings(root, kept, settings)
        return
    original = next((each for each in _other_places(root) if identity_of(each)), None)
    if original is not None:
        yield CheckFinding(
            "copy",
            message("{path} is a copy of the archive in {original}.", path=root, original=original),
            message("Back up into one of them only. sync brings the other up to date."),
            command=suggested("sync", original, root),
        )
        return
    if not CONFIRMED.isdisjoint(kept.values):  # a first backup of this user that has not saved anything yet
        return
    words, blocked = _proposed(kept, settings)
    if settings is not None and settings.base_url is None and not blocked:
        return
    yield CheckFinding(
        "new_computer",
        message(
            "No backup of yours wrote {path} on this computer: the archive comes from another computer or user.",
            path=root,
        ),
        message(
            "To go on here, sign in if the blog needs that, and back up once. The settings that came with the archive "
            "are in this command; run it only if you trust them:"
        )
        if words
        else message("To go on here, sign in if the blog needs that, and back up once:"),
        UsageError.exit_code if blocked else 0,
        suggested("backup", root, *words),
    )


def _proposed(kept: ArchiveSettings, settings: Settings | None) -> tuple[list[str], bool]:
    """Return the options of a backup that accepts the unconfirmed settings, and whether none can run without them."""
    proposed = {} if settings is None else proposed_settings(kept, settings)
    words = [word for name in sorted(proposed.keys() - NEVER_PROPOSED) for word in option_words(name, proposed[name])]
    return words, settings is not None and settings.base_url is None and "base_url" in proposed


def _of_changed_settings(root: Path, kept: ArchiveSettings, settings: Settings | None) -> Iterator[CheckFinding]:
    """Yield a finding if this user's archive has another settings file than its last backup wrote."""
    words, blocked = _proposed(kept, settings)
    if blocked:
        yield CheckFinding(
            "settings_changed",
            message(
                "{path} is not as your last backup wrote it, so it is not used, and no backup runs.", path=kept.path
            ),
            message("Its settings are in this command; run it only if you trust them:"),
            UsageError.exit_code,
            suggested("backup", root, *words),
        )


def _of_lost_table(root: Path, config: Path | None) -> list[CheckFinding]:
    """Return a finding for each blog in the settings file that names this folder, which has no archive."""
    try:
        blogs = read_config(config).blogs
    except UsageError as error:
        return [CheckFinding("settings", said(error), exit_code=error.exit_code)]
    place = root.resolve()
    return [
        CheckFinding(
            "settings_name_it",
            message(
                "[blogs.{name}] in {config} names this folder.",
                name=printable(table.name, 80),
                config=own_config_path(config),
            ),
            message("If the archive stays elsewhere, write its folder there."),
        )
        for table in blogs.values()
        if table.archive.resolve() == place
    ]


def _of_sign_in(settings: Settings, now: datetime) -> Iterator[CheckFinding]:
    """Yield a finding if the stored sign-in has ended, or ends within a week."""
    if settings.token or settings.token_command:
        return
    try:
        ends = sign_in_ends(settings)
        origin = service_origin(settings.base_url or "")
    except UsageError as error:
        yield CheckFinding("sign_in_unreadable", said(error), exit_code=error.exit_code)
        return
    if ends is None or ends - now > _SIGN_IN_NOTICE:
        return
    ended = ends <= now
    time = ends.astimezone().isoformat(" ", "minutes")
    yield CheckFinding(
        "sign_in_ended" if ended else "sign_in_ends",
        message("The sign-in at {origin} ended at {time}.", origin=origin, time=time)
        if ended
        else message("The sign-in at {origin} ends at {time} and cannot be renewed.", origin=origin, time=time),
        message("Sign in again:") if ended else message("Sign in again before that:"),
        NOT_AUTHORISED if ended else 0,
        service_command("login", settings),
    )


def _of_service(
    archive: Archive, settings: Settings, now: datetime, warn: Callable[[str], None]
) -> Iterator[CheckFinding]:
    """Ask the service, and yield whether it still has the blog and lets this user read it."""
    result = asyncio.run(check(archive.info.blog_id, settings, archive.path, warn=warn))
    # The account may exist when the blog no longer does.
    of_blog = [each for each in result.operations if each.kind is not Kind.USER] or result.operations
    failed = [each for each in of_blog if not each.answered]
    silent = bool(of_blog) and len(failed) == len(of_blog)
    closed = settings.closing is not None and settings.closing < now.astimezone(settings.timezone).date()
    if silent and all(each.status in GONE for each in failed):
        yield _gone(archive, settings, failed[0].status or 404, closed=closed)
        return
    relevant = [each for each in result.findings if each.name in _ASKED and (each.exit_code or each.name == "clock")]
    if silent and any(each.exit_code == FAILED for each in relevant):
        yield _silent(archive, settings, result, next(each for each in relevant if each.exit_code), closed=closed)
        return
    for each in relevant:
        if each.name == "not_authorised":
            yield _not_authorised(settings, each)
        elif each.name == "clock":
            yield replace(each, exit_code=Stale.exit_code)
        else:
            yield replace(each, name=f"service_{each.name}")
    if closed and not silent:
        yield CheckFinding(
            "closing_date_passed",
            message("The closing date {date} is over, but the service still answers.", date=settings.closing),
            message("Use the time, and back up once more:"),
            command=suggested("backup", archive.path),
        )


def _gone(archive: Archive, settings: Settings, status_code: int, *, closed: bool) -> CheckFinding:
    host = urlsplit(settings.base_url or "").hostname or ""
    if closed:
        return CheckFinding(
            "service_closed",
            message("The service has closed: its closing date {date} is over.", date=settings.closing),
            message("The archive is complete without it. Read it, export it, and stop the nightly backups:"),
            FAILED,
            suggested("schedule", "remove", archive.path),
        )
    return CheckFinding(
        "blog_gone",
        message(
            "{host} no longer has {blog}: it answers every request with HTTP {status}.",
            host=printable(host, 120),
            blog=printable(archive.info.blog_id, 120),
            status=status_code,
        ),
        message("Open the blog in a browser. If it has a new address, put that in place of NEW_ADDRESS:"),
        FAILED,
        suggested("rename", archive.path, "NEW_ADDRESS"),
    )


def _silent(
    archive: Archive, settings: Settings, result: CheckResult, finding: CheckFinding, *, closed: bool
) -> CheckFinding:
    """Return the finding about a service that gave no usable answer at all."""
    if closed and result.operations[0].status is None:
        return _gone(archive, settings, 0, closed=True)
    proxy = next((name for each in _PROXIES for name in (each, each.upper()) if os.environ.get(name)), None)
    if proxy is not None and result.operations[0].status is None:
        return CheckFinding(
            "proxy",
            message(
                "{said} This machine uses a proxy ({variable}), which this program does not use.",
                said=finding.said,
                variable=proxy,
            ),
            message(
                "Let it reach {host} directly: allow that in the firewall, or run it in a network without a proxy.",
                host=printable(urlsplit(settings.base_url or "").netloc.rpartition("@")[2], 120),
            ),
            FAILED,
        )
    if result.operations[0].status in REDIRECTS:
        return replace(finding, name="service_moved", command=suggested("backup", archive.path, *_NEW_BASE_URL))
    advice = finding.advice
    if result.operations[0].status is None:
        # No answer came at all.
        advice = message(
            "Open the blog in a browser on this machine. If that fails too, the network or the service is down: the "
            "archive is safe, and every backup tries again. This program cannot use a proxy."
        )
    return replace(finding, name="service_silent", advice=advice)


def _not_authorised(settings: Settings, finding: CheckFinding) -> CheckFinding:
    """Return the finding about a missing or refused token, with the way to a new one."""
    facts = token_facts(settings)
    has_token = bool(settings.token or settings.token_command or facts.account is not None)
    if settings.withheld and not has_token:
        return CheckFinding(
            "token_withheld",
            message(
                "The service requires a token, and the one that you have ({place}) is not sent to it.",
                place=settings.withheld,
            ),
            message(
                "If it belongs to {origin}, say --token-for {origin}, or set token_for in the place of the token.",
                origin=service_origin(settings.base_url or ""),
            ),
            finding.exit_code,
        )
    can_sign_in = settings.oauth_authorize_url is not None or settings.oauth_client_id is not None
    sentence = (
        message("The service refuses the token ({place}).", place=facts.place)
        if has_token
        else message("The service requires a token, but you have set none.")
    )
    return CheckFinding(
        "token_refused" if has_token else "token_missing",
        sentence,
        message("Sign in again:")
        if can_sign_in
        else message("Set BLOG_EXPORTER_TOKEN to a token that may read this blog, or name its file with --token-file."),
        finding.exit_code,
        service_command("login", settings) if can_sign_in else "",
    )
