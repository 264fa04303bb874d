"""``python -m benchmarks.library``: build one site of several archives and search it.

Each blog after the first has new posts, and some that moved from the blog before it. The figures are
the seconds, the processor seconds and the peak memory of a first build and of one that finds nothing changed. The
queries run in Chromium, from the folder, over texts that were all loaded before: a search for two or three characters
from a random post, until its last result. The index of ``search`` and ``serve`` answers the same queries,
for all archives one after the other.
"""

from __future__ import annotations

import json
import random
import time
from argparse import ArgumentParser
from datetime import datetime, timedelta, timezone
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.measure import ours, run
from exporter.archive.archive import Archive
from exporter.model.kinds import Kind
from exporter.search.index import Index
from exporter.search.query import parse_query
from exporter.service.registry import DEFAULT_SERVICE
from tests.archive.builder import Built, record
from tests.site.browser.launching import chromium

_JAPAN: Final = timezone(timedelta(hours=9))
_LETTERS: Final = (
    "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわをん"
    "海山川空星花鳥風月雪雨雲朝昼夜春夏秋冬東西南北犬猫本音船道町家人心手目水火土"
)
_QUERY: Final = """async ([query]) => {
  const input = document.querySelector("#search [name=q]"), results = document.getElementById("results");
  input.value = query;
  results.dataset.state = "";
  const start = performance.now();
  document.getElementById("search").requestSubmit();
  while (results.dataset.state !== "done") await new Promise((go) => setTimeout(go, 0));
  return [performance.now() - start, Number(results.dataset.count)];
}"""


def make_blogs(root: Path, blogs: int, posts: int, moved: float) -> tuple[list[Path], list[str]]:
    """Make the archives; return their folders, and parts of posts to search for."""
    chance = random.Random(1)
    words = ["".join(chance.choices(_LETTERS, k=chance.randint(2, 5))) for _ in range(20_000)]
    folders: list[Path] = []
    queries: list[str] = []
    before: list[tuple[str, list[str], datetime]] = []
    for number in range(blogs):
        kept = [post for post in before if chance.random() < moved]
        moment = datetime(2004 + 4 * number, 1, 1, tzinfo=_JAPAN)
        own = []
        for _ in range(posts - len(kept)):
            moment += timedelta(minutes=chance.randint(60, 600))
            lines = [
                "".join(chance.choices(words, k=chance.randint(8, 40))) + "。" for _ in range(chance.randint(4, 16))
            ]
            own.append(("".join(chance.sample(words, 3)), lines, moment))
            if chance.random() < 0.01:
                line = chance.choice(lines)
                at = chance.randrange(len(line) - 4)
                queries.append(line[at : at + chance.randint(2, 3)])
        markup = "<p>{}</p>\n" if number % 2 else "{}<br>\n<br>\n"
        blog_id = f"blog{number}.example"
        entries: dict[str, bytes | None] = {}
        for place, (title, lines, date) in enumerate([*kept, *own], 1):
            names = zip(("year", "mon", "day", "hour", "min", "sec"), date.timetuple()[:6], strict=True)
            entries[str(place)] = record(
                entry_id=str(place), title=title, entry_text="".join(map(markup.format, lines)), open_flg="1",
                is_private="f", period_flg="f", **{name: f"{value:02d}" for name, value in names},
            )  # fmt: skip
        items = {key: record(entry_id=key, category="日々", open_flg="1", period_flg="f") for key in entries}
        Built(root / blog_id, blog_id=blog_id).commit({Kind.ENTRIES: entries, Kind.ENTRY_LIST: items})
        folders.append(root / blog_id)
        before = own
    return folders, queries


def searched_in_browser(out: Path, queries: list[str]) -> dict[str, Any]:
    """Return the milliseconds of queries on the site's search page, after one that loaded all texts."""
    with chromium(None) as browser:
        page = browser.new_page()
        page.goto((out / "search.html").as_uri())
        page.wait_for_selector("html[data-search=ready]")
        page.set_default_timeout(600_000)
        for query in queries[:3]:
            page.evaluate(_QUERY, [query])
        found = [page.evaluate(_QUERY, [query]) for query in queries]
    return _summary([each[0] for each in found])


def searched_in_index(folders: list[Path], queries: list[str]) -> dict[str, Any]:
    """Return the milliseconds of queries to the indexes of all archives."""
    indexes = [Index(Archive.open(folder), DEFAULT_SERVICE) for folder in folders]
    times = []
    for query in [queries[0], *queries]:
        start = time.perf_counter()
        for index in indexes:
            index.entry_hits(parse_query([query]).terms)
        times.append((time.perf_counter() - start) * 1000)
    return _summary(times[1:])


def _summary(times: list[float]) -> dict[str, Any]:
    ordered = sorted(times)
    return {
        "queries": len(ordered), "median": round(median(ordered), 1),
        "95 %": round(ordered[len(ordered) * 95 // 100], 1), "most": round(ordered[-1], 1),
    }  # fmt: skip


def main() -> None:
    """Print the figures as JSON."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--blogs", type=int, default=5)
    parser.add_argument("--posts", type=int, default=5_000)
    parser.add_argument("--moved", type=float, default=0.3, help="share of a blog's own posts that the next one has")
    parser.add_argument("--queries", type=int, default=60)
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        root = Path(folder)
        folders, queries = make_blogs(root, options.blogs, options.posts, options.moved)
        command = ours("library", "build", *folders, "--out", root / "out", "--force", "--json", "-q")
        for name in ("first build", "nothing changed"):
            sample = run(command)
            document = sample.json
            figures = {
                "seconds": round(sample.wall, 1),
                "processor": round(sample.cpu, 1),
                "peak MB": sample.peak // 1_000_000,
                "files": document["file_count"],
                "MB": document["bytes"] // 1_000_000,
                "entries": document["written"]["entries"],
                "moved": len(document["moved"]),
            }
            print(json.dumps({name: figures}), flush=True)
        asked = queries[: options.queries]
        print(json.dumps({"page, ms": searched_in_browser(root / "out", asked)}), flush=True)
        print(json.dumps({"index of search and serve, ms": searched_in_index(folders, asked)}), flush=True)


if __name__ == "__main__":
    main()
