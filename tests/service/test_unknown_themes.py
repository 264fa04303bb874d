"""Pages in themes that no rule knows: the whole text, little else, the date and the title."""

from __future__ import annotations

import re
from typing import Any

import pytest

from exporter.html.text import plain_text
from exporter.model.exchange import Response
from exporter.service.public_site.source import PublicOptions, PublicSite
from tests.service.themes import theme

DATE = "2020-01-02T15:04:00+09:00"
EMPTY = (
    '<meta itemprop="articleBody">', '<div class="entry-content"></div>', '<div class="e-content"> &nbsp;\n</div>',
    '<div class="post-body"><!-- lazy --><script>load("text")</script></div>', '<div itemprop="articleBody">\u200b</div>',
)  # fmt: skip
STORY = "<p>朝の電車で海まで出かけました。</p><p>夕焼けがとてもきれいでした。</p>"


def read(html: str, rules: str = "none") -> tuple[dict[str, Any], PublicSite]:
    service = PublicSite(PublicOptions(page_rules=rules), base_url="https://taro.example")
    post_id = "archives/7" if rules == "none" else "1234567"
    response = Response(200, {"content-type": "text/html; charset=utf-8"}, html.encode())
    data = service.entry_call("taro.example", post_id).parse(response).data
    assert data is not None
    return data, service


def letters(text: str) -> str:
    return re.sub(r"[\s\u200b]+", "", text)


def measured(numbers: range) -> tuple[float, float, float, float]:
    """Return the means of recall and precision, and the shares of right dates and titles."""
    recall = precision = dates = titles = 0.0
    for number in numbers:
        page = theme(number)
        data, _ = read(page.html)
        text = letters(plain_text(data["body"]))
        wanted = sum(len(letters(part)) + 1 for part in page.parts)
        found = sum(len(letters(part)) + 1 for part in page.parts if letters(part) in text)
        recall += found / wanted
        precision += min(1.0, found / len(text)) if text else 0.0
        dates += data["date"] == DATE
        titles += data["title"] == page.title
    count = len(numbers)
    return recall / count, precision / count, dates / count, titles / count


@pytest.mark.parametrize("numbers", [range(15), pytest.param(range(15, 150), marks=pytest.mark.thorough)], ids=str)
def test_unknown_themes_are_read_whole(numbers: range) -> None:
    recall, precision, dates, titles = measured(numbers)
    assert recall >= 0.99
    assert precision >= 0.95
    assert dates >= 0.99
    assert titles >= 0.98


@pytest.mark.parametrize("empty", EMPTY)
def test_an_empty_element_is_never_the_text(empty: str, subtests: pytest.Subtests) -> None:
    forms = {
        "beside": f"<h1>海</h1>{empty}<div class=kiji>{STORY}</div>",
        "article": f"<article class='h-entry hentry'><h1 class='p-name entry-title'>海</h1><div class=kiji>{STORY}</div>{empty}</article>",
        "microdata": f"<div itemscope itemtype='https://schema.org/BlogPosting'><h1 itemprop=headline>海</h1>{empty}<div>{STORY}</div></div>",
    }
    for name, post in forms.items():
        with subtests.test(form=name):
            data, _ = read(f"<title>海 | 太郎</title><nav>トップ</nav>{post}<div id=side>最近の記事</div>")
            assert letters(plain_text(data["body"])) == letters(plain_text(STORY))


def test_an_empty_text_of_a_known_service_is_sought_elsewhere() -> None:
    html = f"<title>海</title><article class=article><h1 class=article-title>海</h1><div class=article-body-inner></div><section>{STORY}</section></article>"
    data, _ = read(html, "livedoor")
    assert letters(plain_text(data["body"])) == letters(plain_text(STORY))


def test_an_undated_page_is_named() -> None:
    data, service = read(f"<title>海</title><h1>海</h1><p>02/01/2020</p>{STORY}")
    assert data["date"] == ""
    assert any("undated" in note and "archives/7" in note for note in service.notes)


def test_a_post_that_is_only_a_picture_is_not_empty() -> None:
    data, _ = read(
        "<title>海</title><article><h1>海</h1><div class=entry-content><img src='/a.jpg'></div><p>広告です。</p></article>"
    )
    assert data["how"] == "h-entry"
    assert data["body"] == '<img src="https://taro.example/a.jpg">'
