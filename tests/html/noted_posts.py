"""Made-up posts with footnotes in the markups of Hatena, WordPress and others, and what three kinds of reader show."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import cache
from html import escape
from typing import Final

from markdown_it import MarkdownIt
from mdit_py_plugins.footnote import footnote_plugin

from exporter.html.anchors import Numbering, wanted_places
from exporter.html.markdown import to_markdown
from exporter.html.page_body import BodyWriter

_SITE: Final = BodyWriter(lambda _: None, "https://sea.example/")
_COMMONMARK: Final = MarkdownIt("commonmark")
_GFM: Final = MarkdownIt("gfm-like", {"html": True, "linkify": False}).use(footnote_plugin)

_TEXTS: Final = (
    "日本海。", "蛇足として、書いておく。", "https://sea.example/umi_no_hi?a=1&b=2", "<https://sea.example/>", "(笑)", "（笑）", '"題"', "'it'", "umi",
    '海 "題"', "海 (題)", "海 '題' 続き", "(海", "海)", "a b", "海\u3000山", "C:\\", "*印*", "[海]: 山", "<b>", "1. 一", "- 箇条", "# 題",
    "> 引用", "***", "```", "|a|b|", "a_b_c", "&copy;", "海！", "～波～", "==", "100%", "<!-- -->", "www.sea.example", "\\(", "海\\",
)  # fmt: skip
_MARKED: Final = (
    "<b>太字</b>", "<i>斜め</i>の字", "<a href='https://sea.example/'>海</a>", "<a href='https://sea.example/' title='海 山'>海</a>",
    "<code>a`b</code>", "<code>a b</code>", "<ruby>海<rp>(</rp><rt>うみ</rt><rp>)</rp></ruby>", "<u>下</u>線", "<b>海 \"題\"</b>",
)  # fmt: skip
_BETWEEN: Final = ("", "", "", " ", "<br>", "\n", "、", "<br><br>")


@dataclass
class NotedPost:
    """A post, and the ids of its notes on the site, in their order."""

    html: str = ""
    notes: list[str] = field(default_factory=list)

    def read(self) -> tuple[str, str, str]:
        """Return the post's HTML on the site, and its Markdown's in CommonMark and in GFM."""
        places = wanted_places(self.html)
        made = to_markdown(self.html, places=places, footnotes=Numbering())
        assert made.footnotes == len(self.notes)
        return str(_SITE.html(self.html, "", places)), _COMMONMARK.render(made.text), _GFM.render(made.text)


@cache
def noted_posts(count: int) -> list[NotedPost]:
    return [_noted_post(random.Random(seed), seed) for seed in range(count)]


def _noted_post(rng: random.Random, seed: int) -> NotedPost:
    markup = (_hatena, _wordpress, _plain)[seed % 3]
    post = NotedPost()
    said = [_said(rng, paragraphs=markup is not _hatena) for _ in range(rng.randint(1, 4))]
    body, notes = markup(said)
    post.html = f"<p>{rng.choice(_TEXTS[:2])}{body}</p>{notes}"
    post.notes = [_place(markup, number) for number in range(1, len(said) + 1)]
    return post


def _said(rng: random.Random, *, paragraphs: bool) -> list[str]:
    return [_paragraph(rng) for _ in range(rng.choice([1, 1, 1, 2, 3]) if paragraphs else 1)]


def _paragraph(rng: random.Random) -> str:
    made = ""
    for number in range(rng.choice([1, 1, 1, 2, 2, 3])):
        text = escape(rng.choice(_TEXTS), quote=False)
        made += (rng.choice(_BETWEEN) if number else "") + (text if rng.random() < 0.75 else rng.choice(_MARKED))
    return made


def _place(markup: object, number: int) -> str:
    return f"c-f-{number}" if markup is _hatena else f"c-note{number}"


def _hatena(said: list[list[str]]) -> tuple[str, str]:
    body = notes = ""
    for number, (text,) in enumerate(said, 1):
        body += (
            f'文<span class="footnote"><a href="#f-{number}" id="fn-{number}" name="fn-{number}">*{number}</a></span>。'
        )
        notes += (
            f'<p class="footnote"><a href="#fn-{number}" id="f-{number}" name="f-{number}" class="footnote-number">*{number}</a>'
            f'<span class="footnote-delimiter">:</span><span class="footnote-text">{text}</span></p>'
        )
    return body, f'<div class="footnote">{notes}</div>'


def _wordpress(said: list[list[str]]) -> tuple[str, str]:
    body = notes = ""
    for number, texts in enumerate(said, 1):
        body += f'文<sup data-fn="note{number}" class="fn"><a href="#note{number}" id="note{number}-link">{number}</a></sup>。'
        text = texts[0] if len(texts) == 1 else "".join(f"<p>{each}</p>" for each in texts)
        notes += f'<li id="note{number}">{text} <a href="#note{number}-link">↩︎</a></li>'
    return body, f'<ol class="wp-block-footnotes">{notes}</ol>'


def _plain(said: list[list[str]]) -> tuple[str, str]:
    body = notes = ""
    for number, texts in enumerate(said, 1):
        body += f'文<a href="#note{number}" name="at{number}">[{number}]</a>。'
        notes += f'<div id="note{number}"><a href="#at{number}">[{number}]</a> {"<br><br>".join(texts)}</div>'
    return body, notes
