"""The options of ``export``, and the export that they ask for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

import click

from exporter import settings
from exporter.archive.archive import Archive, read_consistently
from exporter.archive.state import State
from exporter.cli.answers import HINT, OnStored, check_answers, declared_flags, flag_answers, stored_printer
from exporter.cli.language import adopt
from exporter.cli.output import Output, shown
from exporter.cli.signals import ended_by_sigterm
from exporter.errors import UsageError
from exporter.export.formats import FORMATS, NAMED, Format
from exporter.export.interface import Comments, ExportOptions, Preset
from exporter.export.posts import flag_lines
from exporter.export.targets import TARGETS
from exporter.html.links import AddressPattern, absolute
from exporter.library.export import Exported, check_form, export_blog
from exporter.message import both, message
from exporter.model.publication import Declared
from exporter.service.interface import Records
from exporter.service.registry import service_of
from exporter.settings import Settings
from exporter.translation import translated

_LANGUAGE: Final = re.compile(r"[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8})*")
_OF_BOOKS: Final = ("title", "language", "by_year", "vertical", "no_comments")


def _day(_context: click.Context, _parameter: click.Parameter, text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(message("{text!r} is not a day such as 2016-03-19", text=text)) from None


def _bytes(_context: click.Context, _parameter: click.Parameter, text: str | None) -> int | None:
    try:
        return None if text is None else settings.size(text)
    except ValueError as error:
        raise click.BadParameter(message("{text!r}: {reason}", text=text, reason=error)) from None


def _language(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str | None:
    if text is not None and not _LANGUAGE.fullmatch(text):
        raise click.BadParameter(message("{text!r} is not a language such as ja or en-GB", text=text))
    return text


def choice_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what of a blog goes, wherever it goes."""
    for option in reversed(
        [
            click.option(
                "--at", metavar="N|DATE", help=message("As of version N, or of a date. [default: the newest]")
            ),
            click.option("--since", metavar="DAY", callback=_day, help=message("Only entries of this day or later.")),
            click.option("--until", metavar="DAY", callback=_day, help=message("Only entries of this day or earlier.")),
            click.option("--category", metavar="NAME", help=message("Only entries of this category.")),
            click.option(
                "--only",
                type=click.Choice(["public", "private", "all"]),
                default="public",
                show_default=True,
                help=message("What is not public is kept apart from what is: an export puts it into OUT.NOT-PUBLIC."),
            ),
            click.option(
                "--public-only",
                is_flag=True,
                help=message("Only what is public, whatever else is said; refuses --only all."),
            ),
            click.option(
                "--public-open-flg", metavar="VALUE", help=message("Values of open_flg that mean published: 1 or 1,3.")
            ),
            click.option(
                "--period-flg-public", is_flag=True, help=message("Entries with period_flg t are as public as others.")
            ),
            click.option(
                "--visible-delete-flg",
                metavar="VALUE",
                help=message("Values of delete_flg that mean shown: f, t, f,t."),
            ),
            click.option("--all-as-draft", is_flag=True, help=message("Make drafts of all but private entries.")),
            click.option(
                "--hidden-comments",
                is_flag=True,
                help=message("Also write hidden comments, unapproved, where possible."),
            ),
            click.option(
                "--old-url",
                "old_urls",
                multiple=True,
                metavar="PATTERN",
                help=message("Addresses of the old blog's entries, such as https://OLD/Entry/{{entry_id}}/."),
            ),
        ]
    ):
        command = option(command)
    return command


def export_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what goes into an export, and how."""
    for option in reversed(
        [
            click.option(
                "--body",
                type=click.Choice(["markdown", "html"]),
                default="markdown",
                show_default=True,
                help=message("Form of the bodies in folders of Markdown."),
            ),
            click.option(
                "--wordpress-body",
                type=click.Choice(["html", "blocks", "plain"]),
                help=message(
                    "Bodies for WordPress: HTML that it shows as it was, blocks to edit, or as the blog had them. "
                    "[default: html; plain for other targets]"
                ),
            ),
            click.option(
                "--media-base-url", metavar="URL", default="", help=message("Where the pictures will be found.")
            ),
            click.option("--media-folder", is_flag=True, help=message("Write the pictures into OUT/media.")),
            click.option(
                "--preset",
                type=click.Choice([str(each) for each in Preset]),
                help=message("For what a folder of Markdown is. [default: plain]"),
            ),
            click.option("--max-entries", type=click.IntRange(1), metavar="N", help=message("Most entries in a file.")),
            click.option("--max-bytes", metavar="SIZE", callback=_bytes, help=message("Largest file, such as 90MB.")),
            click.option(
                "--target",
                "limits_of",
                metavar="NAME",
                type=click.Choice(sorted(TARGETS)),
                help=message("Keep to its limits."),
            ),
            click.option(
                "--new-url", metavar="PATTERN", help=message("Addresses of the new ones, such as https://NEW/{{slug}}.")
            ),
            click.option("--title", metavar="TEXT", help=message("Title of a book. [default: the blog's id]")),
            click.option(
                "--language", metavar="TAG", callback=_language, help=message("Language of a book. [default: ja]")
            ),
            click.option("--by-year", is_flag=True, help=message("A book for each year.")),
            click.option("--vertical", is_flag=True, help=message("Let the lines of a book run from top to bottom.")),
            click.option(
                "--no-comments", is_flag=True, help=message("Make a book without the comments: --comments none.")
            ),
            click.option(
                "--comments",
                type=click.Choice([str(each) for each in Comments]),
                help=message(
                    "Comments below bodies, in files beside them (JSON and for Disqus), or left out; for formats that "
                    "readers see. [default: none in feeds, body elsewhere]"
                ),
            ),
            click.option("--force", is_flag=True, help=message("Replace an earlier export.")),
            click.option("--dry-run", is_flag=True, help=message("Write nothing; print the report.")),
        ]
    ):
        command = option(command)
    return choice_options(command)


@dataclass(frozen=True, slots=True)
class Job:
    """What was asked for: a format, an archive, a new folder, and the options of the command line by their names."""

    form: str
    archive: Path
    target: Path
    given: Mapping[str, Any]


def _fits(form: Format, option: str) -> bool:
    return form.book or (option == "title" and form.titled)


def check_options(form: str, given: Mapping[str, Any]) -> None:
    """Refuse options that contradict each other, or that ask for what the format cannot do.

    Raises:
        UsageError: names the option.
    """
    unfit = next((name for name in _OF_BOOKS if given[name] and not _fits(NAMED[form], name)), None)
    if unfit is not None:
        known = ", ".join(name for name, each in FORMATS.items() if _fits(each, unfit))
        raise UsageError(
            message(
                "{option} is for books ({known}), not for {form}; leave it out.",
                option=f"--{unfit.replace('_', '-')}",
                known=known,
                form=form,
            )
        )
    if given["preset"] is not None and form != "markdown":
        raise UsageError(message("--preset is for markdown, not for {form}; leave it out.", form=form))
    if given["preset"] == Preset.OBSIDIAN and given["body"] == "html":
        raise UsageError(message("--preset obsidian is for bodies in Markdown; leave out --body html."))
    if given["comments"] is not None and NAMED[form].shows is None:
        known = ", ".join(name for name, each in FORMATS.items() if each.shows is not None)
        raise UsageError(
            message(
                "--comments is for formats that readers see ({known}), not for {form}; leave it out.",
                known=known,
                form=form,
            )
        )
    if given["no_comments"] and given["comments"] not in {None, Comments.NONE}:
        raise UsageError(
            message(
                "--no-comments and --comments {value} contradict each other; leave one out.", value=given["comments"]
            )
        )
    chosen = {name: given[name] for name in ("at", "since", "until", "category")}
    check_form(form, only=given["only"], all_as_draft=given["all_as_draft"], chosen=chosen)
    check_choice(given)
    _check_target(form, given["limits_of"])
    base = given["media_base_url"]
    if base and not base.startswith("/") and absolute(base, "") is None:
        raise UsageError(
            message(
                "--media-base-url {base!r} must be an address such as https://NEW/media/, or a path: /media/.",
                base=base,
            )
        )


def check_choice(given: Mapping[str, Any]) -> None:
    """Refuse options that choose nothing at all, or two things at once.

    Raises:
        UsageError: names them.
    """
    if given["public_only"] and (given["only"] != "public" or given["all_as_draft"]):
        raise UsageError(
            message("--public-only goes with neither --only private, --only all nor --all-as-draft; say which.")
        )
    since, until = given["since"], given["until"]
    if since is not None and until is not None and since > until:
        raise UsageError(
            message("No day is both in --since {since} and in --until {until}; swap them.", since=since, until=until)
        )


def _check_target(form: str, name: str | None) -> None:
    if name is None or not NAMED[form].splits:
        return
    if form in TARGETS:
        raise UsageError(message("{form} is a target itself; leave out --target {name}.", form=form, name=name))
    if form not in TARGETS[name].forms:
        raise UsageError(
            message(
                "{title} takes {takes}, not {form}: export {name} DIR OUT.",
                title=TARGETS[name].title,
                takes=both(TARGETS[name].forms),
                form=form,
                name=name,
            )
        )


def unused_options(form: str, given: Mapping[str, Any]) -> list[str]:
    """Return which of the options given mean nothing to a format."""
    known = NAMED[form]
    used = {
        "public_open_flg": not known.whole,
        "period_flg_public": not known.whole,
        "visible_delete_flg": not known.whole,
        "hidden_comments": known.holds_back,
        "body": known.bodies,
        "wordpress_body": known.wordpress,
        "media_folder": known.media,
        "media_base_url": known.media,
        "max_entries": known.splits,
        "max_bytes": known.splits,
        "target": known.splits or given["new_url"] is not None,
    }
    values = {**given, "target": given["limits_of"], "body": given["body"] == "html"}
    return [f"--{name.replace('_', '-')}" for name, means in used.items() if values[name] and not means]


def run(job: Job, out: Output, *, dry_run: bool, on_stored: OnStored | None = None) -> tuple[list[Exported], Declared]:
    """Make every folder that was asked for; returns them, and what was declared of the flags.

    Args:
        job: what was asked for.
        out: how the command talks.
        dry_run: whether only the reports are wanted.
        on_stored: called with the stored answers that are used; by default ``out`` says it.

    Raises:
        UsageError: the options cannot be right, or nothing says yet what is public; the table was shown then.
    """
    check_options(job.form, job.given)
    info = Archive.open(job.archive).info
    blog_id = info.blog_id
    found = resolved(job.given, blog_id, out)
    drafts = job.given["all_as_draft"]
    whole = NAMED[job.form].whole
    on_stored = on_stored or stored_printer(out, blog_id)
    declared = Declared() if whole else declared_flags(found, blog_id, on_stored, all_as_draft=drafts)
    options = read_options(job.given, found, declared, service_of(found, info.service))
    at = job.given["at"]
    version = None
    if at is not None:
        version = read_consistently(job.archive, lambda archive: archive.version_at(at, found.timezone))

    def check(state: State) -> None:
        if not whole:
            if declared.public_access is None and not declared.all_as_draft:
                stop_undeclared(state, options.service, out, drafts=NAMED[job.form].drafts)
            check_answers(declared, job.given, state, options.service, out.warn)

    with ended_by_sigterm("nothing was written"):
        exported = export_blog(
            job.archive,
            job.form,
            job.target,
            options,
            at=version,
            only=job.given["only"],
            force=job.given["force"],
            dry_run=dry_run,
            check=check,
        )
    return exported, declared


def resolved(given: Mapping[str, Any], blog_id: str, out: Output) -> Settings:
    """Return the settings of an export."""
    options = {"timezone": given["timezone"], **flag_answers(given)}
    return adopt(settings.resolve(options, config=given["config"], blog_id=blog_id, warn=out.warn))


def read_options(given: Mapping[str, Any], found: Settings, declared: Declared, service: Records) -> ExportOptions:
    """Return what the options of the command line say of an export."""
    target = TARGETS.get(given["limits_of"] or "")
    base = given["media_base_url"]
    new_url = given["new_url"]
    options = ExportOptions(
        declared=declared,
        since=given["since"],
        until=given["until"],
        category=given["category"],
        hidden_comments=given["hidden_comments"],
        body=given["body"],
        wordpress_body=given["wordpress_body"] or "",
        media_base_url=f"{base.rstrip('/')}/" if base else "",
        media_folder=given["media_folder"],
        max_entries=given["max_entries"] or 0,
        max_bytes=given["max_bytes"] or 0,
        old_urls=old_urls(given, found),
        new_url=None if new_url is None else AddressPattern(new_url, "--new-url", path=True),
        title=given["title"] or "",
        language=given["language"] or "ja",
        by_year=given["by_year"],
        vertical=given["vertical"],
        comments=Comments.NONE if given["no_comments"] else given["comments"] and Comments(given["comments"]),
        preset=Preset(given["preset"] or Preset.PLAIN),
        service=service,
    )
    return options if target is None else options.aimed_at(target)


def old_urls(given: Mapping[str, Any], found: Settings) -> tuple[AddressPattern, ...]:
    """Return how the addresses of the old blog's entries are made, by options or else by a setting."""
    known = [] if found.entry_url is None else [AddressPattern(found.entry_url, "entry_url")]
    return tuple([AddressPattern(text, "--old-url") for text in given["old_urls"]] or known)


def stop_undeclared(state: State, service: Records, out: Output, *, drafts: bool) -> None:
    """Show the values of the flags, and end: nothing says what they mean; ``drafts`` is whether all could be drafts.

    Raises:
        UsageError: always.
    """
    words = map(translated, (message("entries"), message("comments"), message("such as")))
    for line in flag_lines(state, service, *words):
        out.say(shown(line), level=-1)
    out.say(level=-1)
    out.say(HINT, level=-1)
    if drafts:
        text = message(
            "Nothing says yet which entries are public: look at the table above (or inspect DIR), and say so once with "
            "--public-open-flg, or make drafts of all with --all-as-draft."
        )
    else:
        text = message(
            "Nothing says yet which entries are public: look at the table above (or inspect DIR), and say so once with "
            "--public-open-flg."
        )
    raise UsageError(text)
