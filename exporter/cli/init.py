"""``init``: from a pasted address to a verified backup that repeats itself, by five questions at most."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from exporter.archive import atomic
from exporter.cli.backup import SAVED, back_up
from exporter.cli.blog_address import blog_id_in
from exporter.cli.language import adopt
from exporter.cli.new_settings import add_blog, table_name
from exporter.cli.options import config_option, setting_options, with_output
from exporter.cli.output import OnLoss, Output
from exporter.cli.signals import ended_at_a_question
from exporter.cli.target import BlogTarget, find_target, remember_options
from exporter.errors import ArchiveDamaged, BlogExporterError, Interrupted, UsageError
from exporter.message import message, said, suggested
from exporter.service.registry import profile_for
from exporter.settings import (
    PREFIX,
    BlogTable,
    Origin,
    Settings,
    config_folder,
    known_profiles,
    own_config_path,
    read_config,
    resolve,
)
from exporter.text import printable
from exporter.translation import translated

if TYPE_CHECKING:
    from exporter.crawl.outcome import Outcome

_ASSETS: Final = {
    "linked": message("all that entries show, and every upload"),
    "embedded": message("only what entries show"),
    "files": message("only uploads"),
    "none": message("none of them"),
}
_NO: Final = frozenset({"n", "no", "never", "いいえ", "しない"})
_YES: Final = frozenset({"", "y", "yes", "はい", "する"})
_TIME: Final = re.compile(r"([01]?[0-9]|2[0-3]):[0-5][0-9]")
_KEPT: Final = (
    "base_url", "profile", "file_url", "entry_url", "token_file", "allow_private_network", "account", "timezone",
    "oauth_authorize_url", "oauth_token_url", "oauth_client_id", "oauth_client_secret_file", "sign_in_store",
)  # fmt: skip
"""What the table keeps, given as an option or a variable: a nightly run has neither."""


@click.command(
    "init",
    help=message(
        """Begin: save a blog for the first time, and have that repeated every night.

        Paste the blog's address. Five questions at most are asked, and nothing is written before the last
        answer: then comes a look at the blog, its table in your settings file, the first backup, and the
        schedule. Run it again whenever you like: what is done already is not done twice."""
    ),
    epilog="""\b
Examples:
  blog-exporter init
  blog-exporter init https://name.blog.shinobi.jp/ --archive ~/blog
  blog-exporter init name.blog.example.jp --base-url https://api.example.jp --yes
""",
)
@click.argument("address", metavar="[ADDRESS]", required=False)
@click.option("--archive", type=click.Path(path_type=Path), metavar="DIR", help=message("Where the archive is to be."))
@setting_options("base_url", "profile", "assets", "file_url", "entry_url", "token_file", "allow_private_network")
@click.option("--at", metavar="HH:MM|never", help=message("When it is to be backed up by itself, or never."))
@click.option("--no-sign-in", is_flag=True, help=message("Do not sign in."))
@click.option("-y", "--yes", is_flag=True, help=message("Ask nothing: take what Enter would take."))
@config_option
@with_output(OnLoss.WARN)
def command(
    *,
    out: Output,
    address: str | None,
    archive: Path | None,
    at: str | None,
    no_sign_in: bool,
    yes: bool,
    config: Path | None,
    **options: Any,
) -> int:
    """Begin with a blog."""
    adopt(resolve({}, config=config))
    if at is not None and _wrong_time(at):
        raise UsageError(message("--at is {text}: a time such as 03:17, or never, is expected.", text=repr(at)))
    ask = _Asking(yes, out)
    try:
        plan = _asked(ask, address, archive, at, config, options, sign_in=not no_sign_in)
        if plan.sign_in:
            _sign_in(plan.settings, out)
    except (click.Abort, KeyboardInterrupt):
        raise Interrupted(
            message("Interrupted; nothing was written. Begin again: {command}", command=suggested("init"))
        ) from None
    return _done(plan, out, config)


class _Asking:
    """Asks on the terminal, or takes what Enter would take."""

    def __init__(self, silent: bool, out: Output) -> None:
        self._silent = silent
        self._out = out

    def say(self, text: str) -> None:
        """Print a line, where anything is asked."""
        if not self._silent:
            self._out.say(text)

    def text(self, question: str, default: str | None, check: Callable[[str], str | None]) -> str:
        """Ask until ``check`` finds nothing wrong with an answer.

        Raises:
            UsageError: nothing may be asked, and there is no default.
        """
        if self._silent:
            if default is None:
                raise UsageError(
                    message(
                        "Nothing may be asked, so name the blog: {command}",
                        command=suggested("init", "ADDRESS", "--yes"),
                    )
                )
            return default
        while True:
            shown = printable(translated(question))
            answer: str = click.prompt(shown, default=default or "", show_default=bool(default), err=True, type=str)
            wrong = check(answer.strip())
            if wrong is None:
                return answer.strip()
            self._out.say(wrong)

    def secret(self, question: str) -> str | None:
        """Ask for what is not shown; ``None`` for none."""
        if self._silent or not sys.stdin.isatty():
            return None
        shown = printable(translated(question))
        with ended_at_a_question():
            answer: str = click.prompt(shown, default="", show_default=False, hide_input=True, err=True)
        return answer.strip() or None


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be done.

    Attributes:
        blog_id: the blog.
        root: its archive.
        table: its table in the settings file, ``None`` while it has none.
        values: what that table is to hold.
        settings: all of them.
        sign_in: whether to sign in first.
        at: when it is to be repeated: a time, empty for a quiet minute of the night, ``None`` for never.
        token: the access token, where one was typed.
    """

    blog_id: str
    root: Path
    table: BlogTable | None
    values: dict[str, str]
    settings: Settings
    sign_in: bool
    at: str | None
    token: str | None = field(repr=False)


def _asked(
    ask: _Asking,
    address: str | None,
    archive: Path | None,
    at: str | None,
    config: Path | None,
    options: dict[str, Any],
    *,
    sign_in: bool,
) -> _Plan:
    """Ask what the command line does not say."""
    ask.say(
        message("Five questions at most. Enter takes what is in brackets. Nothing is written before the last answer.")
    )
    blog_id = _which(ask, address)
    file = read_config(config)
    table = next((each for each in file.blogs.values() if each.blog_id == blog_id), None)
    if table is not None and archive is None:
        ask.say(message("{path} has it already, as [blogs.{name}].", path=file.path, name=table.name))
    given = {name: value for name, value in options.items() if value is not None}
    settings = resolve(given, config=config, blog_id=blog_id, blog=None if table is None else table.name)
    if settings.base_url is None:
        raise UsageError(
            message(
                "{blog} is at none of the services known. Give the address of its API: {command}",
                blog=blog_id,
                command=suggested("init", blog_id, "--base-url", "https://api.example.jp"),
            )
        )
    known = profile_for(blog_id, reversed(known_profiles(file).values()))
    service = settings.base_url if known is None else known.title
    ask.say(message("The blog is {blog}, at {service}.", blog=blog_id, service=service))
    root = table.archive if table is not None else _where(ask, archive, blog_id)
    wanted, token = sign_in and _may_sign_in(settings), None
    if wanted:
        wanted = _agreed(ask, message("Sign in there now? Without it, drafts and private entries are not saved (y/n)"))
    elif sign_in and not _is_signed_in(settings):
        token = ask.secret(message("Access token, if the service wants one (it is not shown; Enter for none)"))
    if table is None and "assets" not in given:
        given["assets"] = _pictures(ask)
    at = _when(ask, root) if at is None else at
    settings = resolve(given, config=config, blog_id=blog_id, blog=None if table is None else table.name)
    values = {"blog_id": blog_id, "archive": str(root), **_kept(given, settings), "assets": settings.assets}
    if token:
        settings = replace(settings, token=token)
    return _Plan(blog_id, root, table, values, settings, wanted, None if at in _NO else at, token)


def _kept(given: dict[str, Any], settings: Settings) -> dict[str, str]:
    """Return what the blog's table keeps of the options and variables of this run, as text."""
    kept = {}
    for name in _KEPT:
        if settings.sources[name].origin in {Origin.OPTION, Origin.VARIABLE}:
            text = str(given.get(name, os.environ.get(f"{PREFIX}{name.upper()}")))
            kept[name] = os.path.abspath(text) if name.endswith("_file") else text  # noqa: PTH100 - links stay
    return kept


def _which(ask: _Asking, address: str | None) -> str:
    if address is not None:
        try:
            return blog_id_in(address)
        except ValueError as error:
            raise UsageError(
                message(
                    "{text} is no address of a blog: {expected}.", text=repr(_without_password(address)), expected=error
                )
            ) from None

    def check(answer: str) -> str | None:
        try:
            blog_id_in(answer)
        except ValueError as error:
            return message("Please again: {expected}.", expected=error)
        return None

    return blog_id_in(ask.text(message("Which blog? Paste its address"), None, check))


def _without_password(address: str) -> str:
    return re.sub(r"[^/]*@", "***@", address)


def _where(ask: _Asking, archive: Path | None, blog_id: str) -> Path:
    if archive is not None:
        return Path(os.path.abspath(archive.expanduser()))  # noqa: PTH100 - links on the way stay what they are

    def check(answer: str) -> str | None:
        from exporter.archive.writer import require_place

        try:
            require_place(Path(answer).expanduser(), blog_id)
        except BlogExporterError as error:
            return said(error)
        return None

    answer = ask.text(message("Where should its archive be?"), f"~/blogs/{blog_id}", check)
    return Path(os.path.abspath(Path(answer).expanduser()))  # noqa: PTH100 - as above


def _pictures(ask: _Asking) -> str:
    ask.say(message("Which pictures and uploads should be saved?"))
    for number, words in enumerate(_ASSETS.values(), 1):
        ask.say(message("  {number}  {words}", number=number, words=words))

    def check(answer: str) -> str | None:
        fits = answer.isascii() and answer.isdecimal() and 1 <= int(answer) <= len(_ASSETS)
        return None if fits else message("Please type a number from 1 to {most}.", most=len(_ASSETS))

    return list(_ASSETS)[int(ask.text(message("Number"), "1", check)) - 1]


def _agreed(ask: _Asking, question: str) -> bool:
    """Ask for y or n, which the question names."""

    def check(answer: str) -> str | None:
        return None if answer.lower() in _YES | _NO else message("Please type y or n.")

    return ask.text(question, "y", check).lower() in _YES


def _wrong_time(answer: str) -> bool:
    return answer not in {""} | _NO and _TIME.fullmatch(answer) is None


def _when(ask: _Asking, root: Path) -> str | None:
    """Ask when it is to be repeated; not where it is already, or nothing here could do that."""
    from exporter.schedule.schedulers import best, find

    try:
        if best() is None or find(root) is not None:
            return "never"
    except BlogExporterError:  # it is told when it is asked to repeat the backup
        pass

    def check(answer: str) -> str | None:
        wrong = answer != "night" and _wrong_time(answer.lower())
        return message("Please type a time such as 03:30, night, or n.") if wrong else None

    question = message("When should it be saved again, every day? A time such as 03:30, night, or n for never")
    answer = ask.text(question, "night", check).lower()
    return "" if answer == "night" else answer


def _may_sign_in(settings: Settings) -> bool:
    """Tell whether one can sign in at the service, and has not yet."""
    known = settings.oauth_authorize_url is not None and settings.oauth_token_url is not None
    return known and not _is_signed_in(settings)


def _is_signed_in(settings: Settings) -> bool:
    from exporter.login.facts import token_facts

    return bool(settings.token or settings.token_command) or token_facts(settings).account is not None


def _sign_in(settings: Settings, out: Output) -> None:
    from exporter.cli.login import ask, open_browser, signed_in_lines
    from exporter.login.sign_in import sign_in

    done = asyncio.run(sign_in(settings, ask=ask, open_browser=open_browser, say=lambda text: out.say(text, level=-1)))
    for line in signed_in_lines(done.sign_in, done.kept, settings):
        out.say(line)


def _done(plan: _Plan, out: Output, config: Path | None) -> int:
    """Do what was asked for, and return the exit code of the backup, or of the look before it."""
    if plan.table is None:
        code = _looked(plan, out)
        if code not in SAVED:
            out.say(message("Nothing was written; mend that and run init again."))
            return code
    path = own_config_path(config)
    name = plan.table.name if plan.table is not None else table_name(plan.blog_id, read_config(config).blogs)
    if plan.table is None:
        add_blog(path, name, {**plan.values, **_token_kept(plan, name)})
        out.say(message("The settings are in {path}, as [blogs.{name}].", path=path, name=name))
    target = find_target(name, {}, config=config, warn=out.warn)
    outcome = _backed_up(target, out)
    scheduled = _scheduled(plan, out, config)
    out.say()
    if outcome.exit_code:
        out.say(message("What could be read is in {folder}; the next backup tries the rest again.", folder=plan.root))
    else:
        out.say(message("Your blog is safe in {folder}.", folder=plan.root))
    site = plan.root / "latest" / "site" / "index.html"
    if site.exists():
        out.say(message("  to read it, open:   {path}", path=site))
    chosen = [] if config is None else ["--config", os.path.abspath(config)]  # noqa: PTH100 - as above
    out.say(message("  to see how it is:   {command}", command=suggested("status", plan.root)))
    out.say(message("  to save it again:   {command}", command=suggested("backup", name, *chosen)))
    out.document(
        {
            "blog_id": plan.blog_id,
            "name": name,
            "archive": str(plan.root),
            "settings": str(path),
            "outcome": outcome.line()["outcome"],
            "exit_code": outcome.exit_code,
            "scheduled": scheduled,
        }
    )
    return outcome.exit_code


def _token_kept(plan: _Plan, name: str) -> dict[str, str]:
    """Write the token that was typed into a file that only its owner can read; returns the setting that names it."""
    if plan.token is None:
        return {}
    path = config_folder() / "tokens" / name
    with atomic.translated(path):
        atomic.make_folder(path.parent)
        atomic.write_file(path, f"{plan.token}\n".encode())
    return {"token_file": str(path)}


def _looked(plan: _Plan, out: Output) -> int:
    """Look at the blog as ``check`` does, say what is wrong, and return the exit code."""
    from exporter.check.run import check

    out.say(message("Looking at the blog, with a handful of requests …"))
    result = asyncio.run(check(plan.blog_id, plan.settings, plan.root, warn=out.warn))
    if result.estimate is not None:
        out.say(
            message(
                "It has about {entries:,} entries, {comments:,} comments and {files:,} files.",
                entries=result.estimate.entries,
                comments=result.estimate.comments,
                files=result.estimate.files,
            )
        )
    for finding in result.findings:
        if finding.exit_code:
            out.warn(printable(translated(finding.said)))
            out.say(printable(translated(finding.advice)), level=-1)
    return result.exit_code


def _backed_up(target: BlogTarget, out: Output) -> Outcome:
    """Back up, verify, and have the archive remember its settings.

    Raises:
        ArchiveDamaged: the disk gave back other bytes than were written.
    """
    from exporter.archive.archive import Archive
    from exporter.archive.settings_file import note_archive

    own = Output(verbosity=out.verbosity)
    outcome = back_up(target.root, target.blog_id, target.settings, own, label=target.label, new=True)
    damage = [finding for finding in Archive.open(target.root).verify() if finding.damage]
    if damage:
        raise ArchiveDamaged(
            message("{path} is damaged though it was just written: look at this disk.", path=damage[0].path)
        )
    out.say(message("Verified: every file is there and holds what was read."))
    remember_options(target, {}, out)
    note_archive(target.root, target.label)
    return outcome


def _scheduled(plan: _Plan, out: Output, config: Path | None) -> str | None:
    """Have the backup repeated, and return by what; a scheduler that refuses does not undo the backup."""
    from exporter.schedule.plan import plan_for
    from exporter.schedule.schedulers import find, install, trouble

    try:
        if plan.at is None:
            known = find(plan.root)
            return None if known is None else known.scheduler
        words = [str(plan.root)]
        if config is not None:
            words += ["--config", os.path.abspath(config)]  # noqa: PTH100 - as above
        known = install(plan_for(plan.root, plan.blog_id, words, at=plan.at or None))
    except BlogExporterError as error:
        out.warn(message("The backup is not repeated by itself yet. {reason}", reason=error))
        return None
    if "token" in plan.settings.sources and plan.settings.sources["token"].origin is Origin.VARIABLE:
        text = message(
            "{scheduler} does not know your variable with the token: put it into a file, as token_file.",
            scheduler=known.scheduler,
        )
        out.warn(text)
    not_running = trouble(known)
    if not_running is not None:
        out.warn(not_running)
    out.say(
        message(
            "It is saved again every night by {scheduler}; next: {next}.", scheduler=known.scheduler, next=known.next
        )
    )
    return known.scheduler
