"""``move``: the blog in its new home, by that home's own API."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exporter.archive.archive import Archive, read_consistently
from exporter.cli.amounts import time_text
from exporter.cli.answers import check_answers, declared_flags, flag_answers, keep_given, stored_printer
from exporter.cli.export_options import check_choice, choice_options, old_urls, stop_undeclared
from exporter.cli.language import adopt
from exporter.cli.options import archive_argument, config_option, setting_options, with_output
from exporter.cli.output import Output, counted, shown
from exporter.errors import BlogExporterError, Incomplete, Interrupted, PrivateExposed
from exporter.export.interface import ExportOptions
from exporter.message import listed, message, message_n
from exporter.service.registry import service_of
from exporter.settings import SETTINGS, Settings, resolve
from exporter.text import left, printable, right
from exporter.translation import translated

if TYPE_CHECKING:
    from exporter.archive.state import State
    from exporter.cli.progress import ProgressBar
    from exporter.cli.signals import Signals
    from exporter.http.retry import RetryEvent
    from exporter.library.compare import Compared
    from exporter.library.export import Only
    from exporter.library.move import Moved, NewHome
    from exporter.move.outcome import MoveEvent, Thing

_LINE_SECONDS = 10.0
_LONG_WAIT_SECONDS = 5.0
_NAMED = 5
_WORDS = {
    "made": message("made"),
    "changed": message("changed"),
    "there": message("there before"),
    "left_alone": message("left alone"),
    "refused": message("refused"),
}
_EPILOG = message(
    """\b
Examples:
  blog-exporter move wordpress DIR --to https://new.example --new-home-user me --public-open-flg 1 --dry-run
  blog-exporter move wordpress DIR --to https://new.example --new-home-user me --all-as-draft
The application password is read from BLOG_EXPORTER_NEW_HOME_TOKEN or --new-home-token-file, never from an option.
"""
)


@click.command(
    "move",
    epilog=_EPILOG,
    help=message(
        """Move the blog in the archive in DIR into the WordPress at URL: posts, comments, categories and pictures.

        Run it again after an interruption: nothing is moved twice. What somebody changed or deleted there is
        left alone."""
    ),
)
@click.argument("kind", metavar="HOME", type=click.Choice(["wordpress"]))
@archive_argument
@click.option(
    "--to", "home", metavar="URL", required=True, help=message("The address of the new home, as you open it.")
)
@click.option(
    "--map",
    "map_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=message("Where it is written down what became what. [default: beside DIR]"),
)
@click.option("--compare/--no-compare", default=True, help=message("Read it all back in the end. [default: compare]"))
@click.option("--dry-run", is_flag=True, help=message("Send nothing but questions, and say what would be done."))
@click.option(
    "--wordpress-body",
    type=click.Choice(["html", "blocks"]),
    default="html",
    show_default=True,
    help=message("Bodies as HTML that is shown as it was, or as blocks to edit."),
)
@choice_options
@setting_options(
    "new_home_user", "new_home_token_file", "allow_plain_http", "allow_private_network", "concurrency", "rate",
    "retries", "connect_timeout", "read_timeout", "total_timeout", "give_up_after", "timezone",
)  # fmt: skip
@config_option
@with_output()
def command(
    *, out: Output, kind: str, archive: Path, home: str, map_file: Path | None, dry_run: bool, compare: bool,
    config: Path | None, **given: Any,
) -> int:  # fmt: skip
    """Run ``move``."""
    from exporter.cli.signals import catch_signals
    from exporter.library.move import NewHome, map_path

    check_choice(given)
    info = Archive.open(archive).info
    answered = {**{name: value for name, value in given.items() if name in SETTINGS}, **flag_answers(given)}
    settings = adopt(resolve(answered, config=config, blog_id=info.blog_id, warn=out.warn))
    on_stored = stored_printer(out, info.blog_id)
    options = ExportOptions(
        declared=declared_flags(settings, info.blog_id, on_stored, all_as_draft=given["all_as_draft"]),
        since=given["since"],
        until=given["until"],
        category=given["category"],
        hidden_comments=given["hidden_comments"],
        wordpress_body=given["wordpress_body"],
        old_urls=old_urls(given, settings),
        service=service_of(settings, info.service),
    )
    at, version = given["at"], None
    if at is not None:
        version = read_consistently(archive, lambda reader: reader.version_at(at, settings.timezone))

    def check(state: State) -> None:
        if options.declared.public_access is None and not options.declared.all_as_draft:
            stop_undeclared(state, options.service, out, drafts=True)
        check_answers(options.declared, given, state, options.service, out.warn)

    place = NewHome(home, map_file or map_path(archive, home))
    progress, compared = _Progress(out, sends=not dry_run), None
    with progress.told(), catch_signals(progress.kept) as signals:
        how: dict[str, Any] = {"at": version, "only": given["only"]}
        moved = _move(archive, place, settings, options, progress, signals, dry_run=dry_run, check=check, **how)
        for each in moved:
            _print(out, each)
        whole = all(each.outcome.whole for each in moved)
        if dry_run:
            out.answer(message("Nothing was sent to {home} but questions.", home=printable(home)))
        else:
            keep_given(given, info.blog_id, out)
            if compare:
                compared, same = _compare(out, archive, home, settings, options, signals, **how)
                whole = whole and same
            out.answer(message("What became what in {home} is in {path}.", home=printable(home), path=place.map_file))
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
        raise PrivateExposed(
            message_n(
                "{home} shows everybody {n:,} private thing; the line above names it. Hide or delete it now.",
                "{home} shows everybody {n:,} private things; the lines above name them. Hide or delete them now.",
                exposed,
                home=printable(home),
            )
        )
    if not whole:
        raise Incomplete(
            message(
                "{home}: not all of it is there as it was; the lines above say what, and why.", home=printable(home)
            )
        )
    return 0


def _move(
    archive: Path,
    place: NewHome,
    settings: Settings,
    options: ExportOptions,
    progress: _Progress,
    signals: Signals,
    **how: Any,
) -> list[Moved]:
    """Move the blog, until a signal comes."""
    import asyncio

    from exporter.library.move import Watching, move_blog

    def run(work: Coroutine[Any, Any, list[Moved]]) -> list[Moved]:
        return asyncio.run(signals.cancelling(work))

    watching = Watching(progress.handle, progress.out.warn, progress.retrying, run)
    try:
        moved = move_blog(archive, place, settings, options, watching=watching, **how)
    finally:
        progress.close()
    progress.ended = True
    return moved


def _compare(
    out: Output,
    archive: Path,
    home: str,
    settings: Settings,
    options: ExportOptions,
    signals: Signals,
    *,
    at: int | None,
    only: Only,
) -> tuple[dict[str, Any], bool]:
    """Compare the new home with the archive; return the result as ``--json`` prints it, and whether it is the same."""
    import asyncio

    from exporter.compare.posts import Aspect, Wish
    from exporter.compare.report import document, lines
    from exporter.library.compare import compare, expected_posts, open_home

    async def run() -> Compared:
        async with open_home(home, settings) as opened:
            return await compare(opened, expected, Wish(frozenset(Aspect), old_hosts=expected.old_hosts))

    expected = expected_posts(archive, options, at=at, only=only)
    found = asyncio.run(signals.cancelling(run()))
    for line in lines(found.comparison):
        out.say(shown(line))
    return document(found.comparison, home={"kind": found.kind, "place": home}), found.comparison.whole


def _print(out: Output, moved: Moved) -> None:
    """Say what became of the archive's records, and what was done in the new home."""
    from exporter.move.outcome import Did

    for line in moved.report.lines(translated):
        out.say(shown(line))
    outcome = moved.outcome
    heading = left(translated(message("new home")), 12)
    out.say(heading + "".join(right(translated(_WORDS[did]), 13) for did in Did))
    for thing, counts in outcome.counts.items():
        out.say(left(translated(thing.words), 12) + "".join(f"{counts[did]:>13,}" for did in Did))
    for (thing, did, why), keys in outcome.named.items():
        what, told = counted(len(keys), thing.noun), shown(_some(outcome.told(thing, keys)))
        reason = shown(translated(why))
        out.say(message("{did}: {things}: {reason}{some}", did=_WORDS[did], things=what, reason=reason, some=told))
    for thing, missing in outcome.missing.items():
        out.warn(
            message(
                "{things} not found at the last look, but should be there{some}",
                things=counted(len(missing), thing.noun),
                some=shown(_some(outcome.told(thing, missing))),
            )
        )
    for found in outcome.exposed:
        out.warn(
            message(
                "Everybody can see a private {noun}, number {number}, in {place}.",
                noun=found.thing.noun,
                number=found.key,
                place=shown(found.place),
            )
        )
    if outcome.links:
        out.say(
            message(
                "Public posts link to {links:,} addresses on {hosts:,} hosts. Links are written so that WordPress "
                "notifies none of them (no pingbacks).",
                links=outcome.links.total(),
                hosts=len(outcome.links),
            )
        )
    for key, numbers in outcome.twice.items():
        others = ", ".join(map(str, numbers[:_NAMED]))
        out.warn(
            message(
                "{key} is there more than once: also as number {numbers}; delete what you do not want.",
                key=shown(key),
                numbers=others,
            )
        )


def _some(keys: list[str]) -> str:
    return f" ({', '.join(keys[:_NAMED])}{', …' if len(keys) > _NAMED else ''})" if keys else ""


class _Progress:
    """A bar for each stage on a terminal, and elsewhere the counts every ten seconds; and what was sent so far.

    Attributes:
        out: where it is shown.
        ended: whether all was sent.
    """

    def __init__(self, out: Output, *, sends: bool) -> None:
        self.out = out
        self.ended = False
        self._shown = contextlib.ExitStack()
        self._bar: ProgressBar | None = None
        self._next = time.monotonic() + _LINE_SECONDS
        self._stage: str = ""
        self._done, self._total = 0, 0
        self._sends = sends
        self._sent: Counter[Thing] = Counter()
        self._begun: set[str] = set()

    @contextmanager
    def told(self) -> Iterator[None]:
        """Say what was sent where the work inside fails; what ends it by a signal says so itself."""
        try:
            yield
        except Interrupted:
            raise
        except BlogExporterError:
            if self._sent.total() or self._begun:
                said = self.kept()
                told = translated(said)
                self.out.say(message("{sentence}.", sentence=told[0].upper() + told[1:]))
            raise

    def kept(self) -> str:
        """Return what was sent so far, and what to do next, as the end of a sentence."""
        if self.ended and self._sends:
            return message("everything was sent, but not compared to the end; run the same command again")
        parts: list[str] = [counted(count, thing.noun) for thing, count in self._sent.items() if count]
        if self._begun:
            posts = counted(len(self._begun), "post")
            parts.append(message("{posts} still private and without text", posts=posts))
        if parts:
            return message("sent so far: {parts}; run the same command again to go on", parts=listed(parts))
        return message("nothing was sent; run the same command again to go on")

    def handle(self, event: MoveEvent) -> None:
        """Show an event."""
        from exporter.cli.progress import ProgressBar
        from exporter.move.outcome import MoveStage, Reserved

        if isinstance(event, MoveStage):
            self.close()
            self._stage, self._done, self._total = event.stage.words, 0, event.total
            self._bar = self._shown.enter_context(ProgressBar(self.out, translated(self._stage)))
            return
        if isinstance(event, Reserved):
            self._begun |= {event.key} if event.fresh else set()
        elif self._sends:
            self._begun -= {event.key} if event.thing == "posts" else set()
            self._sent[event.thing] += event.did in {"made", "changed"}
        self._done += 1
        if self._bar is not None:
            self._bar.update(self._done, self._total)
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _LINE_SECONDS
            self.out.say(message("{stage}: {done:,} of {all:,}", stage=self._stage, done=self._done, all=self._total))

    def retrying(self, event: RetryEvent) -> None:
        """Show that a request waits to be sent again: long waits always, short ones when asked for."""
        wait = message(
            "  {operation}: {reason}; again in {wait}",
            operation=event.operation,
            reason=shown(translated(event.reason), 120),
            wait=time_text(event.wait),
        )
        self.out.say(wait, level=0 if event.wait >= _LONG_WAIT_SECONDS else 1)

    def close(self) -> None:
        """Remove the bar."""
        self._shown.close()
