"""Backups, compared with clients that read the same addresses from the same service and do less."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial

from benchmarks import SCRIPTS
from benchmarks.content import BLOG_ID, BlogSize, addresses
from benchmarks.measure import PLAIN, Bench, Sample, Samples, Steps, backup, python, run, serving
from benchmarks.table import Goal, Row

_PLAIN, _MARKDOWN, _SITE = "backup, no views", "backup with Markdown", "backup with Markdown and site"
_BARE = "bare loop"
_TIMES_REQUESTS, _TIMES_SCRAPY = 2.2, 5.0


def client(way: str, base_url: str, size: BlogSize, *options: object) -> list[str]:
    """Return the command of one of the other clients."""
    return python("benchmarks.clients", way, base_url, *size.options(), *options)


def whole_size(bench: Bench) -> BlogSize:
    """Return the size of the blog for measurements that read a whole blog."""
    entries = bench.size(10_000, 1_000)
    return BlogSize(entries, 2 * entries, entries // 5)


def crawl(bench: Bench) -> Iterator[Row]:
    """Measure a first backup, with views and without."""
    size = whole_size(bench)
    # A file system such as ext4 searches long for space after thousands of files were removed, as happens here after
    # each round. That changed the ratios of the short form by a half.
    with serving(size) as service, bench.memory() if bench.small else nullcontext(bench.place) as folder:
        url = service.base_url
        samples = bench.turns(
            {
                _BARE: client("bare", url, size),
                "tight script": bench.anew(lambda place: client("tight", url, size, f"--out={place}"), folder),
                _PLAIN: bench.anew(lambda place: backup(url, place, PLAIN), folder),
                _MARKDOWN: bench.anew(lambda place: backup(url, place, ["--no-site"]), folder),
                _SITE: bench.anew(lambda place: backup(url, place), folder),
            }
        )
    require_requests(samples, sum(1 for _ in addresses(size)))
    yield bench.row(samples, "tight script", _BARE)
    yield bench.row(samples, _PLAIN, _BARE, Goal(wall=1.4, cpu=1.75))
    yield bench.row(samples, _MARKDOWN, _BARE, Goal(wall=3.0))
    yield bench.row(samples, _SITE, _BARE, Goal(wall=4.0))


def require_requests(samples: Samples, wanted: int) -> None:
    """Make sure that all programs that report their number of requests sent the same number.

    Raises:
        RuntimeError: one did not, so its time cannot be compared.
    """
    for name, taken in samples.items():
        for sample in taken:
            if sample.said and sample.json["requests"] != wanted:
                raise RuntimeError(f"{name} sent {sample.json['requests']} requests, not {wanted}")


def clients(bench: Bench) -> Iterator[Row]:
    """Measure a first backup without views against other, slower ways to read a blog."""
    size = whole_size(bench)
    scrapy = bench.peer("Scrapy", "scrapy")
    with serving(size) as service:
        url = service.base_url
        steps: Steps = {
            _PLAIN: bench.anew(lambda place: backup(url, place, PLAIN)),
            "requests, threads": client("requests", url, size),
        }
        if scrapy is not None:
            arguments = ["-a", f"base_url={url}", "-a", f"blog_id={BLOG_ID}", "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=8"]
            spider = [scrapy, "runspider", str(SCRIPTS / "spider.py"), "--nolog", *arguments, "-s", "DOWNLOAD_DELAY=0"]
            steps["Scrapy, entries"] = bench.anew(lambda place: [*spider, "-O", f"{place}.jsonl"])
        samples = bench.turns(steps, most=3)
    yield bench.row(samples, _PLAIN, "requests, threads", Goal(wall=round(1 / _TIMES_REQUESTS, 2)), "reads only")
    if scrapy is not None:
        yield bench.row(
            samples, _PLAIN, "Scrapy, entries", Goal(wall=round(1 / _TIMES_SCRAPY, 2)), "list, get, JSON lines"
        )


def unchanged(bench: Bench) -> Iterator[Row]:
    """Measure a later backup that finds nothing new and reads only the lists."""
    size, name = whole_size(bench), "unchanged backup"
    with serving(size) as service:
        archive = bench.place / "unchanged"
        again = partial(backup, service.base_url, archive, ["--refresh=changed", *PLAIN])
        run(again())
        samples = bench.turns({"bare lists": client("bare", service.base_url, size, "--lists"), name: again()})
        shutil.rmtree(archive)
    require_requests(samples, sum(1 for _ in addresses(size, entries=False)))
    yield bench.row(samples, name, "bare lists", Goal(wall=1.35))


def pictures(bench: Bench) -> Iterator[Row]:
    """Measure a backup with a picture of 50 KB in every entry."""
    entries = bench.size(2_000, 200)
    size = BlogSize(entries, entries, 0)
    with serving(size, "--pictures") as service:
        url, options = service.base_url, ("--assets=embedded", "--allow-private-network", *PLAIN)
        samples = bench.turns(
            {
                "bare loop, pictures": client("bare", url, size, "--pictures"),
                "backup with pictures": bench.anew(lambda place: backup(url, place, options)),
            }
        )
    yield bench.row(samples, "backup with pictures", "bare loop, pictures")


def latency(bench: Bench) -> Iterator[Row]:
    """Measure a backup from a service with a latency of 50 ms, against curl with the same addresses."""
    curl = bench.peer("curl", "curl", everywhere=True)
    if curl is None:
        return
    for concurrency, entries, most in ((8, bench.size(4_000, 30), 1.04), (32, bench.size(10_000, 100), 1.06)):
        size = BlogSize(entries, 100, 20)
        with serving(size, "--latency=0.05") as service:
            url = service.base_url
            listed = bench.place / "addresses"
            listed.write_text("".join(f'url="{url}{each}"\noutput="/dev/null"\n' for each in addresses(size)))
            parallel = ["--parallel", "--parallel-immediate", "--parallel-max", str(concurrency)]
            options = (f"--concurrency={concurrency}", *PLAIN)
            name, against = f"backup at 50 ms, {concurrency} at a time", f"curl, {concurrency} at a time"
            steps: Steps = {
                against: [curl, "--silent", "--no-progress-meter", *parallel, "--config", str(listed)],
                name: bench.anew(partial(backup, url, options=options)),
            }
            yield bench.row(bench.turns(steps, most=2), name, against, Goal(wall=most))


def large(bench: Bench) -> Iterator[Row]:
    """Measure one backup of 100,000 entries and 1,000,000 comments, against a backup of a tenth of that."""
    taken: dict[str, list[Sample]] = {}
    for part in (10, 1):
        entries = bench.size(100_000, 1_000) // part
        size = BlogSize(entries, 10 * entries, entries // 5)
        with serving(size, "--real") as service:
            for views, options in (("no views", PLAIN), ("all views", ())):
                step = bench.anew(partial(backup, service.base_url, options=options))
                taken.setdefault(views, []).append(step())
    for views, most in (("no views", 160), ("all views", 250)):
        small, great = taken[views]
        tenth = Sample(small.wall * 10, small.cpu * 10, small.peak)
        name = f"100,000 entries, 1,000,000 comments, {views}"
        yield bench.row(
            {name: [great], "a tenth": [tenth]}, name, "a tenth", Goal(wall=1.1, peak_mb=most), "per record"
        )
