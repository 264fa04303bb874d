"""``docs/scale.md``: tables for planning, from the fleet simulation. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any, Final

from benchmarks.scale_model import Costs, Wishes, requests_of, simulate

_PAGE: Final = """
# The cost of a whole platform

<!-- Written by python -m benchmarks scale, from benchmarks/scale.toml. -->

**The service's rate limit decides how long it takes, not the number of your machines.** {blogs:,} blogs of
{entries:g} entries need {requests:,.0f} requests. At {rate:g} a second these take {days}, and keep {busy:.2f} of one
processor busy. So first ask the service for a rate, in writing, and begin early. A second machine does not raise
that rate.

## Time at each rate

[rates]

The table assumes as many requests in flight as a quarter of the rate, and at least 8. One process on one processor
is enough in all cases.

## Everything, at {rate:g} a second

{blogs:,} blogs of {entries:g} entries on average, without pictures:

[rows]

## The object store

[store]

Assumed in {priced_on}: ${put_price:g} for a million requests that write or list, ${get_price:g} for a million
others, ${month_price:g} for a gigabyte and a month. An archive takes the requests that [s3.md](s3.md) counts
in a bucket without versions. Set the prices of your store with `--put-price`, `--get-price` and
`--month-price`.

## Predicted, and measured

[checked]

The prediction assumes an idle machine. If other programs use the processors (see the load), a run takes longer.

## Assumptions

- The size of blogs has an exponential distribution with a mean of {entries:g} entries. There are two comments for
each entry, one file for ten entries, and no pictures. An entry is 8 KB of JSON. In many blogs most bytes are
pictures: add their bytes, and a request for each.

- The service answers after {latency:g} s and allows {concurrency} requests in flight. {failing:.0%} of the
attempts fail half way. The next attempt follows after {gap:g} s, and each further failure triples this delay. The
service asks for a pause of {pause:g} s every {minutes:g} minutes.

- The simulation computes each step of a run from the waiting requests and the limits: the rate, the requests in
flight and the processor. For a large run it simulates only the beginning and the end, and assumes a constant rate
between them.

- Costs were measured on {where}. They are CPU seconds, not wall-clock time. A file takes whole blocks of a disk.

`python -m benchmarks scale` writes this page; `--record` measures the costs again, and `--check` saves 2,000 blogs
and compares. With other numbers, such as `--blogs 50000 --entries 300 --rate 40`, the command prints the results and
leaves the page unchanged.
"""
_WIDTH: Final = 140
_DAY: Final = 86_400
_GB: Final = 1e9
_MB: Final = 1e6
_RATES: Final = (20, 40, 80, 160, 320)
_MANY: Final = 500
_PLATFORMS: Final = (10_000, 100_000, 1_000_000)
_NAMES: Final = {
    "seconds": ("time", "{:,.0f} s", 1.0),
    "requests": ("requests", "{:,.0f}", 1.0),
    "cpu_seconds": ("processor", "{:,.0f} s", 1.0),
    "archive_bytes": ("archives on disk", "{:,.0f} MB", _MB),
    "memory_bytes": ("memory, at its peak", "{:,.0f} MB", _MB),
}


@dataclass(frozen=True, slots=True)
class Prices:
    """Assumed machines, and prices of an object store in dollars.

    Attributes:
        priced_on: month of these prices.
        cores: processors of a machine.
        put_price: price of a million requests that write or list.
        get_price: price of a million other requests.
        month_price: price of 10⁹ bytes for a month.
    """

    priced_on: str = "November 2026"
    cores: int = 4
    put_price: float = 5.0
    get_price: float = 0.4
    month_price: float = 0.023


def plain(text: str) -> Iterator[str]:
    """Yield the lines of the tables alone."""
    yield from (line for line in text.splitlines() if line.startswith("|"))


def page(wishes: Wishes, prices: Prices, costs: Costs, inputs: Mapping[str, Any]) -> str:
    """Return the page."""
    return "\n".join(_lines(wishes, prices, costs, inputs))


def _lines(wishes: Wishes, prices: Prices, costs: Costs, inputs: Mapping[str, Any]) -> Iterator[str]:
    run = simulate(wishes, costs)
    values = {
        "requests": run.requests,
        "days": _days(run.seconds),
        "busy": run.cpu / run.seconds,
        "minutes": wishes.pause_every / 60,
        "where": _where(inputs["recorded"]),
        **{name: getattr(wishes, name) for name in Wishes.__dataclass_fields__},
        **{name: getattr(prices, name) for name in Prices.__dataclass_fields__},
    }
    tables = {
        "[rates]": _rates(wishes, costs),
        "[rows]": _table(("Item", "Amount", "Details"), _rows(wishes, prices, costs)),
        "[store]": _table(("Task", "Requests", "Cost"), _store_rows(wishes, prices, costs)),
        "[checked]": _checked(inputs.get("check")),
    }
    for paragraph in _PAGE.strip().split("\n\n"):
        if paragraph in tables:
            yield from tables[paragraph]
        else:
            indent = "  " * paragraph.startswith("- ")
            text = " ".join(paragraph.split()).format(**values)
            yield from wrap(text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        yield ""


def _table(heading: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(heading)} |"
    yield "|---" * len(heading) + "|"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def _rates(wishes: Wishes, costs: Costs) -> Iterator[str]:
    rows = []
    for number in _PLATFORMS:
        asked = [replace(wishes, blogs=number, rate=rate, concurrency=max(8, rate // 4)) for rate in _RATES]
        runs = [simulate(each, costs) for each in asked]
        rows.append((f"{number:,}", f"{runs[-1].requests:,.0f}", *(_days(each.seconds) for each in runs)))
    return _table(("Blogs", "Requests", *(f"{rate} a second" for rate in _RATES)), iter(rows))


def _rows(wishes: Wishes, prices: Prices, costs: Costs) -> Iterator[tuple[str, str, str]]:
    run = simulate(wishes, costs)
    blogs, entries = wishes.blogs, wishes.entries
    crawl = run.cpu / run.seconds
    more = costs.crawler_bytes + _MANY * costs.under_way_bytes
    memory = costs.crawler_bytes + wishes.at_once * costs.under_way_bytes
    yield (
        "Time",
        _days(run.seconds),
        f"{run.requests / run.seconds:.0f} requests a second on average, with pauses and second attempts",
    )
    yield "Requests", f"{run.requests:,.0f}", f"{requests_of(entries):.0f} for a blog of {entries:g} entries"
    crawlers = math.ceil(crawl / 0.7)
    yield (
        "Crawling",
        f"{_hours(run.cpu)} of a processor",
        f"{crawl:.2f} of one at any time: {crawlers} process{'es' * (crawlers > 1)}",
    )
    yield "Blogs not saved after four attempts", f"{run.left:,}", "`fleet run` again"
    yield (
        "Archives",
        _bytes(blogs * costs.archive_bytes.of(entries)),
        f"{blogs * costs.archive_files:,.0f} files: check the free inodes",
    )
    yield (
        "Ledger",
        _bytes(blogs * costs.ledger_bytes),
        f"reading the list: {costs.ledger_seconds * blogs:.0f} s, each time",
    )
    yield (
        "Memory of the crawler",
        _bytes(memory),
        f"with {wishes.at_once} blogs at once; {_bytes(more)} with {_MANY}",
    )
    work = {
        "Sites": (costs.site, _bytes(blogs * costs.site_bytes.of(entries))),
        "Check (`fleet verify`)": (costs.verify, "nothing written"),
        "Catalogue": (costs.catalogue, _bytes(blogs * costs.catalogue_bytes.of(entries))),
    }
    for name, (cost, written) in work.items():
        seconds = blogs * cost.of(entries)
        yield (
            name,
            f"{_hours(seconds)} of a processor",
            f"{_days(seconds / prices.cores)} on a machine of {prices.cores} processors; {written}",
        )
    machines = math.ceil(
        sum(blogs * cost.of(entries) for cost, _ in work.values()) / prices.cores / run.seconds + crawl / prices.cores
    )
    yield "Machines", f"{machines}", f"of {prices.cores} processors, so that all of this work ends with the crawl"


def _store_rows(wishes: Wishes, prices: Prices, costs: Costs) -> Iterator[tuple[str, str, str]]:
    blogs = wishes.blogs
    puts = blogs * (costs.archive_files + 1)
    first = puts + blogs
    yield "A first copy of everything", f"{first:,.0f} that write or list", _dollars(first / 1e6 * prices.put_price)
    version = blogs * 12
    cost = version / 1e6 * prices.put_price + blogs * 7 / 1e6 * prices.get_price
    yield "One new version of each blog", f"{version:,.0f} that write or list, {blogs * 7:,.0f} others", _dollars(cost)
    cost = blogs / 1e6 * prices.put_price + blogs * 6 / 1e6 * prices.get_price
    yield "A sync of each blog without changes", f"{blogs:,.0f} that list, {blogs * 6:,.0f} others", _dollars(cost)
    back = blogs * (costs.archive_files + 10)
    cost = blogs / 1e6 * prices.put_price + back / 1e6 * prices.get_price
    yield (
        "A restore of everything",
        f"{blogs:,.0f} that list, {back:,.0f} others",
        f"{_dollars(cost)}, plus your store's price for traffic",
    )
    stored = blogs * costs.archive_bytes.of(wishes.entries)
    yield "Storage", _bytes(stored), f"{_dollars(stored / _GB * prices.month_price)} a month"


def _checked(check: Mapping[str, Any] | None) -> Iterator[str]:
    if check is None:
        yield "There is no measured run yet: `python -m benchmarks scale --check` makes one."
        return
    text = "2,000 blogs of 20 entries on average, 100 at once, 16 requests in flight, answers after 0.1 s."
    yield from wrap(f"{text} Measured on {_where(check)}:", _WIDTH)
    yield from ("", "| | Predicted | Measured | Error |", "|---|---|---|---|")
    for name, (label, form, unit) in _NAMES.items():
        predicted, measured = check[name]["predicted"], check[name]["measured"]
        values = (form.format(predicted / unit), form.format(measured / unit))
        yield f"| {label} | {values[0]} | {values[1]} | {predicted / measured - 1:+.0%} |"


def _where(said: Mapping[str, Any]) -> str:
    return f"{said['on']} ({said['machine']}, load {said['load']:g})"


def _days(seconds: float) -> str:
    days = seconds / _DAY
    if days < 1:
        return _hours(seconds)
    return f"{days:,.1f} days" if days < 100 else f"{days:,.0f} days"


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:,.1f} hours" if seconds < 36_000 else f"{seconds / 3600:,.0f} hours"


def _bytes(count: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", _GB), ("MB", _MB)):
        if count >= size:
            return f"{count / size:,.1f} {unit}" if count < 10 * size else f"{count / size:,.0f} {unit}"
    return f"{count:,.0f} bytes"


def _dollars(amount: float) -> str:
    return f"${amount:,.0f}" if amount >= 10 else f"${amount:,.2f}"
