"""The options of ``export``, ``move`` and ``compare``, and the export that they describe."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any, Final

import click

from exporter.archive.archive import Archive, read_consistently
from exporter.archive.manifest import ArchiveInfo
from exporter.archive.state import State
from exporter.cli.answers import FlagAnswers, check_answers, declared_flags
from exporter.cli.help import PATH
from exporter.cli.options import given_settings, setting_options, settings_of
from exporter.cli.output import Output
from exporter.cli.signals import ended_by_sigterm
from exporter.cli.undeclared import require_declared_flags
from exporter.errors import UsageError
from exporter.export.formats import FORMATS, NAMED, Format
from exporter.export.interface import Comments, ExportOptions, Paper, Preset, check_days
from exporter.export.targets import TARGETS, Matter
from exporter.html.links import AddressPattern, absolute
from exporter.library.export import Exported, check_form, export_blog
from exporter.message import Message, both, message, message_n
from exporter.model.publication import Declared
from exporter.service.interface import Records
from exporter.service.registry import FLAG_SETTINGS, service_of
from exporter.setting_sources import option_name
from exporter.setting_types import size
from exporter.settings import Settings

_LANGUAGE: Final = re.compile(r"[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8})*")
_OF_SOME_FORMATS: Final = ("title", "language", "by_year", "vertical", "paper", "cover", "preset", "comments")
_NOT_OF_WACZ: Final = {
    "since": None, "until": None, "category": None, "tag": None, "only": "public", "all_as_draft": False,
    "hidden_comments": False, "without_addresses": False, "body": "markdown", "wordpress_body": None,
    "media_base_url": "", "media_folder": False,
    "preset": None, "max_entries": None, "max_bytes": None, "limits_of": None, "new_url": None, "language": None,
    "by_year": False, "vertical": False, "paper": None, "cover": None, "comments": None,
}  # fmt: skip
"""Options without an effect on WACZ files, and their defaults."""
_FLAG: Final[dict[str, Any]] = {"is_flag": True}

Command = Callable[..., Any]


def _day(_context: click.Context, _parameter: click.Parameter, text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(message("{text!r} is not a day such as 2016-03-19", text=text)) from None


def _bytes(_context: click.Context, _parameter: click.Parameter, text: str | None) -> int | None:
    try:
        return None if text is None else size(text)
    except ValueError as error:
        raise click.BadParameter(message("{text!r}: {reason}", text=text, reason=error)) from None


def _language(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str | None:
    if text is not None and not _LANGUAGE.fullmatch(text):
        raise click.BadParameter(message("{text!r} is not a language such as ja or en-GB", text=text))
    return text


def _all(options: dict[str, dict[str, Any]], command: Command) -> Command:
    for declared, how in reversed(options.items()):
        command = click.option(*declared.split(), **how)(command)
    return command


_CHOICE: Final[dict[str, dict[str, Any]]] = {
    "--at": {"metavar": "N|DATE", "help": message("As of version N, or of a date. [default: the newest]")},
    "--since": {"metavar": "DAY", "callback": _day, "help": message("Only entries of this day or later.")},
    "--until": {"metavar": "DAY", "callback": _day, "help": message("Only entries of this day or earlier.")},
    "--category": {"metavar": "NAME", "help": message("Only entries of this category.")},
    "--tag": {"metavar": "NAME", "help": message("Only entries with this tag.")},
    "--only": {
        "type": click.Choice(["public", "private", "all"]), "default": "public", "show_default": True,
        "help": message("Which entries; an export puts others into OUT.NOT-PUBLIC."),
    },
    "--all-as-draft": {**_FLAG, "help": message("Make drafts of all but private entries.")},
    "--hidden-comments": {**_FLAG, "help": message("Also write hidden comments, unapproved, where possible.")},
    "--old-url old_urls": {
        "multiple": True, "metavar": "PATTERN",
        "help": message("Address pattern of the old entries, with fields in braces."),
    },
}  # fmt: skip
"""Options that select records from the blog, shared by all new homes."""

_ADDRESSES: Final[dict[str, dict[str, Any]]] = {
    "--without-addresses": {**_FLAG, "help": message("Leave out the mail addresses of commenters.")},
}
_EXPORT: Final[dict[str, dict[str, Any]]] = {
    **_ADDRESSES,
    "--body": {
        "type": click.Choice(["markdown", "html"]), "default": "markdown", "show_default": True,
        "help": message("Form of the bodies in folders of Markdown."),
    },
    "--wordpress-body": {
        "type": click.Choice(["html", "blocks", "plain"]),
        "help": message("Form of the bodies for WordPress. [default: html]"),
    },
    "--media-base-url": {"metavar": "URL", "default": "", "help": message("Future address of the pictures.")},
    "--media-folder": {**_FLAG, "help": message("Write the pictures into OUT/media.")},
    "--preset": {
        "type": click.Choice([str(each) for each in Preset]),
        "help": message("Target of the Markdown export. [default: plain]"),
    },
    "--max-entries": {"type": click.IntRange(1), "metavar": "N", "help": message("Most entries in a file.")},
    "--max-bytes": {"metavar": "SIZE", "callback": _bytes, "help": message("Largest file, such as 90MB.")},
    "--target limits_of": {
        "metavar": "NAME", "type": click.Choice(sorted(TARGETS)), "help": message("Respect the limits of this target."),
    },
    "--new-url": {"metavar": "PATTERN", "help": message("Entry addresses of the new blog: https://NEW/{{slug}}.")},
    "--title": {"metavar": "TEXT", "help": message("Title of a book. [default: the blog's title]")},
    "--language": {"metavar": "TAG", "callback": _language, "help": message("Language of a book. [default: ja]")},
    "--by-year": {**_FLAG, "help": message("A book for each year.")},
    "--vertical": {**_FLAG, "help": message("Write the lines of a book from top to bottom.")},
    "--paper": {
        "type": click.Choice([str(each) for each in Paper]),
        "help": message("Page size of a printed book. [default: a5]"),
    },
    "--cover": {"metavar": "URL|ID", "help": message("Picture on a book's cover: its address, or an entry's id.")},
    "--comments": {
        "type": click.Choice([str(each) for each in Comments]),
        "help": message("Place of the comments. [default: none in feeds, else body]"),
    },
    "--force": {**_FLAG, "help": message("Replace an earlier export.")},
    "--dry-run": {**_FLAG, "help": message("Write nothing; print the report.")},
}  # fmt: skip
"""The options that say how an export is written."""

_WACZ: Final[dict[str, dict[str, Any]]] = {
    "--rendered": {**_FLAG, "help": message("In a WACZ file, make pages of entries that were not captured.")},
    "--sign": {"metavar": "KEY", "type": PATH, "help": message("Sign a WACZ file with the private key in file KEY.")},
}
"""The options of WACZ files."""


def choice_options(command: Command) -> Command:
    """Add the options that select records from the blog, shared by all new homes."""
    return setting_options(*FLAG_SETTINGS)(_all(_CHOICE, command))


def address_options(command: Command) -> Command:
    """Add the option about the mail addresses of commenters."""
    return _all(_ADDRESSES, command)


def wacz_options(command: Command) -> Command:
    """Add the options of WACZ files."""
    return _all(_WACZ, command)


def export_options(command: Command) -> Command:
    """Add the options of an export."""
    return choice_options(_all(_EXPORT, command))


@dataclass(frozen=True, slots=True)
class ExportJob:
    """An export: a format, an archive, a new folder, and the options of the command line by their names."""

    form: str
    archive: Path
    target: Path
    given: Mapping[str, Any]


def _supports(form: Format, option: str) -> bool:
    if option == "comments":
        return form.shows is not None
    if option == "preset":
        return form is NAMED["markdown"]
    if option == "paper":
        return form.printed
    return form.book or (option == "title" and form.titled)


def check_options(form: str, given: Mapping[str, Any]) -> None:
    """Refuse options that contradict each other, or that the format does not support.

    Raises:
        UsageError: names the option.
    """
    for option in _OF_SOME_FORMATS:
        if given[option] and not _supports(NAMED[form], option):
            known = ", ".join(name for name, each in FORMATS.items() if _supports(each, option))
            named = {"option": option_name(option), "known": known, "form": form}
            raise UsageError("{option} is for {known}, not for {form}; leave it out.", **named)
    if given["preset"] == Preset.OBSIDIAN and given["body"] == "html":
        raise UsageError(message("--preset obsidian is for bodies in Markdown; leave out --body html."))
    chosen = {name: given[name] for name in ("at", "since", "until", "category", "tag")}
    chosen["without-addresses"] = given["without_addresses"] or None
    check_form(form, only=given["only"], all_as_draft=given["all_as_draft"], chosen=chosen)
    check_days(given["since"], given["until"])
    _check_target(form, given["limits_of"])
    base = given["media_base_url"]
    if base and not base.startswith("/") and absolute(base, "") is None:
        raise UsageError(
            "--media-base-url {base!r} must be an address such as https://NEW/media/, or a path: /media/.", base=base
        )


def check_wacz_options(given: Mapping[str, Any]) -> None:
    """Refuse options that a WACZ file cannot honour.

    Raises:
        UsageError: names the option.
    """
    for name, default in _NOT_OF_WACZ.items():
        if given[name] != default:
            raise UsageError(
                "{option} has no effect on wacz, which packs whole captures; leave it out.", option=option_name(name)
            )


def check_no_wacz_options(form: str, given: Mapping[str, Any]) -> None:
    """Refuse the options of WACZ files for another format.

    Raises:
        UsageError: names the option.
    """
    for option in ("rendered", "sign"):
        if given[option]:
            raise UsageError(
                "{option} is for wacz, not for {form}; leave it out.", option=option_name(option), form=form
            )


def _check_target(form: str, name: str | None) -> None:
    if name is None or not NAMED[form].splits:
        return
    if form in TARGETS:
        raise UsageError("{form} is a target itself; leave out --target {name}.", form=form, name=name)
    target = TARGETS[name]
    if form not in target.forms:
        parts = {"title": target.title, "takes": both(target.forms), "form": form, "name": name}
        raise UsageError("{title} takes {takes}, not {form}: export {name} DIR OUT.", **parts)


def unused_options(form: str, given: Mapping[str, Any]) -> list[str]:
    """Return the given options that have no effect on a format."""
    known = NAMED[form]
    used = {
        **dict.fromkeys(FLAG_SETTINGS, not known.whole),
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
    return [option_name(name) for name, means in used.items() if values[name] and not means]


@dataclass(frozen=True, slots=True)
class Choice:
    """The exported part and its form.

    Attributes:
        options: for the export.
        version: the version to read, ``None`` for the newest.
        check: to be called with the state that is read; it raises a :class:`~exporter.errors.UsageError` if nothing
            says which entries are public, or a declared value does not occur.
    """

    options: ExportOptions
    version: int | None
    check: Callable[[State], None]


def chosen(
    out: Output, archive: Path, info: ArchiveInfo, found: Settings, given: Mapping[str, Any], form: Format | None = None
) -> Choice:
    """Return the part of the blog that the options choose.

    Args:
        out: prints the kept answers in use, and warnings.
        archive: the archive's folder.
        info: its ``archive.json``.
        found: the settings for its blog.
        given: the options of the command line by their names.
        form: the format of an export.
    """
    service = service_of(found, info.service)
    answers = FlagAnswers(Declared(), Declared())
    whole = form is not None and form.whole
    if not whole:
        drafts_only = given["all_as_draft"]
        answers = declared_flags(service, found, archive, info.blog_id, out, all_as_draft=drafts_only)
    at, version = given["at"], None
    if at is not None:
        version = read_consistently(archive, lambda reader: reader.version_at(at, found.timezone))

    def check(state: State) -> None:
        if whole:
            return
        check_answers(answers, given, state, service, out.warn)
        require_declared_flags(answers, state, service, given, out, form)

    return Choice(read_options(given, found, answers.declared, service), version, check)


def run_export(job: ExportJob, out: Output, *, dry_run: bool) -> tuple[list[Exported], ExportOptions]:
    """Write every folder of an export; return them, and the options with the declared meaning of the flags.

    Args:
        job: the export.
        out: prints the kept answers in use, and warnings.
        dry_run: whether to make only the reports.

    Raises:
        UsageError: the options are invalid, or nothing says which entries are public; a table was printed then.
    """
    given = job.given
    check_options(job.form, given)
    info = Archive.open(job.archive).info
    found = resolved(given, info.blog_id, out)
    choice = chosen(out, job.archive, info, found, given, NAMED[job.form])
    with ended_by_sigterm(message("nothing was written")):
        exported = export_blog(
            job.archive, job.form, job.target, choice.options,
            at=choice.version, only=given["only"], force=given["force"], dry_run=dry_run, check=choice.check,
            tell_mails=lambda number: out.warn(mails_words(number)),
        )  # fmt: skip
    return exported, choice.options


def mails_words(number: int) -> Message:
    """Return the sentence about the mail addresses of commenters that a format holds."""
    return message_n(
        "With the mail address of {n:,} commenter, for the new home alone. --without-addresses leaves it out.",
        "With the mail addresses of {n:,} comments' writers, for the new home alone. --without-addresses leaves them "
        "out.",
        number,
    )


def print_doubt(out: Output, form: str) -> None:
    """Print a doubt if the format is a target and no reliable source confirms that it accepts the files."""
    target = NAMED[form].target
    if target is None or target.keeps(Matter.FORMAT):
        return
    out.say(
        "It is not confirmed that {title} takes {form} files: first try a file with a few entries, such as with "
        "--since DAY.",
        title=target.title,
        form=target.form,
    )
    for fact in target.facts:
        if fact.matter is Matter.FORMAT:
            out.say("Other sources say: {text}; {source}", text=fact.says, source=fact.source)


def resolved(given: Mapping[str, Any], blog_id: str, out: Output) -> Settings:
    """Return the settings of an export."""
    return settings_of(out, given["config"], given_settings(given), blog_id)


def read_options(given: Mapping[str, Any], found: Settings, declared: Declared, service: Records) -> ExportOptions:
    """Return the options of the command line for an export; a command may offer only a part of them."""
    target = TARGETS.get(given.get("limits_of") or "")
    names = {each.name for each in fields(ExportOptions)}
    chosen = {name: value for name, value in given.items() if name in names and value is not None}
    chosen |= {"declared": declared, "service": service, "old_urls": old_urls(given, found)}
    if chosen.get("media_base_url"):
        chosen["media_base_url"] = f"{chosen['media_base_url'].rstrip('/')}/"
    if "new_url" in chosen:
        chosen["new_url"] = AddressPattern(chosen["new_url"], "--new-url", path=True)
    for name, kind in (("comments", Comments), ("preset", Preset), ("paper", Paper)):
        if name in chosen:
            chosen[name] = kind(chosen[name])
    options = ExportOptions(**chosen)
    return options if target is None else options.aimed_at(target)


def old_urls(given: Mapping[str, Any], found: Settings) -> tuple[AddressPattern, ...]:
    """Return the patterns for old entry addresses, from the options or else the setting."""
    known = [] if found.entry_url is None else [AddressPattern(found.entry_url, "entry_url")]
    return tuple([AddressPattern(text, "--old-url") for text in given["old_urls"]] or known)
