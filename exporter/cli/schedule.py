"""``schedule``: install, print or remove the schedule of a nightly backup."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exporter.cli.blog_names import archive_named
from exporter.cli.help import HelpedGroup
from exporter.cli.options import settings_of, with_config
from exporter.cli.output import Output
from exporter.errors import NoSuchRecord, UsageError
from exporter.message import both, message
from exporter.setting_sources import PREFIX, option_name
from exporter.settings import CONFIG_VARIABLE, read_config

if TYPE_CHECKING:
    from exporter.schedule.plan import NightPlan

_EPILOG = message(
    """\b
Examples:
  blog-exporter schedule install ~/blog
  blog-exporter schedule status ~/blog
  blog-exporter schedule remove ~/blog
  blog-exporter schedule print ~/blog --for cron --at 03:17
"""
)
_KINDS = ("cron", "systemd", "launchd", "schtasks")
_PASSED_ON = ("base_url", "profile", "token_file", "token_for")
_TOKEN = PREFIX + "TOKEN"

blog_argument = click.argument("words", metavar="DIR|BLOG_ID|NAME")
at_option = click.option(
    "--at", metavar="HH:MM", help=message("Local time. [default: a minute between 3 and 4 at night]")
)


def _planned(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a plan."""
    return at_option(with_config(*_PASSED_ON)(command))


@click.group(
    "schedule",
    cls=HelpedGroup,
    epilog=_EPILOG,
    help=message(
        "Back up a blog every night, or later if the machine slept.\n\n"
        "`install` uses launchd on macOS, Task Scheduler on Windows, and elsewhere systemd if it runs for "
        "you, otherwise your crontab. It changes only its own entry there."
    ),
)
def command() -> None:
    """Group the commands."""


@command.command("print", help=message("Print a schedule for cron, systemd, launchd or Task Scheduler."))
@blog_argument
@click.option(
    "--for",
    "kind",
    type=click.Choice(_KINDS),
    help=message("Scheduler. [default: this machine's own, else cron]"),
)
@_planned
def show(*, out: Output, kind: str | None, words: str, config: Path | None, at: str | None, **given: str | None) -> int:
    """Print a schedule."""
    from exporter.schedule import schedulers

    plan = _plan(out, words, config, at, given)
    texts = _texts(kind or schedulers.usual(), plan)
    out.document({"name": plan.name, "at": f"{plan.at:%H:%M}", "command": plan.command, "files": texts})
    for name, text in texts.items():
        if len(texts) > 1:
            out.answer(f"# {name}")
        out.answer(text.rstrip("\n"))
    return 0


@command.command("install", help=message("Schedule a nightly backup with this machine's scheduler."))
@blog_argument
@click.option(
    "--with",
    "scheduler",
    type=click.Choice(_KINDS),
    help=message("Scheduler. [default: this machine's own]"),
)
@_planned
def install(
    *, out: Output, words: str, scheduler: str | None, config: Path | None, at: str | None, **given: str | None
) -> int:
    """Install a schedule."""
    from exporter.schedule import schedulers

    plan = _plan(out, words, config, at, given)
    known = schedulers.install(plan, scheduler, words=[words, *_named({**given, "config": config, "at": at})])
    facts: dict[str, Any] = {"scheduler": known.scheduler, "next": known.next}
    out.document({"name": plan.name, **facts, "command": known.command, "at": str(plan.at)})
    not_running = schedulers.trouble(known)
    if not_running is None:
        out.answer("{blog} is backed up every night by {scheduler}; next: {next}.", blog=plan.blog_id, **facts)
    else:
        out.warn(not_running)
    if needs := schedulers.condition(known):
        out.say(needs)
    return 0


@command.command("remove", help=message("Remove the schedule; the archive stays."))
@blog_argument
@with_config()
def remove(*, out: Output, words: str, config: Path | None) -> int:
    """Remove a schedule."""
    from exporter.schedule import schedulers

    archive = _root(out, words, config)
    removed = schedulers.remove(archive)
    out.document({"archive": str(archive), "removed": removed})
    if removed:
        out.answer("Removed from {schedulers}.", schedulers=both(removed))
    else:
        out.answer("Nothing was scheduled for {archive}.", archive=archive)
    return 0


@command.command(
    "status",
    help=message("Show the next backup and the result of the last run.\n\nExits with 5 if nothing is scheduled."),
)
@blog_argument
@with_config()
def status(*, out: Output, words: str, config: Path | None) -> int:
    """Show a schedule."""
    from exporter.archive.archive import Archive
    from exporter.check.archive_state import OUTCOMES
    from exporter.cli.target import find_target
    from exporter.schedule.nightly import nightly_of

    archive = _root(out, words, config)
    nightly = nightly_of(archive, [words, *_named({"config": config})])
    known = nightly.known
    last = next(Archive.open(archive).newest_backups(), None) if Archive.exists(archive) else None
    if known is None:
        if nightly.trouble:
            raise UsageError(nightly.trouble)
        if find_target(words, {}, config=config, new=False).settings.base_url is None:
            # Without a known address no command can schedule it.
            raise NoSuchRecord("No nightly backup is scheduled for {archive}.", archive=archive)
        raise NoSuchRecord(
            "No nightly backup is scheduled for {archive}. {advice}", archive=archive, advice=nightly.next_step
        )
    facts: dict[str, Any] = {"scheduler": known.scheduler, "next": known.next, "command": known.command}
    out.document({"archive": str(archive), **facts, "last_run": last})
    if nightly.starts:
        out.answer(nightly.said)
    else:
        out.warn(nightly.trouble)
    if last is None:
        out.answer(message("Last run: none yet"))
    else:
        ended = f"{datetime.fromisoformat(str(last['finished_at'])).astimezone():%Y-%m-%d %H:%M}"
        outcome = OUTCOMES.get(str(last["outcome"]), str(last["outcome"]))
        out.answer("Last run: {time}, {outcome}", time=ended, outcome=outcome)
    out.say("It starts: {command}", command=known.command, level=1)
    return 0


def _named(options: Mapping[str, object]) -> list[str]:
    """Return the arguments of a command line that give these options."""
    return [word for name, value in options.items() if value is not None for word in (option_name(name), str(value))]


def _root(out: Output, words: str, config: Path | None) -> Path:
    """Return an archive's folder. It may no longer exist if its backup is still scheduled."""
    from exporter.schedule import schedulers

    settings_of(out, config)
    folder = _absolute(Path(words))
    if words not in read_config(config).blogs and schedulers.find(folder) is not None:
        return folder
    return _absolute(archive_named(words, config))


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 - links are not resolved


def _texts(kind: str, plan: NightPlan) -> dict[str, str]:
    from exporter.schedule import formats

    if kind == "cron":
        return {"crontab": formats.cron_lines(plan)}
    if kind == "systemd":
        service, timer = formats.systemd_service(plan), formats.systemd_timer(plan)
        return {f"{plan.name}.service": service, f"{plan.name}.timer": timer}
    if kind == "launchd":
        from exporter.schedule.launchd import log_path

        return {f"{plan.name}.plist": formats.launchd_plist(plan, str(log_path(plan.name)))}
    return {f"{plan.name}.xml": formats.windows_task(plan)}


def _plan(out: Output, words: str, config: Path | None, at: str | None, given: Mapping[str, str | None]) -> NightPlan:
    """Plan the backups of the named blog."""
    from exporter.archive.archive import Archive
    from exporter.cli.target import find_target
    from exporter.http.address_guard import check_base_url
    from exporter.schedule.plan import is_temporary, plan_for

    target = find_target(words, given, config=config, warn=out.warn)
    root = _absolute(target.root)
    if target.settings.base_url is None:
        unknown = message("A schedule needs the address of the service: give --base-url or --profile.")
        raise UsageError(target.notice or unknown)
    check_base_url(target.settings.base_url)
    if Archive.exists(root):
        arguments = [str(root)]
    else:
        arguments = [words] if target.table is not None else [target.blog_id, "--archive", str(root)]
    options = {**given, "config": config or os.environ.get(CONFIG_VARIABLE) or None}
    paths = {name: _absolute(Path(options[name] or "")) for name in ("token_file", "config") if options[name]}
    arguments += _named({**options, **paths})
    if _TOKEN in os.environ and target.settings.token_file is None:
        out.warn(
            "schedulers do not know {variable}: put the token into a file that only you can read, and give it with "
            "--token-file.",
            variable=_TOKEN,
        )
    if is_temporary():
        text = message("the program runs from a cache that may be emptied: install it with pipx, uv tool or pip first.")
        out.warn(text)
    return plan_for(root, target.blog_id, arguments, at=at)
