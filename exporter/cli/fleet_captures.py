"""The commands about the captures of a fleet: outlinks."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from exporter.cli.fleet_archives import fleet_argument, with_pool
from exporter.cli.help import cli_command
from exporter.cli.options import setting_options, settings_of
from exporter.cli.output import Output
from exporter.message import message, message_n
from exporter.service.registry import FLAG_SETTINGS

if TYPE_CHECKING:
    from exporter.fleet.outlinks import Outlink
    from exporter.fleet.pool import WorkerPool

_LINES_AT_ONCE: Final = 1_000


@cli_command(
    "outlinks",
    help=message(
        "List the addresses outside the blogs below DIR that their entries and captured pages link to or embed.\n\n"
        "One address a line, sorted: a list of seeds for other crawlers. Private entries never contribute. Options, "
        "variables and the settings file say which entries are public."
    ),
)
@fleet_argument
@setting_options(*FLAG_SETTINGS, "timezone", "entry_url")
@with_pool()
def outlinks(*, out: Output, root: Path, pool: WorkerPool, config: Path | None, **given: str | None) -> int:
    """Run ``fleet outlinks``."""
    from tempfile import TemporaryDirectory

    from exporter.archive.fleet_folder import folders_in, require_fleet
    from exporter.cli.fleet_output import WorkDisplay, report_trouble
    from exporter.fleet.outlinks import Outlinks
    from exporter.fleet.work import JobOptions, WorkTally

    settings_of(out, config)
    require_fleet(root)
    tally, begun = WorkTally(), time.monotonic()
    with TemporaryDirectory() as folder:
        found = Outlinks(root, JobOptions(given, config), pool, Path(folder))
        with WorkDisplay(out, folders_in(root)) as display:
            for result in found.results():
                tally.count(result)
                display.advance(tally.archives)
        about = {
            "fleet": str(root.absolute()),
            "work": "outlinks",
            "workers": pool.slots,
            "seconds": round(time.monotonic() - begun, 1),
            "cpu_seconds": round(tally.cpu_seconds, 1),
            **tally.document(),
        }
        addresses = _print_addresses(out, about, found)
    failures = [(str(each.path), each.reason or "") for each in tally.failures]
    report_trouble(out, failures, len(failures) + tally.document()["failures_not_named"])
    out.say(message_n("{n:,} address outside the blogs.", "{n:,} addresses outside the blogs.", addresses))
    problem = tally.problem()
    if problem is not None:
        raise problem
    return 0


def _print_addresses(out: Output, about: dict[str, object], found: Iterable[Outlink]) -> int:
    """Print each address at once, since a fleet has millions; return their number."""
    from dataclasses import asdict

    from exporter import lossless_json

    number = 0

    def lines() -> Iterator[bytes]:
        nonlocal number
        for number, each in enumerate(found, 1):
            if out.as_json:
                yield (b"," if number > 1 else b"") + lossless_json.dumps(asdict(each))
            else:
                yield each.url.encode() + b"\n"

    if out.as_json:
        out.raw(lossless_json.dumps(about)[:-1] + b',"outlinks":[', json=True)
    written = lines()
    while some := list(islice(written, _LINES_AT_ONCE)):
        out.raw(b"".join(some), json=out.as_json)
    if out.as_json:
        out.raw(b'],"addresses":%d}\n' % number, json=True)
    return number
