"""``check``: show on one page whether a backup would save everything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exporter.cli import events
from exporter.cli.blog_names import address_in, folder_possible
from exporter.cli.help import PATH, cli_command
from exporter.cli.options import require_new_file, with_config
from exporter.cli.output import OnLoss, Output, estimated, size_text, time_text
from exporter.cli.source import counts_text, explored, files_at, nothing_at
from exporter.cli.target import find_target
from exporter.errors import Incomplete, UsageError
from exporter.message import message, suggested
from exporter.model.kinds import Kind
from exporter.text import left, printable, right, width, wrapped
from exporter.translation import program_words, translated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exporter.check.facts import CheckResult, OperationFacts
    from exporter.service.discovery import WayIn
    from exporter.source.discovery import Ways
    from exporter.source.export_files import ExportFiles

_EPILOG = """\b
Examples:
  blog-exporter check https://name.example.jp/
  blog-exporter check export.txt
  blog-exporter check DIR --json
  blog-exporter check DIR --report report.jsonl
"""
_LINE_COLUMNS = 79
_LABEL_COLUMNS = 14
_NOTES_SHOWN = 10


@cli_command(
    "check",
    epilog=_EPILOG,
    help=message(
        """Check whether a backup of a blog would save everything.

        For an address, the command shows every way to read the blog, what each one lacks, and which is best. For an
        export file, it shows the file's content. Otherwise give the blog's ID, the folder of its archive, or its name
        in the settings file. The command sends a few requests and writes only the report. Exit codes: 0 all is well, 3
        something would not be saved, 2 a setting is wrong, 12 the service refuses access, 20 it fails, 28 the disk is
        too full."""
    ),
)
@click.argument("blog", metavar="SOURCE")
@click.option("--archive", type=PATH, metavar="DIR", help=message("Folder of the archive. [default: ./BLOG_ID]"))
@click.option(
    "--report",
    type=PATH,
    metavar="FILE",
    help=message("Write a bug report without any text of the blog."),
)
@click.option("--force", is_flag=True, help=message("Replace an existing report."))
@with_config(
    "base_url",
    "profile",
    "token_file",
    "token_for",
    "account",
    "assets",
    "file_url",
    "allow_private_network",
    on_loss=OnLoss.STOP,
)
def command(
    *, out: Output, blog: str, archive: Path | None, config: Path | None, report: Path | None, force: bool, **given: Any
) -> int:
    """Check a blog."""
    import asyncio

    from exporter.archive.archive import Archive
    from exporter.check.service_check import check
    from exporter.cli.signals import catch_signals

    if report is None and (files := files_at(blog)) is not None:
        return _check_files(files, out)
    if report is None and (address := address_in(blog)) is not None:
        with folder_possible(blog):
            return _check_ways(explored(address), out)
    target = find_target(blog, given, archive=archive, config=config, warn=out.warn)
    if report is not None:
        require_new_file(report, force=force)
    if target.notice is not None:
        out.warn(target.notice)
    settings = target.settings
    with catch_signals():
        result = asyncio.run(check(target.blog_id, settings, target.root, keep=report is not None, warn=out.warn))
    for finding in result.findings if events.wanted() else ():
        facts = {"text": _shown(finding.said), "advice": _shown(finding.advice), "exit_code": finding.exit_code}
        events.tell("finding", **facts)
    out.document(result.document())
    for line in page(result):
        out.answer(line)
    if report is not None:
        from exporter.check.report import write_report
        from exporter.service.registry import way_of

        found = Archive.open(target.root).info.service if Archive.exists(target.root) else None
        service = way_of(settings, found or settings.service)
        write_report(report, result, settings, service, force=force)
        out.say("Wrote the report {path}. It has no text of the blog; read it before you send it.", path=report)
    return result.exit_code


def _check_ways(ways: Ways, out: Output) -> int:
    """Show the ways into an address, the best first."""
    if not ways.found:
        raise UsageError(nothing_at(ways, None))
    best = ways.found[0]
    _tell_ways(ways.found)
    out.document({"address": ways.address, "ways": [_way_document(way, best=way is best) for way in ways.found]})
    out.answer("Address: {address}", address=ways.address)
    for way in ways.found:
        out.answer("")
        title = message("{label} (best)", label=way.label) if way is best and len(ways.found) > 1 else way.label
        for line in _way_lines(way, title):
            out.answer(line)
    out.answer("")
    out.answer("To save it: {command}", command=suggested("backup", ways.address))
    return 0


def _check_files(files: ExportFiles, out: Output) -> int:
    """Read export files to their end, and show the result."""
    from tempfile import TemporaryDirectory

    from exporter.service.discovery import WayIn
    from exporter.settings import Settings
    from exporter.source.file_index import FileIndex

    service = files.format.of(Settings())
    with TemporaryDirectory() as folder:
        index = FileIndex(files, service, Path(folder) / "source.sqlite")
        try:
            index.build()
            counts = {
                "posts": index.count(Kind.ENTRIES),
                "comments": index.count(Kind.COMMENTS),
                "pictures": index.count(Kind.FILES),
            }
        finally:
            index.close()
    shown = {name: number for name, number in counts.items() if number or name == "posts"}
    way = WayIn(service.name, "", index.address, service.label, counts=shown, lacks=tuple(index.losses))
    out.document(
        {
            "files": [part.name for part in files.parts],
            "left_out": list(files.left_out),
            "ways": [_way_document(way, best=True)],
            "notes": [str(note) for note in index.notes],
            "more_notes": index.uncounted,
        }
    )
    _tell_ways([way])
    for line in _way_lines(way, service.label):
        out.answer(line)
    for note in index.notes[:_NOTES_SHOWN]:
        out.answer("  note: {note}", note=printable(translated(note), 300))
    more = len(index.notes[_NOTES_SHOWN:]) + index.uncounted
    if more:
        out.answer("  and {n:,} more notes (--json lists them)", n=more)
    for name in files.left_out:
        out.answer("  not read, since its format is unknown: {name}", name=name)
    out.answer("To save it: {command}", command=suggested("backup", files.path))
    return Incomplete.exit_code if index.losses or not counts["posts"] else 0


def _way_lines(way: WayIn, title: str) -> Iterator[str]:
    counts = counts_text(way)
    yield from _wrapped("", _shown(message("{label}: {counts}", label=title, counts=counts) if counts else title))
    if way.title:
        yield from _wrapped("  ", _shown(message("title: {title}", title=printable(way.title, 100))))
    for lack in way.lacks:
        yield from _wrapped("  - ", _shown(lack))
    if way.base_url:
        yield _shown(f"  --service {way.service} --base-url {way.base_url}")


def _tell_ways(ways: Sequence[WayIn]) -> None:
    """Tell a program that shows them the ways in the language of the interface."""
    for way in ways if events.wanted() else ():
        lacks = [_shown(lack) for lack in way.lacks]
        events.tell("way", label=_shown(way.label), counts=_shown(counts_text(way)), lacks=lacks)


def _way_document(way: WayIn, *, best: bool) -> dict[str, Any]:
    return {
        "service": way.service,
        "label": str(way.label),
        "base_url": way.base_url or None,
        "blog_id": way.blog_id or None,
        "title": way.title or None,
        "counts": dict(way.counts),
        "lacks": [str(lack) for lack in way.lacks],
        "best": best,
    }


def page(result: CheckResult) -> Iterator[str]:
    """Yield the lines of the diagnosis. Only commands and addresses may be wider than a terminal of 80 columns."""
    yield from _fact(message("Blog"), _shown(result.blog_id))
    yield from _fact(message("Service"), _shown(result.base_url or message("not set")))
    yield from _fact(message("Signed in as"), _signed_in(result))
    if result.token is not None:
        yield from _fact(message("Token"), _shown(result.token))
    yield from _fact(message("Archive"), _shown(result.place))
    for name, (value, source) in result.settings.items():
        yield from _fact(_shown(name), _shown(value) + (f"  ({_shown(source)})" if source else ""))
    if result.operations:
        yield ""
        yield from _operations(result.operations)
    if result.downloads:
        yield ""
    for download in result.downloads:
        label = message("Upload") if download.what == "upload" else message("Picture")
        yield from _fact(label, _shown(str(download.url or download.problem)))
        if download.url is not None:
            yield from _fact(
                "", _shown(download.problem or f"{download.content_type or ''} {size_text(download.bytes)}".strip())
            )
    yield ""
    yield from _sums(result)
    yield ""
    for finding in result.findings:
        mark = "!" if finding.exit_code else "-"
        yield from _wrapped(f"{mark} ", _shown(finding.said))
        if finding.advice:
            yield from _advice(_shown(finding.advice))
    if not result.exit_code and result.operations:
        yield _shown(message("All is well: a backup would save everything that was checked."))


def _advice(text: str) -> Iterator[str]:
    """Yield advice in lines. A command at its end has a separate line, so that it can be copied."""
    words, mark, command = text.partition(f"{program_words()} ")
    yield from _wrapped("    ", words.rstrip())
    if mark:
        yield f"    {mark}{command}"


def _signed_in(result: CheckResult) -> str:
    if result.user is not None:
        user_id, name = result.user
        return _shown(message("{name} (user {id})", name=_shown(name, 40), id=_shown(user_id, 40)))
    return message("unknown: a token is set") if result.token else message("nobody: no token is set")


def _sums(result: CheckResult) -> Iterator[str]:
    estimate = result.estimate
    if estimate is not None:
        found = estimated(estimate.entries, estimate.comments, estimate.files)
        yield from _fact(message("On the blog"), found)
        cost = message(
            "about {requests:,} requests, {time}, {size}, without pictures on other sites",
            requests=estimate.requests, time=time_text(estimate.seconds), size=size_text(estimate.bytes),
        )  # fmt: skip
        yield from _fact(message("First backup"), cost)
    if result.free is not None:
        yield from _fact(message("Free space"), size_text(result.free))
    if result.clock_skew is not None:
        skew = message("{seconds:+.0f} s compared with the service", seconds=result.clock_skew)
        yield from _fact(message("Clock"), skew)
    sent = message("{sent:,} sent, at most {most:,}", sent=result.requests, most=result.most_requests)
    yield from _fact(message("Requests"), sent)


def _operations(operations: list[OperationFacts]) -> Iterator[str]:
    heads = (
        message("Request"),
        message("Answer"),
        message("Time"),
        message("Records"),
        message("Pages"),
        message("Total"),
    )
    rows = [tuple(map(_shown, heads))]
    for each in operations:
        name = each.name if each.page is None else f"{each.name} {each.page}"
        answer = _shown(message("ok") if each.answered else str(each.status or "") or message("no answer"))
        taken = "" if each.seconds is None else time_text(each.seconds)
        counts = (each.records if each.answered else None, each.pages, each.total)
        rows.append((name, answer, taken, *("" if count is None else f"{count:,}" for count in counts)))
    for name, answer, *numbers in rows:
        cells = "".join(right(_shown(cell, 10), 11) for cell in numbers)
        yield f"{left(_shown(name, 20), 21)}{left(_shown(answer, 10), 11)}{cells}"


def _fact(label: str, value: str) -> Iterator[str]:
    name = _shown(label)
    yield from _wrapped(left(name, max(_LABEL_COLUMNS, width(name) + 1)) + " ", _shown(value))


def _shown(text: str, limit: int | None = None) -> str:
    """Return a text in the interface language, safe for a terminal."""
    return printable(translated(text), limit)


def _wrapped(lead: str, text: str) -> Iterator[str]:
    """Yield a text in lines of 79 columns, the first after a lead, the others below it."""
    for line in wrapped(text, _LINE_COLUMNS - width(lead)):
        yield f"{lead}{line}".rstrip()
        lead = " " * width(lead)
