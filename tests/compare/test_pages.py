"""HTML pages of any theme, and Markdown files with any front matter, are read as posts."""

from __future__ import annotations

import contextlib
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.compare.archived import slug_of
from exporter.compare.pages import NoPost, front_matter, read_date, read_markdown, read_page
from exporter.compare.posts import ShownAs, When
from exporter.html.tree import TooComplex

AT = "https://new.example/2020/01/sea/"


def test_a_theme_with_metadata_is_read_by_it() -> None:
    page = read_page(
        """<!DOCTYPE html><html><head><title>海の日 | 日記帳</title>
        <meta property="og:title" content="海の日"><meta property="og:type" content="article">
        <meta property="article:published_time" content="2020-01-02T03:04:05+09:00">
        <meta property="article:section" content="旅"></head>
        <body><nav><a href="/category/other/">ほか</a><img src="/logo.png"></nav>
        <article class="h-entry"><h1 class="p-name">海の日</h1><div class="e-content">本文<b>です</b>。
        <img src="a.jpg" srcset="a-2x.jpg 2x"><video poster="p.png"></video><a href="https://old.example/Entry/1/">前</a></div>
        <section class="comments">umi いいですね</section></article></body></html>""",
        AT,
    )
    assert page.letters == "本文です。前"
    assert "umiいいですね" in page.page
    assert page.titles[0] == "海の日"
    assert page.when == When(datetime(2020, 1, 2, 3, 4, 5), datetime(2020, 1, 1, 18, 4, 5, tzinfo=UTC))  # noqa: DTZ001
    assert page.names is not None
    assert "旅" in page.names
    assert page.pictures == (f"{AT}a.jpg", f"{AT}p.png")
    assert page.links == ("https://old.example/Entry/1/",)
    assert (page.slug, page.article, page.whole, page.comments) == ("sea", True, False, None)


@pytest.mark.parametrize(
    ("html", "letters"),
    [
        ('<div class="post-content">あ</div><article>い</article>', "あ"),
        ("<main>あ</main>い", "あ"),
        ("<article>あ</article>い", "あ"),
        ("<article>あ</article><article>い</article>", "あい"),
        (
            '<article itemscope itemtype="https://schema.org/BlogPosting"><p itemprop="articleBody">あ</p>い</article>',
            "あ",
        ),
        ("あ<script>い</script><style>う</style>", "あ"),
    ],
)
def test_the_body_is_found_in_any_theme(html: str, letters: str) -> None:
    assert read_page(html, AT).letters == letters


@pytest.mark.parametrize(
    "html",
    [
        '<meta name="date" content="2020-01-02">',
        '<time datetime="2020-01-02">',
        "<time>2020-01-02</time>",
        '<span itemprop="datePublished" content="2020-01-02">',
        '<abbr class="published" title="2020-01-02">きのう</abbr>',
        '<script type="application/ld+json">{"@type":"Article","datePublished":"2020-01-02"}</script>',
    ],
)
def test_dates_are_found_in_any_form(html: str) -> None:
    assert read_page(html, AT).when == When(date(2020, 1, 2))


def test_missing_fields_stay_empty() -> None:
    page = read_page("<p>だれ", AT)
    assert (page.when, page.names, page.titles, page.article) == (None, None, (), False)
    assert read_page('<base href="https://cdn.example/x/"><img src="y.png">', AT).pictures == (
        "https://cdn.example/x/y.png",
    )
    assert read_page('<img src="data:image/png;base64,x"><a href="javascript:x">', AT).pictures == ()


@pytest.mark.parametrize("text", ["", "gestern", "2020-13-01", "2020-01-02T99:00"])
def test_an_invalid_date_is_ignored(text: str) -> None:
    assert read_date(text) is None


def test_a_page_too_complex_to_parse_is_refused() -> None:
    with pytest.raises(TooComplex):
        read_page("<p>" * 200_000, AT)


@pytest.mark.parametrize(
    ("address", "slug"),
    [
        ("https://new.example/posts/Sea-Day/", "sea-day"),
        ("https://new.example/%E6%B5%B7.html?x#y", "海"),
        ("posts/2020/sea/index.md", "sea"),
        ("index.html", "index"),
        ("", ""),
    ],
)
def test_names_in_addresses(address: str, slug: str) -> None:
    assert slug_of(address) == slug


MARKDOWN = """# 見出し

**太字**と`コード`、[リンク](https://old.example/Entry/1/ "題")、<https://x.example/>。
[![子猫](a.png)](a-large.png) \\*星\\* \\<b\\>

1. 一つ
2. 二つ

2016\\. 年 <div><a href="b.html">b</a><img alt="c" src="c.png"></div>
"""


def test_markdown_is_compared_by_its_words() -> None:
    page = read_markdown(f"---\ntitle: 海の日\n---\n{MARKDOWN}", "posts/sea.md", "https://folder.invalid/posts/sea.md")
    assert page.letters == "見出し太字とコードリンクhttpsxexample子猫星b一つ二つ2016年bc"
    assert page.pictures == ("https://folder.invalid/posts/a.png", "https://folder.invalid/posts/c.png")
    assert page.links == (
        "https://old.example/Entry/1/", "https://folder.invalid/posts/a-large.png", "https://x.example/",
        "https://folder.invalid/posts/b.html",
    )  # fmt: skip
    assert (page.key, page.titles, page.slug) == ("posts/sea.md", ("海の日",), "sea")


@pytest.mark.parametrize(
    "head",
    [
        '---\ntitle: "海"\ndate: 2020-01-02T03:04:05+09:00\ncategories: ["旅"]\ntags:\n  - 夏\ndraft: false\nslug: sea\n---\n',
        "+++\ntitle = '海'\ndate = 2020-01-02T03:04:05+09:00\ncategories = ['旅']\ntags = ['夏']\nslug = 'sea'\n+++\n",
        "Title: 海\nDate: 2020-01-02T03:04:05+09:00\nCategory: 旅\nTags: 夏\nSlug: sea\n\n",
        '\ufeff---\r\ntitle: 海\r\npubDate: "2020-01-02T03:04:05+09:00"\r\ncategory: 旅\r\ntags: 夏\r\npermalink: /2020/sea/\r\n---\r\n',
    ],
)
def test_front_matter_of_all_generators_is_read(head: str) -> None:
    page = read_markdown(f"{head}本文", "x.md", "https://folder.invalid/x.md")
    assert (page.titles, page.names, page.slug, page.letters) == (("海",), ("旅", "夏"), "sea", "本文")
    assert page.when is not None
    assert page.when.instant == datetime(2020, 1, 1, 18, 4, 5, tzinfo=UTC)
    assert page.status is ShownAs.PUBLISH


@pytest.mark.parametrize("line", ["draft: true", 'draft: "true"', "status: draft", "published: false"])
def test_drafts_are_known_by_their_front_matter(line: str) -> None:
    assert read_markdown(f"---\n{line}\n---\nx", "x.md", "https://folder.invalid/x.md").status is ShownAs.DRAFT


def test_a_day_is_a_day_and_other_types_are_nothing() -> None:
    page = read_markdown(
        "---\ndate: 2020-01-02\ntitle: {a: b}\ntags: [1, null, [x]]\n---\n", "x.md", "https://folder.invalid/x.md"
    )
    assert (page.when, page.titles, page.names) == (When(date(2020, 1, 2)), (), ("1",))


@pytest.mark.parametrize(
    "text",
    [
        "本文だけ",
        "---\n- a\n---\n",
        "---\n{\n---\n",
        "+++\nx\n+++\n",
        "---\na: &a [x]\nb: *a\n---\n",
        f"---\n{'a' * 70_000}\n---\n",
        f"---\na: {'[' * 1500}\n---\n",
        "---\nno end",
    ],
)
def test_a_file_without_front_matter_is_not_a_post(text: str) -> None:
    with pytest.raises(NoPost):
        front_matter(text)


MARKS = st.sampled_from(
    ["<", ">", "&", "</", "<!--", "<a href=", "<img src=", "http://[", "[", "](", "![", "---\n", "+++\n", ": ", "- ", "*", "\\", '"',
     "<meta content=", "<time datetime=", "<base href=", "<article>", "\ud83d", "\x00", "\u202e", "2020-01-02", "\n", " "]
)  # fmt: skip


@given(st.lists(MARKS | st.text(max_size=4), max_size=40).map("".join), st.sampled_from([AT, "", "http://[", "x"]))
def test_no_content_of_a_page_is_an_error(text: str, address: str) -> None:
    page = read_page(text, address)
    assert all(each.startswith(("http://", "https://")) for each in (*page.pictures, *page.links))
    with contextlib.suppress(NoPost):
        read_markdown(text, "x.md", address)
    with contextlib.suppress(NoPost):
        read_markdown(f"---\n{text}\n---\n{text}", "x.md", address)


def test_a_link_in_the_text_to_a_list_of_posts_is_no_category() -> None:
    body = '<article><p>今日は<a href="/Category/1/">旅の記事</a>を読んだ。</p></article>'
    assert read_page(body, "https://new.example/1").names is None
    named = f'{body}<footer><a href="/categories/tabi/">旅</a></footer>'
    assert read_page(named, "https://new.example/1").names == ("旅",)
