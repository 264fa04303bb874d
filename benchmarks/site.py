"""The offline site, compared with other site generators that receive the same entries and comments.

The others make pages and lists from HTML, so that none has to read Markdown. They do not sanitize their input, write no
data for a search, and have no history.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from benchmarks.archives import Nightly, build
from benchmarks.content import BlogSize, Content
from benchmarks.exports import LOOP, loop
from benchmarks.measure import Bench, Sample, Steps, ours, run
from benchmarks.table import Goal, Row
from exporter import lossless_json
from exporter.archive.archive import Archive
from exporter.model.kinds import Kind

_FIRST, _AGAIN, _EDITED = "whole site", "site, nothing changed", "site, one entry changed"
_MOST_FILES = 20

_HUGO_SETTINGS = """baseURL = "https://example.org/"
title = "blog"
languageCode = "ja"
disableKinds = ["RSS", "sitemap", "404"]
[taxonomies]
category = "categories"
year = "years"
"""
_BASE = (
    '<!DOCTYPE html><html lang="ja"><head><meta charset="utf-8"><title>{{ .Title }}</title></head><body>'
    '<nav><a href="/">{{ site.Title }}</a></nav><main>{{ block "main" . }}{{ end }}</main></body></html>'
)
_SINGLE = (
    '{{ define "main" }}<h1>{{ .Title }}</h1><p>{{ .Date.Format "2006-01-02 15:04" }}</p>{{ .Content }}'
    '{{ with .PrevInSection }}<a href="{{ .RelPermalink }}">{{ .Title }}</a>{{ end }}'
    '{{ with .NextInSection }}<a href="{{ .RelPermalink }}">{{ .Title }}</a>{{ end }}{{ end }}'
)
_LIST = (
    '{{ define "main" }}<h1>{{ .Title }}</h1><ul>{{ range .Pages }}<li><a href="{{ .RelPermalink }}">{{ .Title }}</a>'
    "</li>{{ end }}</ul>{{ end }}"
)
_PELICAN_SETTINGS = """SITENAME = "blog"
SITEURL = ""
TIMEZONE = "Asia/Tokyo"
DEFAULT_LANG = "ja"
THEME = "simple"
FEED_ALL_ATOM = CATEGORY_FEED_ATOM = TRANSLATION_FEED_ATOM = AUTHOR_FEED_ATOM = AUTHOR_FEED_RSS = None
CACHE_CONTENT = False
"""


class Maker:
    """Makes the site of one archive in three ways."""

    def __init__(self, archive: Nightly, entry: bytes) -> None:
        self._archive = archive
        self._entry = entry
        self.files = 0

    def first(self) -> Sample:
        """Make the whole site, as if for the first time."""
        for folder in (self._archive.layout.latest, self._archive.layout.work):
            shutil.rmtree(folder, ignore_errors=True)
        return self._make()

    def again(self) -> Sample:
        """Make an unchanged site again."""
        return self._make()

    def edited(self) -> Sample:
        """Update the site after one entry changed."""
        changed = lossless_json.loads(self._entry)
        changed["entry_text"] += f"<p>追記: 版{self._archive.night}でことばを直しました。</p>"
        self._archive.commit({Kind.ENTRIES: [lossless_json.dumps(changed)]})
        sample = self._make()
        self.files = max(self.files, sample.json["files_made"])
        return sample

    def _make(self) -> Sample:
        return run(ours("site", self._archive.layout.root, "--json"))


def site(bench: Bench) -> Iterator[Row]:
    """Measure making and updating the whole site."""
    entries = bench.size(5_000, 500)
    size = BlogSize(entries, 2 * entries, 0)
    with bench.memory() as folder:
        root = folder / "archive"
        made = build(root, size, 2)
        maker = Maker(made, Content(size).entry(entries // 2))
        maker.first()
        steps: Steps = {
            _FIRST: maker.first,
            _AGAIN: maker.again,
            _EDITED: maker.edited,
            LOOP: bench.anew(lambda place: loop(root, place), folder),
        }
        for name, program, write in (("Hugo", "hugo", write_hugo), ("Pelican", "pelican", write_pelican)):
            tool = bench.peer(name, program)
            if tool is not None:
                steps[name] = bench.cleared(write(root, folder / program, tool), folder / program / "made")
        samples = bench.turns(steps)
    goals = {"Hugo": Goal(cpu=3.0)}
    for name in steps:
        if name not in {_FIRST, _AGAIN, _EDITED}:
            yield bench.row(samples, _FIRST, name, goals.get(name), f"{entries:,} entries")
    yield bench.row(samples, _AGAIN, LOOP)
    files = f"{maker.files} files, {'' if maker.files < _MOST_FILES else 'not '}fewer than {_MOST_FILES}"
    yield bench.row(samples, _EDITED, LOOP, Goal(wall_s=1.0), files)


def write_hugo(archive: Path, folder: Path, tool: str) -> list[str]:
    """Write a site for Hugo and return the command that makes it; ``tool`` is the program."""
    layouts = folder / "layouts" / "_default"
    layouts.mkdir(parents=True)
    (folder / "config.toml").write_text(_HUGO_SETTINGS)
    for name, text in (("baseof", _BASE), ("single", _SINGLE), ("list", _LIST)):
        (layouts / f"{name}.html").write_text(text)
    content = folder / "content" / "entry"
    content.mkdir(parents=True)
    for entry, category, body in _entries(archive):
        head = {
            "title": entry["title"],
            "date": f"{_moment(entry, 'T')}+09:00",
            "categories": [category],
            "years": [entry["year"]],
        }
        page = lossless_json.dumps(head, pretty=True) + b"\n\n" + body.encode("utf-8", "replace")
        (content / f"{entry['entry_id']}.html").write_bytes(page)
    return [tool, "--quiet", "--source", str(folder), "--destination", str(folder / "made")]


def write_pelican(archive: Path, folder: Path, tool: str) -> list[str]:
    """Write a site for Pelican and return the command that makes it; ``tool`` is the program."""
    content = folder / "content"
    content.mkdir(parents=True)
    (folder / "settings.py").write_text(_PELICAN_SETTINGS)
    for entry, category, body in _entries(archive):
        facts = {"date": _moment(entry, " "), "category": category, "slug": entry["entry_id"]}
        metas = "".join(f'<meta name="{name}" content="{escape(str(value))}">' for name, value in facts.items())
        head = f'<meta charset="utf-8"><title>{escape(entry["title"])}</title>{metas}'
        page = f"<html><head>{head}</head><body>{body}</body></html>"
        (content / f"{entry['entry_id']}.html").write_bytes(page.encode("utf-8", "replace"))
    settings = ["--settings", str(folder / "settings.py"), "--quiet"]
    return [tool, str(content), "--output", str(folder / "made"), *settings]


def _entries(archive: Path) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Yield each entry, its category, and its body with the comments below it."""
    state = Archive.open(archive).state()
    comments = defaultdict(list)
    for _, comment in state.scan(Kind.COMMENTS):
        comments[comment["entry_id"]].append(comment)
    for entry_id, entry in state.scan(Kind.ENTRIES):
        item = state.load(Kind.ENTRY_LIST, entry_id) or {}
        below = "".join(
            f"<section><p>{escape(each['name'])} {each['regist_date']}</p><div>{each['cm_text']}</div></section>"
            for each in comments[entry_id]
        )
        yield entry, item["category"], f"{entry['entry_text']}{entry['ps_text']}{below}"
    state.close()


def _moment(entry: dict[str, Any], between: str) -> str:
    return "{year}-{mon}-{day}{between}{hour}:{min}:{sec}".format(**entry, between=between)
