"""Titles and names that a program would read as markup, and a blog that has each of them in every field of text."""

from __future__ import annotations

from typing import Final

from exporter.model.kinds import Kind
from tests.support.wide import WideBlog

TEXTS: Final = {
    "canvas": "HTMLの<br>と<canvas>入門",
    "script": "<b>太</b><script>y()</script>",
    "end": "</title><script>y()</script>",
    "escaped": "&lt;br&gt;と&amp;と&#39;",
    "signs": "Q&A < B > C \"D\" 'E' it's 5'",
    "dashes": "a -- b --- c - d",
    "dots": "そして... Wordpress 3x4 ``q''",
    "smiley": "晴れ :) 8-) ;-)",
    "shortcode": "[gallery ids=1] [[x]]",
    "template": "{{ page.title }} {% raw %}",
    "percent": "100%af \\n C:\\new",
    "markdown": "*a* _b_ `c` [d](e) #h | i",
}
"""By the names of the entries; at most 28 characters, because some generators make folders of names."""


def category_of(text: str) -> str:
    """Return the name of the category with a text, which is below a category of that text."""
    return f"{text} 下"


def odd_blog() -> WideBlog:
    """Return a blog whose titles, names, continuations, comments and pictures have each of the texts."""
    blog = WideBlog()
    blog.add(Kind.USER, {"id": "me", "name": "わたし"})
    for name, text in TEXTS.items():
        url = blog.upload(name, name, alt=text)
        blog.kinds[Kind.FILES][f"file-{name}"]["title"] = text
        blog.post(
            name, title=text, slug=f"slug-{name}", author=text, tags=[text],
            categories=[{"name": category_of(text), "parents": [text]}], body=f'<p>本文 {name} <img src="{url}"></p>',
            more="<p>続き</p>", more_title=text, featured=url,
        )  # fmt: skip
        blog.said(f"c-{name}", name, name=text, title=text, text="<p>ひとこと</p>")
        blog.said(f"t-{name}", name, name=text, title=text, kind="trackback", url="https://other.example/")
    return blog
