"""The options of ``export``, and what they ask for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Final

import click

from exporter import settings
from exporter.errors import UsageError
from exporter.export.formats import FORMATS, TARGETS
from exporter.export.interface import ExportOptions
from exporter.export.media import SLUG
from exporter.html.links import AddressPattern, absolute
from exporter.model.kinds import Kind
from exporter.model.publication import Declared
from exporter.service.records_v1 import service_of
from exporter.settings import Settings

if TYPE_CHECKING:
    from exporter.export.interface import RecordSource

_LANGUAGE: Final = re.compile(r"[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8})*")
_BOOKS: Final = {
    "title": "--title",
    "language": "--language",
    "by_year": "--by-year",
    "vertical": "--vertical",
    "no_comments": "--no-comments",
}
_SPLIT: Final = {"wxr", "movabletype", "atom"}
_NO_MEDIA: Final = {"csv", "redirects", "html", "epub", "bagit"}
_CHOICES: Final = {"at": "--at", "since": "--since", "until": "--until", "category": "--category"}


def _day(_context: click.Context, _parameter: click.Parameter, text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is no day such as 2016-03-19") from None


def _bytes(_context: click.Context, _parameter: click.Parameter, text: str | None) -> int | None:
    try:
        return None if text is None else settings.size(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r}: {error}") from None


def _language(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str | None:
    if text is not None and not _LANGUAGE.fullmatch(text):
        raise click.BadParameter(f"{text!r} is no language such as ja or en-GB")
    return text


def export_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what goes into an export."""
    for option in reversed(
        [
            click.option("--at", metavar="N|DATE", help="As of version N, or of a date. [default: the newest]"),
            click.option("--since", metavar="DAY", callback=_day, help="Only entries of this day or later."),
            click.option("--until", metavar="DAY", callback=_day, help="Only entries of this day or earlier."),
            click.option("--category", metavar="NAME", help="Only entries of this category."),
            click.option(
                "--only",
                type=click.Choice(["public", "private", "all"]),
                default="public",
                show_default=True,
                help="What is not public goes into OUT.NOT-PUBLIC, with 'all' and 'private'.",
            ),
            click.option(
                "--public-only", is_flag=True, help="Only what is public, whatever else is said; refuses --only all."
            ),
            click.option(
                "--public-open-flg", metavar="VALUE", help="Values of open_flg that mean published: 1 or 1,3."
            ),
            click.option(
                "--period-flg-public", is_flag=True, help="Entries with period_flg t are as public as others."
            ),
            click.option(
                "--visible-delete-flg", metavar="VALUE", help="Values of delete_flg that mean shown: f, t, f,t."
            ),
            click.option("--all-as-draft", is_flag=True, help="Make drafts of all but private entries."),
            click.option(
                "--hidden-comments", is_flag=True, help="Also write hidden comments, unapproved, where possible."
            ),
            click.option(
                "--body",
                type=click.Choice(["markdown", "html"]),
                default="markdown",
                show_default=True,
                help="Form of the bodies in folders of Markdown.",
            ),
            click.option("--media-base-url", metavar="URL", default="", help="Where the pictures will be found."),
            click.option("--media-folder", is_flag=True, help="Write the pictures into OUT/media."),
            click.option("--max-entries", type=click.IntRange(1), metavar="N", help="Most entries in a file."),
            click.option("--max-bytes", metavar="SIZE", callback=_bytes, help="Largest file, such as 90MB."),
            click.option("--target", "limits_of", type=click.Choice(sorted(TARGETS)), help="Known limits: hatena."),
            click.option(
                "--old-url",
                "old_urls",
                multiple=True,
                metavar="PATTERN",
                help="Addresses of the old blog's entries, such as https://OLD/Entry/{entry_id}/.",
            ),
            click.option("--new-url", metavar="PATTERN", help="Addresses of the new ones, such as https://NEW/{slug}."),
            click.option("--title", metavar="TEXT", help="Title of a book. [default: the blog's id]"),
            click.option("--language", metavar="TAG", callback=_language, help="Language of a book. [default: ja]"),
            click.option("--by-year", is_flag=True, help="A book for each year."),
            click.option("--vertical", is_flag=True, help="Let the lines of a book run from top to bottom."),
            click.option("--no-comments", is_flag=True, help="Make a book without the comments."),
            click.option(
                "--lang", type=click.Choice(["ja", "en"]), help="Language of the questions. [default: your system's]"
            ),
            click.option("--force", is_flag=True, help="Replace an earlier export."),
            click.option("--dry-run", is_flag=True, help="Write nothing; print the report."),
        ]
    ):
        command = option(command)
    return command


def check_form(form: str, given: Mapping[str, Any]) -> None:
    """Refuse what a format cannot do, rather than do something else than was asked for.

    Raises:
        UsageError: an option is for other formats, or a format that holds everything was not asked for as such.
    """
    books = [option for name, option in _BOOKS.items() if given[name]]
    if books and not FORMATS[form].book:
        known = ", ".join(name for name, each in FORMATS.items() if each.book)
        raise UsageError(f"{books[0]} is for books ({known}), not for {form}; leave it away.")
    if given["all_as_draft"] and not FORMATS[form].drafts:
        known = ", ".join(name for name, each in FORMATS.items() if each.drafts)
        raise UsageError(
            f"{form} has no drafts, so --all-as-draft would publish everything; say what is public with "
            f"--public-open-flg, or choose a format with drafts: {known}."
        )
    if FORMATS[form].whole:
        if given["only"] != "all":
            raise UsageError(
                f"{form} takes the whole archive, private entries and earlier versions too, which no public folder may "
                "hold; if that is what you want, say --only all, and it goes to OUT.NOT-PUBLIC."
            )
        choices = [option for name, option in _CHOICES.items() if given[name] is not None]
        if choices:
            raise UsageError(f"{form} takes the whole archive; leave {choices[0]} away.")


def read_options(given: dict[str, Any], settings: Settings, declared: Declared, as_of: datetime) -> ExportOptions:
    """Return what the command line asked for.

    Raises:
        UsageError: a pattern of addresses is none, or options contradict each other.
    """
    _check(given)
    limits = TARGETS.get(given["limits_of"] or "")
    base = given["media_base_url"]
    new_url = given["new_url"]
    known = [settings.entry_url]
    return ExportOptions(
        declared=declared,
        as_of=as_of,
        since=given["since"],
        until=given["until"],
        category=given["category"],
        hidden_comments=given["hidden_comments"],
        body=given["body"],
        media_base_url=f"{base.rstrip('/')}/" if base else "",
        media_folder=given["media_folder"],
        max_entries=given["max_entries"] or (limits.max_entries if limits else 0),
        max_bytes=given["max_bytes"] or (limits.max_bytes if limits else 0),
        old_urls=tuple(AddressPattern(text, "--old-url") for text in given["old_urls"])
        or tuple(AddressPattern(text, "entry_url") for text in filter(None, known)),
        new_url=None if new_url is None else AddressPattern(new_url, "--new-url"),
        title=given["title"] or "",
        language=given["language"] or "ja",
        by_year=given["by_year"],
        vertical=given["vertical"],
        comments=not given["no_comments"],
        service=service_of(settings),
    )


def check_patterns(options: ExportOptions, records: RecordSource) -> None:
    """Refuse patterns with fields that no entry has: they would give no address at all.

    Raises:
        UsageError: names the field, and the nearest right one.
    """
    patterns: list[tuple[AddressPattern, tuple[str, ...]]] = [
        (each, options.service.post_fields) for each in options.old_urls
    ]
    if options.new_url is not None:
        patterns.append((options.new_url, (*options.service.post_fields, SLUG)))
    if any(set(pattern.fields) - set(known) for pattern, known in patterns):
        # The service may send fields that the document does not name.
        sent = {name for _, raw in records.scan(Kind.ENTRIES) for name in raw}
        for pattern, known in patterns:
            pattern.check(dict.fromkeys([*known, *sorted(sent)]))


def unused(form: str, given: Mapping[str, Any]) -> list[str]:
    """Return which of the options given mean nothing to a format."""
    known = FORMATS[form]
    without = {
        "--public-open-flg": not known.whole,
        "--period-flg-public": not known.whole,
        "--visible-delete-flg": not known.whole,
        "--hidden-comments": known.holds_back,
        "--body": known.bodies,
        "--media-folder": form not in _NO_MEDIA,
        "--media-base-url": form not in _NO_MEDIA,
        "--max-entries": form in _SPLIT,
        "--max-bytes": form in _SPLIT,
        "--target": form in _SPLIT,
    }
    values_of = {**given, "target": given["limits_of"], "body": given["body"] == "html"}
    return [option for option, used in without.items() if not used and values_of[option[2:].replace("-", "_")]]


def _check(given: Mapping[str, Any]) -> None:
    if given["public_only"] and (given["only"] != "public" or given["all_as_draft"]):
        raise UsageError("--public-only goes with neither --only private, --only all nor --all-as-draft; say which.")
    since, until = given["since"], given["until"]
    if since is not None and until is not None and since > until:
        raise UsageError(f"No day is both in --since {since} and in --until {until}; swap them.")
    base = given["media_base_url"]
    if base and not base.startswith("/") and absolute(base, "") is None:
        raise UsageError(
            f"--media-base-url {base!r} must be an address such as https://NEW/media/, or a path: /media/."
        )
