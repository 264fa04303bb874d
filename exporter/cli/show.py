"""``show``: one record of any version. ``inspect``: the values of the undocumented flags."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, TypeVar

import click

from exporter import lossless_json
from exporter.cli.help import cli_command
from exporter.cli.options import at_option, readable_archive, with_archive
from exporter.cli.output import OnLoss, Output, shown
from exporter.clock import for_people
from exporter.errors import NoSuchRecord, UsageError
from exporter.message import Message, listed, message
from exporter.model.kinds import BY_NAME, Kind
from exporter.model.labels import name_of
from exporter.service.registry import service_of
from exporter.settings import Settings
from exporter.text import printable
from exporter.translation import current_language, translated

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import tzinfo

    from exporter.archive.archive import Archive
    from exporter.archive.history import LastKnown, RecordVersion
    from exporter.archive.state import State
    from exporter.model.records import Raw
    from exporter.service.interface import Records


K = TypeVar("K")
V = TypeVar("V")
_KINDS = {**BY_NAME, **{str(kind): kind for kind in Kind}}
_WORDS = {
    "entry": message("entry"),
    "item": message("item"),
    "comment": message("comment"),
    "file": message("upload"),
    "user": message("user"),
    "asset": message("picture or file"),
}

_EPILOG = """\b
Examples:
  blog-exporter show DIR entry 42
  blog-exporter show DIR entry 42 --at 2026-01-31 --raw
  blog-exporter show DIR comment 7 --json
  blog-exporter show DIR user
"""


@cli_command(
    "show",
    epilog=_EPILOG,
    help=message(
        """Show the record ID of KIND (entry, item, comment, file, user, asset) from the archive in DIR.

        An entry is shown as a post, with its comments. For a record that is gone, shows the last version that has it.
        The user needs no ID."""
    ),
)
@readable_archive("RECORDS")
@click.argument("kind", type=click.Choice(list(_KINDS)), metavar="KIND")
@click.argument("record_id", metavar="[ID]", required=False)
@at_option
@click.option("--raw", "form", flag_value="raw", help=message("Print the record as the service sent it."))
@click.option("--markdown", "form", flag_value="markdown", help=message("Print Markdown (entries and comments)."))
@click.option("--html", "form", flag_value="html", help=message("Print a page of HTML."))
@with_archive(on_loss=OnLoss.STOP)
def show_command(
    *,
    out: Output,
    archive: Archive,
    settings: Settings,
    kind: str,
    record_id: str | None,
    at: str | None,
    form: str | None,
) -> int:
    """Run ``show``."""
    version = archive.version_at(at, settings.timezone)
    if record_id is None:
        record_id = _only_id(archive, kind, version)
    known = archive.last_known(_KINDS[kind], record_id, version)
    if known is None:
        raise NoSuchRecord(
            "{archive} has no {kind} {id} in version {version} or before.",
            archive=archive.path,
            kind=_word(kind),
            id=printable(record_id, 200),
            version=version,
        )
    if known.stored is None:
        raise NoSuchRecord(
            "{gone}; a prune removed its content.", gone=_gone(kind, record_id, known, settings.timezone)
        )
    stored = known.stored
    if known.gone_in is not None:
        gone = _gone(kind, record_id, known, settings.timezone)
        out.warn("{gone}; this is version {version}", gone=gone, version=stored.version)
    if out.as_json:
        from exporter.archive.lines import latest_line

        out.raw(latest_line(stored.record_id, stored.version, stored.line.frozen), json=True)
    elif form == "markdown":
        out.raw(_markdown(archive, stored, version, settings))
    elif form == "html":
        from exporter.library.views import single_pages

        pages = single_pages(archive, settings, current_language())
        out.raw(pages.record(stored.kind, stored.record_id, stored.data(), stored.version, version, known.gone_in))
    else:
        _print_for_people(out, archive, service_of(settings, archive.info.service), stored, version, raw=form == "raw")
    return 0


def _print_for_people(
    out: Output, archive: Archive, service: Records, stored: RecordVersion, version: int, *, raw: bool
) -> None:
    """Print a record: an entry or a comment as readers see it, or any record as the service sent it."""
    if not raw and stored.kind in (Kind.ENTRIES, Kind.COMMENTS):
        from exporter.cli.post import print_comment, print_post

        print_as = print_post if stored.kind is Kind.ENTRIES else print_comment
        print_as(out, archive, service, stored, version)
        return
    _print(out, _word(str(stored.kind)), stored, service)
    if stored.kind is Kind.ENTRIES:
        item = archive.record(Kind.ENTRY_LIST, stored.record_id, version)
        if item is not None:
            _print(out, message("list item"), item, service)


def _only_id(archive: Archive, kind: str, version: int) -> str:
    """Return the id of the only user; other records need an ID."""
    if _KINDS[kind] is not Kind.USER:
        raise UsageError(
            "Which {name}? Name its ID: show DIR {kind} ID (search and files show IDs).", name=_word(kind), kind=kind
        )
    state = archive.state(version, [Kind.USER])
    found = list(state.ids(Kind.USER))
    state.close()
    if not found:
        raise NoSuchRecord("{archive} has no user in version {version}.", archive=archive.path, version=version)
    if len(found) > 1:
        raise UsageError("Which user? Name one of these: {ids}.", ids=listed(printable(each, 200) for each in found))
    return found[0]


def _word(kind: str) -> Message:
    """Return the word for one record of a kind, which the user named in any spelling."""
    return _WORDS[next(name for name, each in BY_NAME.items() if each is _KINDS[kind])]


def _gone(kind: str, record_id: str, known: LastKnown, zone: tzinfo) -> str:
    since = for_people(str(known.gone_at), zone)
    return message(
        "{kind} {id} is gone since version {version} ({time})",
        kind=_word(kind), id=printable(record_id, 40), version=known.gone_in, time=since,
    )  # fmt: skip


def _markdown(archive: Archive, stored: RecordVersion, version: int, settings: Settings) -> bytes:
    from exporter.export.entry_page import render_comments, render_entry

    service = service_of(settings, archive.info.service)
    if stored.kind is Kind.COMMENTS:
        return render_comments([service.comment(stored.data())]).text.encode() + b"\n"
    if stored.kind is not Kind.ENTRIES:
        raise UsageError(message("--markdown is for entries and comments; this kind has --json and --html."))
    from exporter.cli.post import post_with_comments

    return render_entry(*post_with_comments(archive, service, stored, version)).text.encode()


def _print(out: Output, name: str, stored: RecordVersion, service: Records) -> None:
    """Print a record as sent; if its service states more than flags, after its values in words."""
    record_id = printable(stored.record_id)
    out.answer("{kind} {id}, from version {version}", kind=name, id=record_id, version=stored.version)
    data = stored.data()
    if any(isinstance(value, dict | list) for value in data.values()) and _print_values(
        out, stored.kind, data, service
    ):
        out.answer(message("The record as sent:"))
    for field, value in data.items():
        _print_field(out, field, value if isinstance(value, str) else lossless_json.canonical(value).decode("utf-8"))


def _print_values(out: Output, kind: Kind, data: Raw, service: Records) -> bool:
    """Print the values of a record whose service states more than flags; return whether there are any."""
    from exporter.export.record_values import value_reader
    from exporter.html.diff import ATTRIBUTE_NAMES
    from exporter.html.record_words import RecordWords

    words = RecordWords(translated, lambda moment: moment.isoformat(" ", "seconds"))
    read = value_reader(service, words, kind, data)
    values = {} if read is None else read(data)
    values.pop("email", None)
    for attribute, text in values.items():
        _print_field(out, translated(ATTRIBUTE_NAMES.get(attribute, attribute)), text)
    return bool(values)


def _print_field(out: Output, field: str, text: str) -> None:
    rows = [printable(row, len(row) + 1) for row in text.replace("\r\n", "\n").split("\n")]
    out.answer(f"  {printable(field)}: {rows[0]}")
    for row in rows[1:]:
        out.answer(f"    {row}")


_INSPECT_EPILOG = """\b
Examples:
  blog-exporter inspect DIR
  blog-exporter inspect DIR --at 3 --json
"""


@cli_command(
    "inspect",
    epilog=_INSPECT_EPILOG,
    help=message(
        """Show the values of the flags that decide who may see an entry or a comment in the archive in DIR.

        If the service does not document them, an export publishes nothing until you declare which values are
        public."""
    ),
)
@readable_archive("RECORDS")
@at_option
@with_archive(on_loss=OnLoss.STOP)
def inspect_command(*, out: Output, archive: Archive, settings: Settings, at: str | None) -> int:
    """Run ``inspect``."""
    from exporter.export.posts import comment_combinations, entry_combinations, flag_lines

    version = archive.version_at(at, settings.timezone)
    state, service = archive.state(version), service_of(settings, archive.info.service)
    try:
        if _inspect_stated(out, archive, version, state, service):
            pass
        elif out.as_json:
            out.document(
                {
                    "archive": str(archive.path.resolve()),
                    "blog_id": archive.info.blog_id,
                    "version": version,
                    "entries": [one.document() for one in entry_combinations(state, service)],
                    "comments": [one.document() for one in comment_combinations(state, service)],
                }
            )
        else:
            words = map(translated, (message("entries"), message("comments"), message("such as")))
            for line in flag_lines(state, service, *words):
                out.answer(shown(line))
            out.say()
            out.say(service.flag_hint)
    finally:
        state.close()
    return 0


_SAMPLES: Final = 3
_SAMPLE_CHARACTERS: Final = 40


def _inspect_stated(out: Output, archive: Archive, version: int, state: State, service: Records) -> bool:
    """Show how many entries and comments each audience and status has; return whether the service states these."""
    posts = (service.post(raw) for _, raw in state.scan(Kind.ENTRIES))
    entries = _counted((post.kind, post.audience, post.title or post.id) for post in posts)
    said = (service.comment(raw) for _, raw in state.scan(Kind.COMMENTS))
    comments = _counted((comment.kind, comment.status, comment.text or comment.id) for comment in said)
    if all(name is None for _, name in [*entries, *comments]):
        return False
    out.document(
        {
            "archive": str(archive.path.resolve()),
            "blog_id": archive.info.blog_id,
            "version": version,
            "entries": [
                {"kind": str(kind), "audience": name and str(name), "count": n, "samples": samples}
                for (kind, name), (n, samples) in entries.items()
            ],
            "comments": [
                {"kind": str(kind), "status": name and str(name), "count": n, "samples": samples}
                for (kind, name), (n, samples) in comments.items()
            ],
        }
    )
    out.answer(message("Entries"))
    for (kind, audience), (n, samples) in entries.items():
        _print_count(out, n, name_of(kind), message("not stated") if audience is None else name_of(audience), samples)
    out.answer(message("Comments"))
    for (about, status), (n, samples) in comments.items():
        _print_count(out, n, name_of(about), message("not stated") if status is None else name_of(status), samples)
    undeclared = service.flag_hint and any(audience is None for _, audience in entries)
    stated = message("The service states who may see each entry and comment, so you need not declare it.")
    out.say(service.flag_hint if undeclared else stated)
    return True


def _counted(found: Iterable[tuple[K, V, str]]) -> dict[tuple[K, V], tuple[int, list[str]]]:
    """Return the number of each pair and some samples, the most frequent pair first."""
    from exporter.html.text import collapse

    counts: Counter[tuple[K, V]] = Counter()
    samples: defaultdict[tuple[K, V], list[str]] = defaultdict(list)
    for kind, name, sample in found:
        counts[kind, name] += 1
        if len(samples[kind, name]) < _SAMPLES:
            samples[kind, name].append(collapse(sample[: 4 * _SAMPLE_CHARACTERS])[:_SAMPLE_CHARACTERS])
    return {pair: (n, samples[pair]) for pair, n in counts.most_common()}


def _print_count(out: Output, n: int, kind: str, name: str, samples: list[str]) -> None:
    out.answer(f"{n:>9,}  {translated(kind)}  {translated(name)}  {printable(' / '.join(samples), 200)}")
