"""The notes of posts as the browser shows them: on the site, and from Markdown in both kinds of reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.html.noted_posts import noted_posts

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

_TEXTS = """(places) => {
  const told = (note) => {
    note.querySelectorAll('a[href^="#"]').forEach((link) => link.remove());
    return note.innerText.replace(/\\s+/g, '');
  };
  return [...document.querySelectorAll('article')].map((article, at) => [
    places[at].map((place) => article.querySelector(`#${place}`).closest('p, li, div')),
    [...article.querySelectorAll('.commonmark p')].filter((each) => each.innerText.startsWith('[^')),
    [...article.querySelectorAll('.footnote-item')],
  ].map((notes) => notes.map(told)));
}"""


def test_the_notes_of_posts_have_one_text_on_the_site_in_commonmark_and_in_gfm(page: Page) -> None:
    posts = noted_posts(300)
    page.set_content(
        "".join(
            f'<article>{site}<div class="commonmark">{commonmark}</div><div>{gfm}</div></article>'
            for site, commonmark, gfm in (post.read() for post in posts)
        )
    )
    notes = 0
    for shown, commonmark, gfm in page.evaluate(_TEXTS, [post.notes for post in posts]):
        own = [text.removeprefix(":") for text in shown]
        assert all(own)
        assert commonmark == [f"[^{number}]:{text}" for number, text in enumerate(own, 1)]
        assert gfm == own
        notes += len(own)
    assert notes > 600
