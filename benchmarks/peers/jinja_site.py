"""``jinja_site.py ARCHIVE OUT``: a short script that makes a site from the same records, without any checks.

It writes a page for each entry with its comments and its neighbours, a page for each year and each category, and one
that lists them. Bodies are copied unchanged.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import jinja2
import orjson

_TEMPLATES = {
    "base": (
        '<!DOCTYPE html><html lang="ja"><head><meta charset="utf-8"><title>{{ title }}</title></head><body>'
        '<nav><a href="../index.html">{{ blog }}</a></nav><main>{% block main %}{% endblock %}</main></body></html>'
    ),
    "entry": (
        '{% extends "base" %}{% block main %}<h1>{{ title }}</h1><p>{{ day }}</p>'
        "<div>{{ entry.entry_text | safe }}</div><div>{{ entry.ps_text | safe }}</div>"
        "{% for each in comments %}<section><p>{{ each.name }} {{ each.regist_date }}</p>"
        "<div>{{ each.cm_text | safe }}</div></section>{% endfor %}"
        '{% if before %}<a href="{{ before.entry_id }}.html">{{ before.title }}</a>{% endif %}'
        '{% if after %}<a href="{{ after.entry_id }}.html">{{ after.title }}</a>{% endif %}{% endblock %}'
    ),
    "list": (
        '{% extends "base" %}{% block main %}<h1>{{ title }}</h1><ul>{% for target, name in rows %}'
        '<li><a href="{{ target }}">{{ name }}</a></li>{% endfor %}</ul>{% endblock %}'
    ),
}


def main() -> int:
    """Make the site."""
    latest, out = Path(sys.argv[1]) / "latest", Path(sys.argv[2])
    entries = sorted(_records(latest / "entries.jsonl"), key=_day)
    categories = {each["entry_id"]: each["category"] for each in _records(latest / "entry_list.jsonl")}
    comments = defaultdict(list)
    for comment in _records(latest / "comments.jsonl"):
        comments[comment["entry_id"]].append(comment)
    environment = jinja2.Environment(loader=jinja2.DictLoader(_TEMPLATES), autoescape=True, auto_reload=False)
    page, listing = environment.get_template("entry"), environment.get_template("list")
    lists = defaultdict(list)
    (out / "entry").mkdir(parents=True)
    (out / "list").mkdir()
    for at, entry in enumerate(entries):
        entry_id = entry["entry_id"]
        text = page.render(
            title=entry["title"], blog=entry["blog_id"], day=_day(entry), entry=entry, comments=comments[entry_id],
            before=entries[at - 1] if at else None, after=entries[at + 1] if at + 1 < len(entries) else None,
        )  # fmt: skip
        (out / f"entry/{entry_id}.html").write_text(text, encoding="utf-8")
        for name in (entry["year"], categories[entry_id]):
            lists[name].append((f"../entry/{entry_id}.html", entry["title"]))
    for number, (name, rows) in enumerate(lists.items()):
        text = listing.render(title=name, blog="", rows=rows)
        (out / f"list/{number}.html").write_text(text, encoding="utf-8")
    rows = [(f"list/{number}.html", name) for number, name in enumerate(lists)]
    (out / "index.html").write_text(listing.render(title="", blog="", rows=rows), encoding="utf-8")
    return 0


def _records(path: Path) -> list[dict[str, Any]]:
    with path.open("rb") as file:
        return [orjson.loads(line)["data"] for line in file]


def _day(entry: dict[str, Any]) -> str:
    return "{year}-{mon}-{day} {hour}:{min}:{sec}".format_map(entry)


if __name__ == "__main__":
    sys.exit(main())
