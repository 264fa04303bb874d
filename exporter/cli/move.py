"""``move``: a blog into its new home, by the API of that home."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from exporter.archive.archive import Archive
from exporter.cli.answers import keep_answers
from exporter.cli.blog_names import completed_address
from exporter.cli.export_options import address_options, choice_options, chosen, mails_words
from exporter.cli.help import PATH, OrderedCommand, cli_command
from exporter.cli.options import archive_argument, given_settings, settings_of, with_config
from exporter.cli.output import Output, counted, sentence, shown
from exporter.errors import BlogExporterError, Incomplete, Interrupted, PrivateExposed, ServiceError
from exporter.export.interface import ExportOptions, check_days
from exporter.message import listed, message, message_n
from exporter.settings import Settings
from exporter.text import left, printable, right
from exporter.translation import translated, translated_by_text

if TYPE_CHECKING:
    from exporter.cli.progress_bar import ProgressBar
    from exporter.cli.signals import Signals
    from exporter.http.retry import RetryEvent
    from exporter.library.move import Moved, NewHome
    from exporter.move.outcome import MoveEvent, Thing

_NAMED_RECORDS = 5
WORDS = {
    "made": message("made"),
    "changed": message("changed"),
    "there": message("there before"),
    "left_alone": message("left alone"),
    "refused": message("refused"),
}
_HOMES: Final = ("wordpress",)
_EPILOG = message(
    """\b
Examples:
  blog-exporter move wordpress DIR --to https://new.example --new-home-user me --public-open-flg 1 --dry-run
  blog-exporter move wordpress DIR --to https://new.example --new-home-user me --all-as-draft
The application password is read from BLOG_EXPORTER_NEW_HOME_TOKEN or --new-home-token-file, never from an option.
"""
)


class _Command(OrderedCommand):
    def swapped(self, values: Mapping[str, Any]) -> tuple[str, str] | None:
        kind, archive = str(values.get("kind")), str(values.get("archive"))
        return (kind, archive) if archive in _HOMES and kind not in _HOMES else None


@cli_command(
    "move",
    cls=_Command,
    epilog=_EPILOG,
    help=message(
        """Move the blog in the archive in DIR into the WordPress at URL: posts, pages, comments, categories,
        tags and pictures.

        Run it again after an interruption: nothing is moved twice. It leaves alone everything that somebody
        changed or deleted there."""
    ),
)
@click.argument("kind", metavar="HOME", type=click.Choice(_HOMES))
@archive_argument
@click.option(
    "--to", "home", metavar="URL", required=True, help=message("Address of the new home, as in your browser.")
)
@click.option(
    "--map", "map_file", type=PATH, metavar="FILE", help=message("File of old and new records. [default: next to DIR]")
)
@click.option(
    "--compare/--no-compare", default=True, help=message("Read everything back at the end. [default: compare]")
)
@click.option("--dry-run", is_flag=True, help=message("Change nothing there; print the plan."))
@click.option(
    "--wordpress-body",
    type=click.Choice(["html", "blocks"]),
    default="html",
    show_default=True,
    help=message("Bodies as unchanged HTML, or as blocks to edit."),
)
@address_options
@choice_options
@with_config("new_home_user", "new_home_token_file", "new_home_token_for", "allow_plain_http", "allow_private_network")
def move_command(
    *, out: Output, kind: str, archive: Path, home: str, map_file: Path | None, dry_run: bool, compare: bool,
    config: Path | None, **given: Any,
) -> int:  # fmt: skip
    """Run ``move``."""
    import asyncio

    from exporter.cli.signals import catch_signals
    from exporter.library.move import NewHome, Watching, map_path, move_blog

    check_days(given["since"], given["until"])
    home = completed_address(home)
    info = Archive.open(archive).info
    settings = settings_of(out, config, given_settings(given), info.blog_id)
    choice = chosen(out, archive, info, settings, given)
    place = NewHome(home, map_file or map_path(archive, home))
    progress, compared = _Progress(out, sends=not dry_run), None
    failure: ServiceError | None = None
    with progress.reported(), catch_signals(progress.kept) as signals:
        how: dict[str, Any] = {"at": choice.version, "only": given["only"]}

        def run(work: Coroutine[Any, Any, list[Moved]]) -> list[Moved]:
            return asyncio.run(signals.cancelling(work))

        watching = Watching(
            progress.handle, out.warn, progress.retrying, run, lambda number: out.warn(mails_words(number))
        )
        with contextlib.closing(progress):
            moved = move_blog(
                archive, place, settings, choice.options, watching=watching, dry_run=dry_run, check=choice.check, **how
            )
        progress.ended = True
        for each in moved:
            _print(out, each)
        whole = all(each.outcome.whole for each in moved)
        if dry_run:
            out.answer("Nothing was changed in {home}.", home=printable(home))
        else:
            keep_answers(given, archive, choice.options.service, out, version=choice.version)
            if compare:
                try:
                    compared, same = _compare(out, archive, place, settings, choice.options, signals, **how)
                except ServiceError as error:
                    failure, same = error, False
                whole = whole and same
            out.answer("{path} lists the old and the new records of {home}.", home=printable(home), path=place.map_file)
    out.document(
        {
            "archive": str(archive.resolve()),
            "home": {"kind": kind, "url": home},
            "map": str(place.map_file),
            "dry_run": dry_run,
            "whole": whole,
            "compare": compared,
            "sides": [each.document() for each in moved],
        }
    )
    exposed = sum(len(each.outcome.exposed) for each in moved)
    if exposed:
        text = message_n(
            "{home} shows everybody {n:,} private thing; the line above names it. Hide or delete it now.",
            "{home} shows everybody {n:,} private things; the lines above name them. Hide or delete them now.",
            exposed,
            home=printable(home),
        )
        raise PrivateExposed(text)
    if failure is not None:
        raise failure
    if not whole:
        raise Incomplete(
            "{home}: something is missing or different; the lines above give the reasons.", home=printable(home)
        )
    return 0


def _compare(
    out: Output, archive: Path, place: NewHome, settings: Settings, options: ExportOptions, signals: Signals, **how: Any
) -> tuple[dict[str, Any], bool]:
    """Compare the new home with the archive; return the document for ``--json``, and whether nothing differs."""
    from exporter.cli.compare import compared_with
    from exporter.compare.posts import Aspect, Scope
    from exporter.compare.report import document, lines
    from exporter.library.compare import expected_posts

    home = place.url
    expected = expected_posts(archive, options, home=home, map_file=place.map_file, **how)
    scope = Scope(frozenset(Aspect), old_hosts=expected.old_hosts)
    kind, comparison = compared_with(home, settings, expected, scope, signals)
    for line in lines(comparison):
        out.say(shown(line))
    return document(comparison, home={"kind": kind, "place": home}), comparison.whole


def _print(out: Output, moved: Moved) -> None:
    """Print what happened to the archive's records, and what changed in the new home."""
    from exporter.move.outcome import Did, Thing

    for line in moved.report.lines(translated):
        out.say(shown(line))
    outcome = moved.outcome
    heading = left(translated(message("new home")), 12)
    out.say(heading + "".join(right(translated(WORDS[did]), 13) for did in Did))
    for thing, counts in outcome.counts.items():
        if thing is Thing.TAG and not counts.total():
            continue
        out.say(left(translated_by_text(thing), 12) + "".join(f"{counts[did]:>13,}" for did in Did))
    for (thing, did, why), keys in outcome.named.items():
        what, some = counted(len(keys), thing.noun), shown(_some(outcome.public_keys(thing, keys)))
        reason = shown(translated(why))
        out.say("{did}: {things}: {reason}{some}", did=WORDS[did], things=what, reason=reason, some=some)
    for thing, missing in outcome.missing.items():
        out.warn(
            "{things} not found at the last check, but should exist{some}",
            things=counted(len(missing), thing.noun),
            some=shown(_some(outcome.public_keys(thing, missing))),
        )
    for found in outcome.exposed:
        out.warn(
            "Everybody can see a private {noun}, number {number}, in {place}.",
            noun=found.thing.noun,
            number=found.key,
            place=shown(found.place),
        )
    if outcome.unseen:
        out.warn(
            "The new home could not be searched whole for private content that visitors can see: {reason} When "
            "visitors can open it, run the same command again.",
            reason=shown(translated(outcome.unseen)),
        )
    if outcome.links:
        out.say(
            "Public posts link to {links:,} addresses on {hosts:,} hosts. Links are written so that WordPress "
            "notifies none of them (no pingbacks).",
            links=outcome.links.total(),
            hosts=len(outcome.links),
        )
    for key, numbers in outcome.twice.items():
        others = ", ".join(map(str, numbers[:_NAMED_RECORDS]))
        out.warn(
            "{key} exists more than once: also as number {numbers}. Delete the copies that you do not want.",
            key=shown(key),
            numbers=others,
        )


def _some(keys: list[str]) -> str:
    return f" ({', '.join(keys[:_NAMED_RECORDS])}{', …' if len(keys) > _NAMED_RECORDS else ''})" if keys else ""


class _Progress:
    """A bar for each stage on a terminal, otherwise counts every ten seconds; and the record of sent things.

    Attributes:
        out: shows it.
        ended: whether everything was sent.
    """

    def __init__(self, out: Output, *, sends: bool) -> None:
        self.out = out
        self.ended = False
        self._shown = contextlib.ExitStack()
        self._bar: ProgressBar | None = None
        self._stage = ""
        self._done, self._total = 0, 0
        self._sends = sends
        self._sent: Counter[Thing] = Counter()
        self._begun: set[str] = set()

    @contextmanager
    def reported(self) -> Iterator[None]:
        """Print the things already sent if the work inside fails; the error of a signal names them itself."""
        try:
            yield
        except Interrupted:
            raise
        except BlogExporterError:
            if self._sent.total() or self._begun:
                self.out.say(sentence(self.kept()))
            raise

    def kept(self) -> str:
        """Return the things sent so far, and the next step, as the end of a sentence."""
        if self.ended and self._sends:
            return message("everything was sent, but not compared completely; run the same command again")
        parts: list[str] = [counted(count, thing.noun) for thing, count in self._sent.items() if count]
        if self._begun:
            posts = counted(len(self._begun), "post")
            parts.append(message("{posts} still private and without text", posts=posts))
        if parts:
            return message("sent so far: {parts}; run the same command again to continue", parts=listed(parts))
        return message("nothing was sent; run the same command again to continue")

    def handle(self, event: MoveEvent) -> None:
        """Show an event."""
        from exporter.cli.progress_bar import ProgressBar
        from exporter.move.outcome import MoveStage, Reserved

        if isinstance(event, MoveStage):
            self.close()
            self._stage, self._done, self._total = translated_by_text(event.stage), 0, event.total
            self._bar = self._shown.enter_context(ProgressBar(self.out, self._stage))
            return
        if isinstance(event, Reserved):
            self._begun |= {event.key} if event.fresh else set()
        elif self._sends:
            self._begun -= {event.key} if event.thing == "posts" else set()
            self._sent[event.thing] += event.did in {"made", "changed"}
        self._done += 1
        if self._bar is not None:
            self._bar.update(self._done, self._total)
            if self._bar.timer.is_due():
                counts: dict[str, Any] = {"stage": self._stage, "done": self._done, "all": self._total}
                self.out.say("{stage}: {done:,} of {all:,}", **counts)

    def retrying(self, event: RetryEvent) -> None:
        """Show that a retry was scheduled: long waits always, short ones if verbose."""
        from exporter.cli.progress import LONG_WAIT_SECONDS, retry_text

        self.out.say(retry_text(event), level=0 if event.wait >= LONG_WAIT_SECONDS else 1)

    def close(self) -> None:
        """Remove the bar."""
        self._shown.close()
