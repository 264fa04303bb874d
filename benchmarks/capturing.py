"""Captures of public pages, compared with other crawlers that write WARC, and with a bare loop over the addresses."""

from __future__ import annotations

import gzip
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import SCRIPTS
from benchmarks.measure import Bench, Sample, Service, Step, Steps, ours, python, run
from benchmarks.public_pages import addresses
from benchmarks.table import Goal, Row

_CONCURRENCY = 8
_BARE, _CAPTURE = "bare loop, pages", "capture"
_LATENCY_SECONDS = 0.05
_SERVER_ERROR = 8
"""The exit code of wget when an address is missing, here robots.txt."""


@contextmanager
def serving_pages(posts: int, *options: str) -> Iterator[Service]:
    """Run the public blog in a separate process."""
    command = python("benchmarks.public_pages", posts, *options)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Service(process)
        assert process.stdin is not None
        process.stdin.close()


def bare(url: str, posts: int) -> list[str]:
    """Return the command that reads the same addresses and drops the answers."""
    size = ("--entries=0", "--comments=0", "--files=0")
    return python("benchmarks.clients", "bare", url, *size, f"--posts={posts}", f"--concurrency={_CONCURRENCY}")


def captured(url: str, archive: Path) -> list[str]:
    """Return the command that captures the blog as fast as the concurrency permits."""
    pace = (f"--concurrency={_CONCURRENCY}", "--rate=10000")
    return ours("capture", f"{url}/", f"--archive={archive}", *pace, "--new", "--no-remember", "--json", "-q")


def _whole(bench: Bench, command: Callable[[Path], Sequence[str]], posts: int, folder: Path) -> Step:
    """Return a step that makes a capture, and requires that it asked every address."""
    made = bench.anew(command, folder)

    def step() -> Sample:
        sample = made()
        if sample.json["outcome"] != "captured" or sample.json["records"] < sum(1 for _ in addresses(posts)):
            raise RuntimeError(f"the capture is not whole: {sample.json}")
        return sample

    return step


def _peer(command: Callable[[Path], Sequence[str]], posts: int, folder: Path, code: int = 0) -> Step:
    """Return a step that runs another crawler, and requires that its WARC file has every address."""

    def step() -> Sample:
        with TemporaryDirectory(dir=folder) as place:
            sample = run(command(Path(place)), {0, code})
            (file,) = Path(place).glob("*.warc.gz")
            with gzip.open(file) as lines:
                records = sum(line.startswith(b"WARC-Type: response") for line in lines)
        if records < sum(1 for _ in addresses(posts)):
            raise RuntimeError(f"{command(folder)[0]} wrote {records} answers")
        return sample

    return step


def capture(bench: Bench) -> Iterator[Row]:
    """Measure the capture of 2,000 pages of 30 KB, each with a picture of 20 KB."""
    posts = bench.size(2_000, 200)
    wget, scrapy = bench.peer("wget", "wget"), bench.peer("Scrapy", "scrapy")
    with serving_pages(posts) as service, bench.memory() if bench.small else nullcontext(bench.place) as folder:
        url = service.base_url
        steps: Steps = {
            _BARE: bare(url, posts),
            _CAPTURE: _whole(bench, lambda place: captured(url, place), posts, folder),
        }
        if wget is not None:
            how = ("--quiet", "--recursive", "--level=inf", "--page-requisites", "--warc-file")
            steps["wget, one at a time"] = _peer(
                lambda place: [wget, *how, f"{place}/pages", "-P", f"{place}/files", f"{url}/"],
                posts,
                folder,
                _SERVER_ERROR,
            )
        if scrapy is not None:
            pace = ("-s", f"CONCURRENT_REQUESTS_PER_DOMAIN={_CONCURRENCY}", "-s", "DOWNLOAD_DELAY=0")
            spider = [scrapy, "runspider", str(SCRIPTS / "warc_spider.py"), "--nolog", *pace, "-a", f"home={url}"]
            steps["Scrapy with warcio"] = _peer(
                lambda place: [*spider, "-a", f"target={place}/pages.warc.gz"], posts, folder
            )
        samples = bench.turns(steps, most=3)
    yield bench.row(samples, _CAPTURE, _BARE)
    for name, goal in (("wget, one at a time", Goal()), ("Scrapy with warcio", Goal(cpu=1.3))):
        if name in samples:
            yield bench.row(samples, _CAPTURE, name, goal, f"{posts:,} pages")


def capture_latency(bench: Bench) -> Iterator[Row]:
    """Measure the same capture from a server with a latency of 50 ms, against a loop that has no other work."""
    posts = bench.size(2_000, 30)
    with serving_pages(posts, f"--latency={_LATENCY_SECONDS}") as service:
        url = service.base_url
        name, against = f"capture at 50 ms, {_CONCURRENCY} at a time", f"{_BARE}, {_CONCURRENCY} at a time"
        steps: Steps = {
            against: bare(url, posts),
            name: _whole(bench, lambda place: captured(url, place), posts, bench.place),
        }
        samples = bench.turns(steps, most=3)
    yield bench.row(samples, name, against, Goal(wall=1.1))
