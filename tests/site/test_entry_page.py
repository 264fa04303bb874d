"""The functions that write entries' pages, comments and lines produce the same bytes as templates with autoescape."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from exporter import lossless_json
from exporter.html.dates import Dates
from exporter.html.links import commenter_link
from exporter.model.asset import openable
from exporter.service.registry import DEFAULT_SERVICE
from exporter.site import SiteOptions
from exporter.site.catalogue import one_line
from exporter.site.pages.entry import entry_files, see_also
from exporter.site.pages.site import Site, category_page
from exporter.site.post_list import PostSummary
from exporter.site.templating import CONTENT_LANGUAGE, POLICY, Parts, escaped
from exporter.text import visible
from exporter.translation import translator
from tests.export.memory import Memory

_TEMPLATES = Path(__file__).parent.parent.parent / "exporter" / "site" / "templates"
_REFERENCE = Environment(
    loader=FileSystemLoader([_TEMPLATES, Path(__file__).parent]),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_LANGUAGES = st.sampled_from(["ja", "en"])
_texts = st.one_of(
    st.sampled_from(["", " ", "海", "<b>\"A\" & 'B'</b>", "{{ 7 }} {% x %}", "%s %d %", "{0}", "]]>\x00\ud83d\u2028"]),
    st.text(max_size=12),
)
_days = st.sampled_from(["", "2009/12/31", "2009-12-31 23:59:58", "0999-01-02", "none"])
_links = st.sampled_from(["", "https://other.example/?a='b'&c=\"d\"<e>", "javascript:alert(1)", "//host/"])
_bodies = st.one_of(_texts, st.sampled_from(["<pre class='lang-python'>print(1)</pre>"]))
_entries = st.fixed_dictionaries({
    "title": _texts, "entry_text": _bodies, "ps_title": _texts, "ps_text": _texts, "open_flg": _texts, "category": _texts,
    "private_flg": st.sampled_from(["t", "f", ""]), "last_update": _days, "year": st.sampled_from(["2009", "", "x"]),
})  # fmt: skip
_comments = st.fixed_dictionaries({
    "name": _texts, "title": _texts, "cm_text": _texts, "url_text": _links, "regist_date": _days,
    "delete_flg": st.sampled_from(["t", "f", ""]), "res_flg": st.one_of(st.none(), _texts),
})  # fmt: skip


def _common(language: str) -> dict[str, Any]:
    return {
        "t": translator(language),
        "language": language,
        "dates": Dates(language),
        "site_title": "<umi> & co",
        "site_name": "<umi> & co",
        "blog_id": "umi.blog.example.jp",
        "content_lang": CONTENT_LANGUAGE,
        "policy": POLICY,
        "current": "years",
        "root": "../",
    }


def _expected(site: Site, at: int, common: dict[str, Any]) -> bytes:
    post = site.catalogue.posts[at]
    entry = site.catalogue.entry(post)
    pictures = site.pictures.by_entry.get(post.id, [])
    values = {
        **common,
        "path": post.page,
        "title": post.title or site.t("(untitled)"),
        "post": post,
        "minutes": round(post.length / 460),
        "before": site.catalogue.posts[at - 1] if at else None,
        "after": site.catalogue.posts[at + 1] if at + 1 < len(site.catalogue.posts) else None,
        "body": site.bodies.html(entry.body, "../", colours=True),
        "more_title": one_line(entry.more_title),
        "more": site.bodies.html(entry.more, "../", colours=True),
        "comments": [_comment(site, each) for each in site.catalogue.comments(site.catalogue.comment_ids(post))],
        "beside": Markup(see_also(site, post)),
        "category": category_page((post.category,)),
        "original": site.catalogue.original_address(entry),
        "pictures": [(f"../../../{each.path}", openable(each.path)) for each in pictures],
        "updated": entry.updated if entry.updated != entry.date else None,
        "period": entry.period_date if entry.period_date != entry.date else None,
        "history_page": None,
        "record": None if site.options.public else lossless_json.dumps(entry.raw, pretty=True).decode(),
    }
    frame = {part: Markup(_REFERENCE.get_template(f"{part}.html").render(values)) for part in ("head", "top", "end")}
    page = _REFERENCE.get_template("reference/entry.html").render(values, frame=frame)
    return visible(page)[0].encode()


def _comment(site: Site, comment: Any) -> dict[str, Any]:
    return {
        "anchor": f"comment-{one_line(comment.id)}",
        "name": one_line(comment.name)[:200],
        "title": one_line(comment.title)[:200],
        "day": site.dates.day(comment.date),
        "stamp": "" if comment.date is None else f"{comment.date:%Y-%m-%d}",
        "link": commenter_link(comment.url),
        "text": site.bodies.html(comment.text, "../"),
        "flagged": comment.deleted is True,
        "replied": one_line(comment.reply or ""),
    }


@settings(max_examples=30)
@given(st.lists(_entries, min_size=1, max_size=3), st.lists(_comments, max_size=2), _LANGUAGES, st.booleans())
def test_a_page_equals_the_output_of_the_template(
    entries: list[dict[str, Any]], comments: list[dict[str, Any]], language: str, public: bool
) -> None:
    memory = Memory()
    for number, changes in enumerate(entries, 1):
        memory.entry(str(number), **changes)
    for number, changes in enumerate(comments, 1):
        memory.comment(str(number), "1", **changes)
    for name in ("a", "b"):
        memory.picture(f"https://files.example/{name}.png", entry_id="1")
    options = SiteOptions("<umi> & co", language, public=public, entry_addresses=("https://{blog_id}/{title}/",))
    site = Site(memory, DEFAULT_SERVICE, None, options)
    navigation = [
        (name, f"{name}.html" if name != "home" else "index.html", site.t(label))
        for name, label in (
            ("home", "Home"),
            ("years", "By date"),
            ("categories", "Categories"),
            ("comments", "Comments"),
            ("gallery", "Pictures"),
            ("statistics", "Statistics"),
            ("history", "History"),
            ("about", "About this copy"),
        )
        if not (public and name == "history")
    ]
    common = {**_common(language), "public": public, "has_history": not public, "navigation": navigation}
    for at, file in enumerate(entry_files(site)):
        assert file.render() == _expected(site, at, common)


@given(_texts, _texts, st.booleans(), st.integers(0, 2), st.one_of(st.none(), st.datetimes()), _LANGUAGES)
def test_a_line_and_its_badges_equal_the_output_of_the_template(
    title: str, access: str, marked: bool, comments: int, date: datetime | None, language: str
) -> None:
    gone = 3 if marked else None
    page = "entry/1.html"
    post = PostSummary("1", page, date, title, "", marked, access, b"", b"", 1, comments, gone, "<never>")
    parts, words = Parts(language), translator(language)
    macros: Any = _REFERENCE.get_template("reference/parts.html").module
    assert parts.badges(post) == macros.badges(post, words)
    assert parts.line(post, "../") == macros.line(post, "../", words, CONTENT_LANGUAGE, parts.dates.day(date))


@given(_texts)
def test_escaping_equals_that_of_templates(text: str) -> None:
    assert escaped(text) == str(escape(text))
