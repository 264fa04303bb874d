"""``python -m benchmarks.finding``: compare the site's search with Pagefind and lunr.

All three search the same posts in Chromium, over HTTP on this machine. The posts consist of sentences from the sample
blog. A post is a correct result if its folded text contains the folded query. Queries are random parts of posts with a
certain script and length. Recall is the share of correct posts that were found, precision the share of found posts that
are correct. Both are means over the queries; precision covers only queries with results. ``make peers`` installs the
other searches.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import threading
import unicodedata
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from html import escape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from benchmarks import SCRIPTS
from exporter.demo.content import demo_blog, fields
from exporter.html.text import plain_text
from exporter.model.kinds import Kind
from exporter.search.folding import fold
from exporter.service.registry import DEFAULT_SERVICE
from tests.archive.builder import record
from tests.site.browser.launching import chromium
from tests.site.building import build, of_records

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

MODULES: Final = SCRIPTS / "node_modules"
TO_HALF_WIDTH: Final = {ord(unicodedata.normalize("NFKC", chr(code))): code for code in range(0xFF66, 0xFF9E)}
TO_HALF_WIDTH[0x3099], TO_HALF_WIDTH[0x309A] = 0xFF9E, 0xFF9F
TO_HIRAGANA: Final = {code: code - 0x60 for code in range(0x30A1, 0x30F7)}


def _in_half_width(word: str) -> str:
    return unicodedata.normalize("NFD", word).translate(TO_HALF_WIDTH)


def _in_hiragana(word: str) -> str:
    return word.translate(TO_HIRAGANA)


KINDS: Final[dict[str, tuple[str, Callable[[str], str]]]] = {
    "a word in kanji": ("(?<![一-龠])[一-龠]{2,4}(?![一-龠])", str),
    "a word in katakana": ("(?<![ァ-ヶー])[ァ-ヶー]{3,8}(?![ァ-ヶー])", str),
    "a word in hiragana": ("(?<![ぁ-ゖ])[ぁ-ゖ]{3,5}(?![ぁ-ゖ])", str),
    "a verb or adjective": ("(?<![一-龠])[一-龠][ぁ-ゖ]{2,3}", str),
    "a part of a word": ("(?<=[ァ-ヶー])[ァ-ヶ][ァ-ヶー]{1,2}", str),
    "one character": ("[一-龠]", str),
    "a phrase": ("[一-龠ぁ-ゖァ-ヶー]{8,12}", str),
    "Latin, in capitals": ("[A-Za-z]{3,}", str.upper),
    "katakana in half width": ("(?<![ァ-ヶー])[ァ-ヶー]{3,8}(?![ァ-ヶー])", _in_half_width),
    "katakana as hiragana": ("(?<![ァ-ヶー])[ァ-ヶー]{3,8}(?![ァ-ヶー])", _in_hiragana),
}
"""Kinds of queries: a pattern for parts of posts, and how people type them. Posts with the part are correct."""
OURS: Final = """async (query) => {
  const results = document.getElementById("results");
  const form = document.getElementById("search");
  const similar = document.getElementById("similar-results");
  const number = (link) => Number(/entry\\/(\\d+)/.exec(link.href)[1]) - 1;
  const items = (list) => [...list.querySelectorAll("li > a")].map(number);
  results.dataset.state = "";
  form.elements.q.value = query;
  const start = performance.now();
  form.requestSubmit();
  let first = 0;
  while (results.dataset.state !== "done") {
    if (!first && results.children.length + similar.children.length >= 20) first = performance.now() - start;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  first ||= performance.now() - start;
  for (const id of ["more", "similar-more"]) {
    const more = document.getElementById(id);
    while (!more.hidden) more.click();
  }
  return { first, found: items(results), similar: items(similar) };
}"""
PAGEFIND: Final = """async (query) => {
  const start = performance.now();
  const { results } = await pagefind.search(query);
  const few = await Promise.all(results.slice(0, 20).map((each) => each.data()));
  const first = performance.now() - start;
  const all = few.concat(await Promise.all(results.slice(20).map((each) => each.data())));
  return { first, found: all.map((each) => Number(/(\\d+)\\.html/.exec(each.url)[1])) };
}"""
LUNR: Final = """async (query) => {
  const start = performance.now();
  const found = index.query((asked) => {
    const presence = lunr.Query.presence.REQUIRED;
    for (const term of lunr.ja.tokenizer(query)) asked.term(term.toString(), { presence });
  });
  return { first: performance.now() - start, found: found.map((each) => Number(each.ref)) };
}"""


class Query(NamedTuple):
    """The typed text, its kind, and the posts that are correct results."""

    kind: str
    text: str
    right: set[int]


@dataclass
class Searched:
    """The results of every query, the bytes loaded, and the seconds to the first 20 results.

    Attributes:
        similar: the posts that were found, and those that have similar spellings.
    """

    name: str
    index_bytes: int
    start_bytes: int = 0
    query_bytes: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    found: list[set[int]] = field(default_factory=list)
    similar: list[set[int]] = field(default_factory=list)


def posts_of_sample(count: int, chance: random.Random) -> list[tuple[str, str]]:
    """Return posts, a title and a text each, made of the sentences of the sample blog."""
    posts = [DEFAULT_SERVICE.post(fields(raw)) for raw in demo_blog().entries.values()]
    sentences = [each for post in posts for each in re.findall("[^。！？\n]{4,}[。！？]?", plain_text(post.body))]
    titles = [post.title for post in posts if post.title]
    return [
        (f"{chance.choice(titles)} {at}", "\n".join(chance.sample(sentences, chance.randint(6, 20))))
        for at in range(count)
    ]


def queries(posts: Sequence[tuple[str, str]], each: int, chance: random.Random) -> Iterator[Query]:
    """Yield this number of queries of each kind."""
    keys = [fold(f"{title}\n{text}") for title, text in posts]
    texts = "\n".join(text for _, text in posts)
    for kind, (pattern, typed) in KINDS.items():
        words = sorted(set(re.findall(pattern, texts)))
        for word in chance.sample(words, min(each, len(words))):
            yield Query(kind, typed(word), {at for at, key in enumerate(keys) if fold(word) in key})


class Counting(SimpleHTTPRequestHandler):
    """Serves files, and counts their bytes; the browser must not cache them."""

    sent = 0

    def end_headers(self) -> None:
        """Forbid caching."""
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def copyfile(self, source: Any, outputfile: Any) -> None:
        """Send a file."""
        data = source.read()
        type(self).sent += len(data)
        outputfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Counting, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def size(*files: Path) -> int:
    """Return the total size of files in bytes."""
    return sum(path.stat().st_size for path in files if path.is_file())


def make_ours(folder: Path, posts: Sequence[tuple[str, str]]) -> int:
    """Make the site of the posts and return the bytes of the files that only the search needs."""
    entries = {
        str(at + 1): record(
            entry_id=str(at + 1), title=title, entry_text=escape(text).replace("\n", "<br>"), ps_title="", ps_text="",
            open_flg="1", is_private="f", year=str(2006 + at * 19 // len(posts)), mon="7", day="16", hour="0", min="0",
            sec="0",
        )
        for at, (title, text) in enumerate(posts)
    }  # fmt: skip
    built = of_records(folder / "archive", {Kind.ENTRIES: entries})
    build(built)
    site = built.layout.latest / "site"
    names = ("search.html", "static/folding.js", "static/search.js", "data/folds.js", "data/search.js", "data/words.js")
    return size(*(site / name for name in names), *site.glob("data/texts-*.js"), *site.glob("data/pairs-*.js"))


def make_pagefind(folder: Path, posts: Sequence[tuple[str, str]]) -> int:
    """Make pages from the posts, and Pagefind's index of them; return its bytes."""
    for at, (title, text) in enumerate(posts):
        lines = escape(text).replace("\n", "<br>")
        head = f'<!DOCTYPE html><html lang="ja"><meta charset="utf-8"><title>{escape(title)}</title>'
        page = f"{head}<body><h1>{escape(title)}</h1><p>{lines}</p>"
        (folder / f"{at}.html").write_text(page, "utf-8")
    subprocess.run([MODULES / ".bin" / "pagefind", "--site", folder, "--quiet"], check=True)
    (folder / "search.html").write_text("<!DOCTYPE html><title>search</title>", "utf-8")
    return size(*(folder / "pagefind").rglob("*"))


def make_lunr(folder: Path, posts: Sequence[tuple[str, str]]) -> int:
    """Make lunr's index of the posts as JSON; return its bytes."""
    (folder / "posts.json").write_text(json.dumps(posts), "utf-8")
    index = subprocess.run(
        ["node", SCRIPTS / "lunr_index.mjs", folder / "posts.json"], check=True, stdout=subprocess.PIPE
    )
    (folder / "index.json").write_bytes(index.stdout)
    scripts = [
        "lunr/lunr.min.js",
        *(f"lunr-languages/{each}" for each in ("lunr.stemmer.support.js", "tinyseg.js", "lunr.ja.js")),
    ]
    for at, script in enumerate(scripts):
        (folder / f"{at}.js").write_bytes((MODULES / script).read_bytes())
    tags = "".join(f'<script src="{at}.js"></script>' for at in range(len(scripts)))
    (folder / "search.html").write_text(f'<!DOCTYPE html><meta charset="utf-8"><title>search</title>{tags}', "utf-8")
    return size(folder / "index.json", *folder.glob("*.js"))


READY: Final = {
    "ours": """new Promise((resolve) => {
      const look = () => document.documentElement.dataset.search ? resolve() : setTimeout(look, 5);
      look();
    })""",
    "Pagefind": "(async () => { window.pagefind = await import('/pagefind/pagefind.js'); await pagefind.init(); })()",
    "lunr": "(async () => { window.index = lunr.Index.load(await (await fetch('index.json')).json()); })()",
}


def searched(name: str, page: Page, address: str, asked: Sequence[str], ask: str, index_bytes: int) -> Searched:
    """Open the page of a search and send it one query after another."""
    made = Searched(name, index_bytes)
    Counting.sent = 0
    page.goto(address)
    page.evaluate(READY[name])
    made.start_bytes = Counting.sent
    for query in asked:
        Counting.sent = 0
        answer = page.evaluate(ask, query)
        made.query_bytes.append(Counting.sent)
        made.seconds.append(answer["first"] / 1000)
        made.found.append(set(answer["found"]))
        made.similar.append({*answer["found"], *answer.get("similar", ())})
    return made


def measured(
    browser: Browser, place: Path, posts: Sequence[tuple[str, str]], asked: Sequence[str]
) -> Iterator[Searched]:
    """Make all three indexes and measure their searches."""
    peers = {"ours": (make_ours, OURS), "Pagefind": (make_pagefind, PAGEFIND), "lunr": (make_lunr, LUNR)}
    for name, (make, ask) in peers.items():
        folder = place / name
        folder.mkdir()
        index_bytes = make(folder, posts)
        site = folder / "archive" / "latest" / "site" if name == "ours" else folder
        with served(site) as address:
            context = browser.new_context()
            yield searched(name, context.new_page(), f"{address}/search.html", asked, ask, index_bytes)
            context.close()


def quality(made: Sequence[Searched], asked: Sequence[Query]) -> Iterator[str]:
    """Yield the lines of a table with the results for each kind of query."""
    columns = [(each.name, each.found) for each in made]
    columns.insert(1, (f"{made[0].name}, similar too", made[0].similar))
    yield f"| Query | {' | '.join(name for name, _ in columns)} |"
    yield "|---" * (1 + len(columns)) + "|"
    for kind in [*KINDS, "all"]:
        chosen = [at for at, query in enumerate(asked) if kind in (query.kind, "all")]
        row = [f"{kind} ({len(chosen)})"]
        for _, answers in columns:
            pairs = [(answers[at], asked[at].right) for at in chosen]
            recall = mean(len(found & right) / len(right) for found, right in pairs)
            precise = [len(found & right) / len(found) for found, right in pairs if found]
            row.append(f"{recall:.2f} / {mean(precise):.2f}" if precise else f"{recall:.2f} / –")
        yield f"| {' | '.join(row)} |"


def cost(made: Sequence[Searched]) -> Iterator[str]:
    """Yield the lines of a table with the bytes and seconds of each search."""
    yield "| | index, MB | loaded at the start, KB | by a query, KB, median (most) | to 20 results, ms, median (most) |"
    yield "|---|---|---|---|---|"
    for each in made:
        loaded = f"{median(each.query_bytes) / 1e3:,.0f} ({max(each.query_bytes) / 1e3:,.0f})"
        times = f"{1e3 * median(each.seconds):,.0f} ({1e3 * max(each.seconds):,.0f})"
        yield f"| {each.name} | {each.index_bytes / 1e6:.1f} | {each.start_bytes / 1e3:,.0f} | {loaded} | {times} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = ArgumentParser(prog="python -m benchmarks.finding", description=__doc__)
    parser.add_argument("--posts", type=int, default=3_000, help="how many posts (3,000)")
    parser.add_argument("--each", type=int, default=12, help="how many queries of each kind (12)")
    options = parser.parse_args(arguments)
    chance = random.Random(1)
    posts = posts_of_sample(options.posts, chance)
    asked = list(queries(posts, options.each, chance))
    with TemporaryDirectory(prefix="finding-") as place, chromium(None) as browser:
        made = list(measured(browser, Path(place), posts, [query.text for query in asked]))
    print("\n".join([*quality(made, asked), "", *cost(made)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
