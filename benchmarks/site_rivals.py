"""The same entries as content for Hugo and Pelican: HTML, so that neither has to read Markdown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from exporter import lossless_json
from exporter.archive.archive import Archive
from exporter.model.kinds import Kind

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


def write_hugo(archive: Path, folder: Path) -> list[str]:
    """Write a site for Hugo and return the command that makes it."""
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
    return ["hugo", "--quiet", "--source", str(folder), "--destination", str(folder / "public")]


def write_pelican(archive: Path, folder: Path, tool: Path) -> list[str]:
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
    return [str(tool), str(content), "--output", str(folder / "output"), *settings]


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
