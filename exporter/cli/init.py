"""``init``: from a pasted address to a verified, scheduled backup, with at most six questions."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from exporter.archive import atomic
from exporter.cli.account import Account, asked_account, asked_files
from exporter.cli.backup import SAVED, asked_title, back_up
from exporter.cli.blog_names import address_in, blog_id_in, folder_possible, without_password
from exporter.cli.help import PATH, cli_command
from exporter.cli.language import adopt
from exporter.cli.options import given_settings, setting_options, with_config
from exporter.cli.output import OnLoss, Output, estimated
from exporter.cli.questions import Questions, yes_or_no
from exporter.cli.source import counts_text, explored, files_at, find_source, host_of, nothing_at, title_at
from exporter.cli.target import BlogTarget, find_target, remember_options
from exporter.cli.user_settings import add_blog, with_blog
from exporter.errors import ArchiveDamaged, BlogExporterError, Interrupted, UsageError
from exporter.login.facts import service_origin
from exporter.message import message, said, suggested
from exporter.service.registry import SERVICE_OPTIONS, profile_for
from exporter.setting_sources import PREFIX, Origin
from exporter.settings import BlogTable, Settings, config_folder, known_profiles, own_config_path, read_config, resolve
from exporter.text import printable
from exporter.translation import translated

if TYPE_CHECKING:
    from exporter.crawl.outcome import Outcome
    from exporter.login.client import RegisteredClient
    from exporter.schedule.nightly import Nightly
    from exporter.service.discovery import WayIn
    from exporter.source.export_files import ExportFiles

_ASSETS: Final = {
    "linked": message("everything that entries show, and every upload"),
    "embedded": message("only what entries show"),
    "files": message("only uploads"),
    "none": message("none of them"),
}
_TIME: Final = re.compile(r"([01]?[0-9]|2[0-3]):[0-5][0-9]")
_KEPT: Final = (
    "base_url", "profile", "service", "user", "file_url", "entry_url", "token_file", "token_for",
    "allow_private_network", "account", "site_title", "timezone", *SERVICE_OPTIONS,
    "oauth_authorize_url", "oauth_token_url", "oauth_client_id", "oauth_client_secret_file", "sign_in_store",
)  # fmt: skip
"""The options and variables that the blog's table keeps, which a nightly run does not have."""


@cli_command(
    "init",
    help=message(
        """Save a blog for the first time, and schedule a backup every night.

        Paste the blog's address, or name the export file that its service gave you, and answer at most six
        questions; nothing is written before the last answer.
        Then the program checks the blog, adds it to your settings file, makes the first backup and schedules the
        next ones. You can run it again at any time: it never repeats a step that is done."""
    ),
    epilog="""\b
Examples:
  blog-exporter init
  blog-exporter init https://name.blog.shinobi.jp/ --archive ~/blog
  blog-exporter init name.blog.example.jp --base-url https://api.example.jp --yes
""",
)
@click.argument("address", metavar="[ADDRESS|FILE]", required=False)
@click.option("--archive", type=PATH, metavar="DIR", help=message("The archive. [default: ~/blogs/BLOG_ID]"))
@setting_options(
    "base_url",
    "profile",
    "service",
    "assets",
    "site_title",
    "file_url",
    "entry_url",
    "token_file",
    "token_for",
    "allow_private_network",
)
@click.option("--at", metavar="HH:MM|never", help=message("Time of the scheduled backup, or never."))
@click.option("--no-sign-in", is_flag=True, help=message("Do not sign in."))
@click.option("-y", "--yes", is_flag=True, help=message("Ask nothing: take the default answers."))
@with_config(on_loss=OnLoss.WARN)
def init_command(*, out: Output, yes: bool, config: Path | None, **given: Any) -> int:
    """Run ``init``."""
    adopt(resolve({}, config=config))
    at = given["at"]
    if at is not None and _wrong_time(at):
        raise UsageError("--at is {text}: a time such as 03:17, or never, is expected.", text=repr(at))
    try:
        ask = Questions(silent=yes)
        text = message(
            "At most six questions. Enter means the default in brackets. Nothing is written before the last answer."
        )
        ask.say(text)
        words = _which(ask, given["address"])
        files = files_at(words)
        plan = _planned(ask, words, config, given, out) if files is None else _FromFile(files, given["archive"])
        if isinstance(plan, _FromFile):
            return _from_file(plan, ask, out, config, given)
        if plan.sign_in:
            _sign_in(plan, out)
    except (click.Abort, KeyboardInterrupt):
        raise Interrupted(
            "Interrupted; nothing was written. Begin again: {command}", command=suggested("init")
        ) from None
    return _done(plan, out, config)


@dataclass(frozen=True, slots=True)
class _Plan:
    """The answers.

    Attributes:
        blog_id: the blog.
        root: its archive.
        table: its table in the settings file, ``None`` if it has none yet.
        values: the content of a new table.
        settings: the settings of the blog.
        sign_in: whether to sign in first.
        client: the client to sign in with, if one was typed.
        at: when to run the scheduled backup; empty for a quiet minute at night unless it is scheduled already,
            ``None`` for never.
        token: the access token, if one was typed.
    """

    blog_id: str
    root: Path
    table: BlogTable | None
    values: dict[str, str]
    settings: Settings
    sign_in: bool
    at: str | None
    client: RegisteredClient | None = field(repr=False)
    token: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class _FromFile:
    """The answers of a user with export files; ``archive`` is ``None`` if the user has yet to name it."""

    files: ExportFiles
    archive: Path | None


def _planned(
    ask: Questions, words: str, config: Path | None, options: Mapping[str, Any], out: Output
) -> _Plan | _FromFile:
    """Ask the questions that the command line does not answer."""
    found = _found_blog(ask, words, config, options)
    if isinstance(found, _FromFile):
        return found
    blog_id, table, given, settings, title = found.blog_id, found.table, found.given, found.settings, found.title
    implied = found.found
    known = profile_for(blog_id, reversed(known_profiles(read_config(config)).values()))
    service = settings.base_url if known is None else known.title
    ask.say(message("The blog is {blog}, at {service}.", blog=blog_id, service=service))
    if table is None and settings.site_title is None:
        title = asked_title(ask, blog_id, title)
    root = table.archive if table is not None else _where(ask, options["archive"], blog_id)
    account = Account() if options["no_sign_in"] else asked_account(ask, found.words, blog_id, settings, root)
    if account.files is not None:
        return _FromFile(account.files, root)
    if account.way is not None:
        implied = {**account.way.settings, "base_url": account.way.base_url, "service": account.way.service}
        out.warn(message("Only what everybody can see will be saved: no drafts and no private entries."))
    if account.user is not None:
        given["user"] = account.user
    # A service with a name and a key has no list of uploads to choose from.
    if table is None and "assets" not in given and account.user is None:
        question = message("Which pictures and uploads should be saved?")
        given["assets"] = list(_ASSETS)[ask.number(question, list(_ASSETS.values()), 0)]
    at = _when(ask, root) if options["at"] is None else options["at"]
    how: dict[str, Any] = {"config": config, "blog_id": blog_id, "blog": None if table is None else table.name}
    settings = resolve(given, found=implied, **how)
    values = {"blog_id": blog_id, "archive": str(root), **_kept({**given, **implied}, settings)}
    values["assets"] = settings.assets
    if title and settings.site_title is None:
        values["site_title"] = title
    if account.token:
        settings = replace(settings, token=account.token)
    at = None if at and yes_or_no(at) is False else at
    return _Plan(blog_id, root, table, values, settings, account.sign_in, at, account.client, account.token)


@dataclass(frozen=True, slots=True)
class _Blog:
    """The blog that the user named, with a service.

    Attributes:
        words: the user's words.
        blog_id: its ID.
        table: its table in the settings file, if it has one.
        given: the settings of the command line.
        found: those of the way that was found.
        settings: these, resolved.
        title: its title, if a way into it states one.
    """

    words: str
    blog_id: str
    table: BlogTable | None
    given: dict[str, str]
    found: dict[str, str]
    settings: Settings
    title: str = ""


def _found_blog(ask: Questions, words: str, config: Path | None, options: Mapping[str, Any]) -> _Blog | _FromFile:
    """Find the service of the blog. If nothing is found, ask how to go on, until it is."""
    file = read_config(config)
    given = given_settings(options)
    while True:
        blog_id = host_of(address_in(words) or words)
        table = next((each for each in file.blogs.values() if each.blog_id == blog_id), None)
        if table is not None and options["archive"] is None:
            ask.say(message("The blog is already in {path}, as [blogs.{name}].", path=file.path, name=table.name))
        elif table is not None and _absolute(options["archive"]) != _absolute(table.archive):
            raise UsageError(
                "[blogs.{name}] in {path} names {archive} as the archive of {blog}. Change it there, or leave "
                "--archive out.",
                name=table.name,
                path=file.path,
                archive=table.archive,
                blog=blog_id,
            )
        how: dict[str, Any] = {"config": config, "blog": None if table is None else table.name}
        settings = resolve(given, blog_id=blog_id, **how)
        if settings.base_url is not None:
            return _Blog(words, blog_id, table, given, {}, settings)
        way = _way_to(words, blog_id)
        if isinstance(way, str):
            if ask.silent or not sys.stdin.isatty():
                raise UsageError(
                    "No known service has {blog}, and as an address: {reason} Give the address of its API: {command}",
                    blog=blog_id,
                    command=suggested("init", blog_id, "--base-url", "https://api.example.jp"),
                    reason=way,
                )
            ask.say(message("No known service has {blog}, and as an address: {reason}", blog=blog_id, reason=way))
            words, base_url = _other_way(ask, words)
            files = files_at(words)
            if files is not None:
                return _FromFile(files, options["archive"])
            given = {**given, **base_url}
            continue
        implied = {"base_url": way.base_url, "service": way.service, **way.settings}
        implied = {name: value for name, value in implied.items() if name not in given}
        ask.say(message("Found: {label}, {counts}.", label=way.label, counts=counts_text(way) or way.base_url))
        settings = resolve(given, found=implied, blog_id=way.blog_id, **how)
        return _Blog(words, way.blog_id, table, given, implied, settings, title_at(way))


def _way_to(words: str, blog_id: str) -> WayIn | str:
    """Return the best way to read a blog without a known profile, or the reason why it cannot be read."""
    try:
        with folder_possible(words):
            ways = explored(address_in(words) or f"https://{blog_id}/")
    except BlogExporterError as error:
        return said(error)
    return ways.found[0] if ways.found else nothing_at(ways, None)


def _other_way(ask: Questions, words: str) -> tuple[str, dict[str, str]]:
    """Ask how to continue if a blog cannot be read; return the words that name the blog, and further settings."""
    ways = (
        message("with another address of the blog"),
        message("with the address of its service's API, which I know"),
        message("with an export file that I got from its service"),
    )

    def read(answer: str) -> str:
        if answer:
            service_origin(answer)
        return answer

    while True:
        chosen = ask.number(message("How do you want to go on?"), ways, 0)
        if chosen == 0:
            return _which(ask, None), {}
        if chosen == 1:
            base_url = ask.value(message("Address of the API, such as https://api.example.jp"), "", read)
            if base_url:
                return words, {"base_url": base_url}
        elif (files := asked_files(ask)) is not None:
            return str(files.path), {}


def _from_file(plan: _FromFile, ask: Questions, out: Output, config: Path | None, options: Mapping[str, Any]) -> int:
    """Save a blog from its export file: ask where, back up and verify."""
    files = plan.files
    given = {**given_settings(options), "assets": options["assets"]}
    found = find_source(str(files.path), given, out=out, archive=plan.archive, config=config)
    root = _where(ask, plan.archive, found.target.blog_id)
    target = find_source(str(files.path), given, out=out, archive=root, config=config).target
    outcome = _backed_up(target, out, files)
    out.say()
    if outcome.exit_code:
        out.say("The archive in {folder} is incomplete; the next backup tries the rest again.", folder=root)
    else:
        out.say("Your blog as in this file is safe in {folder}.", folder=root)
    out.say(message("No nightly backup is scheduled, because files do not change."))
    site = root / "latest" / "site" / "index.html"
    if site.exists():
        out.say("  to read it, open:   {path}", path=site)
    out.say("  to see its state:   {command}", command=suggested("status", root))
    out.say("  with a newer file:  {command}", command=suggested("backup", "FILE", "--archive", root))
    out.document(
        {
            "blog_id": target.blog_id,
            "name": None,
            "archive": str(root),
            "settings": None,
            "outcome": outcome.line()["outcome"],
            "exit_code": outcome.exit_code,
            "nightly": None,
        }
    )
    return outcome.exit_code


def _kept(given: dict[str, Any], settings: Settings) -> dict[str, str]:
    """Return the options and variables of this run that the blog's table keeps, as text."""
    kept = {}
    for name in _KEPT:
        if settings.sources[name].origin in {Origin.FOUND, Origin.OPTION, Origin.VARIABLE}:
            text = str(given.get(name, os.environ.get(f"{PREFIX}{name.upper()}")))
            kept[name] = str(_absolute(text)) if name.endswith("_file") else text
    if settings.withheld:  # beside the address that was found it would be sent there from now on
        kept.pop("token_file", None)
    elif settings.token and settings.token_for:
        kept["token_for"] = ",".join(settings.token_for)
    return kept


def _which(ask: Questions, address: str | None) -> str:
    """Return the address or the path of the file that the user named."""
    if address is not None:
        if Path(address).exists() or files_at(address) is not None:  # a missing file raises an error
            return address
        try:
            if address_in(address) is None:
                blog_id_in(address)
        except ValueError as error:
            shown = repr(without_password(address))
            raise UsageError("{text} is no address of a blog: {expected}.", text=shown, expected=error) from None
        return address

    if ask.silent:
        command = suggested("init", "ADDRESS", "--yes")
        raise UsageError("With --yes, name the blog: {command}", command=command)

    def read(answer: str) -> str:
        path = Path(answer.strip().strip("'\"")).expanduser()
        if answer.strip() and path.exists():
            return str(path)
        try:
            if address_in(answer) is None:
                blog_id_in(answer)
        except ValueError as error:
            raise UsageError("Please again: {expected}.", expected=error) from None
        return answer

    return ask.value(message("Paste the blog's address, or give the export file"), "", read)


def _where(ask: Questions, archive: Path | None, blog_id: str) -> Path:
    def read(answer: Path | str) -> Path:
        from exporter.archive.writer import require_place

        place = _absolute(answer)
        require_place(place, blog_id)
        return place

    if archive is not None:
        return read(archive)
    return ask.value(message("Where should its archive be?"), f"~/blogs/{blog_id}", read)


def _absolute(path: Path | str) -> Path:
    return Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100 - links on the way stay what they are


def _wrong_time(answer: str) -> bool:
    return bool(answer) and yes_or_no(answer) is not False and _TIME.fullmatch(answer) is None


def _when(ask: Questions, root: Path) -> str | None:
    """Ask when to schedule the backup, unless it is scheduled already or this machine has no scheduler."""
    from exporter.schedule.nightly import nightly_of

    # Without a scheduler there is nothing to choose: the end says so.
    if not nightly_of(root).command:
        return ""

    def read(answer: str) -> str:
        time = answer.lower()
        if time != "night" and _wrong_time(time):
            raise ValueError(message("Please type a time such as 03:30, night, or n."))
        return "" if time == "night" else time

    question = message("When should it be saved again, every day? A time such as 03:30, night, or n for never")
    return ask.value(question, "night", read)


def _sign_in(plan: _Plan, out: Output) -> None:
    from exporter.cli.login import open_browser, signed_in_lines
    from exporter.cli.questions import ask
    from exporter.login.sign_in import sign_in

    def say(text: str) -> None:
        out.say(text, level=-1)

    done = asyncio.run(sign_in(plan.settings, ask=ask, open_browser=open_browser, say=say, client=plan.client))
    for line in signed_in_lines(done.sign_in, done.kept, plan.settings):
        out.say(line)


def _done(plan: _Plan, out: Output, config: Path | None) -> int:
    """Execute the plan; return the exit code of its last command, the check or the backup."""
    if plan.table is None:
        code = _looked(plan, out)
        if code not in SAVED:
            out.say(message("Nothing was written; fix that and run init again."))
            return code
    path = own_config_path(config)
    name = plan.table.name if plan.table is not None else table_name(plan.blog_id, read_config(config).blogs)
    if plan.table is None:
        values = {**plan.values, **_token_settings(plan, name)}
        with_blog(path, name, values)
        if plan.token is not None:
            atomic.write_secret(Path(values["token_file"]), plan.token)
        add_blog(path, name, values)
        out.say("The settings are in {path}, as [blogs.{name}].", path=path, name=name)
    target = find_target(name, {}, config=config, warn=out.warn)
    outcome = _backed_up(target, out)
    nightly = _scheduled(plan, out, config)
    out.say()
    if outcome.exit_code:
        out.say("The archive in {folder} is incomplete; the next backup tries the rest again.", folder=plan.root)
    elif nightly.starts:
        out.say("Your blog is safe in {folder}.", folder=plan.root)
    else:
        out.say("Your blog as it is now is safe in {folder}.", folder=plan.root)
    site = plan.root / "latest" / "site" / "index.html"
    if site.exists():
        out.say("  to read it, open:   {path}", path=site)
    chosen = [] if config is None else ["--config", str(_absolute(config))]
    out.say("  to see its state:   {command}", command=suggested("status", plan.root))
    out.say("  to save it again:   {command}", command=suggested("backup", name, *chosen))
    out.document(
        {
            "blog_id": plan.blog_id,
            "name": name,
            "archive": str(plan.root),
            "settings": str(path),
            "outcome": outcome.line()["outcome"],
            "exit_code": outcome.exit_code,
            "nightly": nightly.document(),
        }
    )
    return outcome.exit_code


def _token_settings(plan: _Plan, name: str) -> dict[str, str]:
    """Return the settings that name the file of the typed token, which only its owner can read."""
    if plan.token is None:
        return {}
    path = config_folder() / "tokens" / name
    return {"token_file": str(path), "token_for": service_origin(plan.settings.base_url or "")}


def _looked(plan: _Plan, out: Output) -> int:
    """Check the blog as ``check`` does, print the problems, and return the exit code."""
    from exporter.check.service_check import check

    out.say(message("Checking the blog with a few requests …"))
    result = asyncio.run(check(plan.blog_id, plan.settings, plan.root, warn=out.warn))
    if result.estimate is not None:
        found = result.estimate
        out.say("It has {records}.", records=estimated(found.entries, found.comments, found.files))
    for finding in result.findings:
        if finding.exit_code:
            out.warn(printable(translated(finding.said)))
            out.say(printable(translated(finding.advice)), level=-1)
    return result.exit_code


def _backed_up(target: BlogTarget, out: Output, files: ExportFiles | None = None) -> Outcome:
    """Back up, verify, and keep the settings in the archive.

    Raises:
        ArchiveDamaged: the disk returned other bytes than were written.
    """
    from exporter.archive.archive import Archive
    from exporter.archive.settings_file import note_archive

    own = Output(verbosity=out.verbosity)
    outcome = back_up(
        target.root,
        target.blog_id,
        target.settings,
        own,
        files=files,
        label=target.label,
        new=True,
        proven=lambda: remember_options(target, {}, out),
    )
    damage = [finding for finding in Archive.open(target.root).verify() if finding.damage]
    if damage:
        raise ArchiveDamaged("{path} is damaged though it was just written: check this disk.", path=damage[0].path)
    out.say(message("Verified: every file exists and contains the bytes that were read."))
    note_archive(target.root, target.label)
    return outcome


def _scheduled(plan: _Plan, out: Output, config: Path | None) -> Nightly:
    """Schedule the backup, and return its state there; a scheduler that refuses does not undo the backup."""
    from exporter.schedule.nightly import nightly_of
    from exporter.schedule.plan import is_temporary, plan_for
    from exporter.schedule.schedulers import condition, install

    words = [str(plan.root), *([] if config is None else ["--config", str(_absolute(config))])]
    nightly = nightly_of(plan.root, [plan.root, *words[1:]])
    # A schedule that exists is replaced only at a time that the user named.
    if plan.at is not None and (plan.at or nightly.known is None):
        try:
            install(plan_for(plan.root, plan.blog_id, words, at=plan.at or None))
        except BlogExporterError as error:
            nightly = nightly_of(plan.root)
            kept = message("The nightly schedule was not changed. {reason}", reason=error)
            none = message("No nightly backup is scheduled. {reason}", reason=error)
            out.warn(none if nightly.known is None else kept)
            return nightly
        nightly = nightly_of(plan.root)
    if nightly.known is None and not nightly.trouble:
        out.say("No nightly backup is scheduled, as you chose. {advice}", advice=nightly.next_step)
        return nightly
    if is_temporary():
        text = message("the program runs from a cache that may be emptied: install it with pipx, uv tool or pip first.")
        out.warn(text)
    token = plan.settings.sources.get("token")
    if nightly.known is not None and token is not None and token.origin is Origin.VARIABLE:
        lacks = message(
            "{scheduler} does not have your variable with the token: put the token into a file, as token_file.",
            scheduler=nightly.known.scheduler,
        )
        nightly = replace(nightly, trouble=lacks)
    if nightly.known is not None and nightly.starts:
        out.say(
            "Saved every night by {scheduler}; next: {next}.",
            scheduler=nightly.known.scheduler,
            next=nightly.known.next,
        )
        if needs := condition(nightly.known):
            out.say(needs)
    else:
        out.warn(nightly.trouble)
    return nightly


def table_name(blog_id: str, taken: Iterable[str]) -> str:
    """Return a short, unused name for a blog's table."""
    first = blog_id.split(".", maxsplit=1)[0]
    names = set(taken)
    number, name = 1, first
    while name in names:
        number += 1
        name = f"{first}-{number}"
    return name
