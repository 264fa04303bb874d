"""Marks of blog services in texts: left out or made quiet for readers, and nothing that a person wrote with them.

The bodies have the shapes that the services' programs write: saved pages of Hatena Blog and FC2 Blog, the markup of the
WordPress plug-ins, and the emoji addresses of :mod:`exporter.html.service_habits`.
"""

from __future__ import annotations

import time

import pytest

from exporter.html import service_habits
from exporter.html.embedded import parse_body
from exporter.html.local_links import AssetMap
from exporter.html.markdown import to_markdown
from exporter.html.page_body import BodyWriter, DrawnPicture
from exporter.html.service_habits import has_habits, is_emoji, quieten
from exporter.html.text import plain_text, text_in
from exporter.html.tree import Element, TooComplex
from exporter.model.asset import Asset
from tests.html import bodies as marked_bodies
from tests.html.blog_bodies import bodies

NOTICE = "上記の広告は1ヶ月以上更新のないブログに表示されています。<br>\n新しい記事を書く事で広告が消せます。"
UNIT = '<ins class="adsbygoogle" style="display:block;height:280px" data-ad-client="ca-pub-1" data-ad-slot="2"></ins>'
AD = f'<script async src="//pagead2.example/adsbygoogle.js"></script>\n<!-- x -->\n{UNIT}\n<script>push({{}});</script>'
FC2_BUTTONS = (
    '<div class="fc2_footer"><div class="fc2button-clap" id="fc2button-clap-1"><script>a</script></div>\n'
    '<div class="fc2button-twitter"><a href="https://twitter.com/share">Tweet</a><script>b</script></div></div>'
)
SHA = "ab" * 32


def shown(html: str, *pictures: str) -> str:
    """Return a body as a page shows it; the pictures at these addresses are stored."""
    assets = [Asset(url, 200, "image/gif", 10, SHA).data() for url in pictures]
    local_path = AssetMap(assets, "https://sea.example/").local_path
    writer = BodyWriter(local_path, "https://sea.example/", "en", picture=lambda path: DrawnPicture(path, (16, 16)))
    return str(writer.html(html, "")).replace(' rel="noopener noreferrer"', "")


def quiet(html: str) -> str:
    return to_markdown(html, quiet=True).text


class TestKeywords:
    TEXT = (
        '<p>アクセス<a class="keyword" href="https://d.hatena.ne.jp/keyword/%A5%C8">トークン</a>と'
        '<a class="okeyword" href="http://d.hatena.ne.jp/keyword/RFC">RFC</a></p>'
    )

    def test_a_page_marks_the_links(self) -> None:
        assert shown(self.TEXT) == (
            '<p>アクセス<a class="keyword" href="https://d.hatena.ne.jp/keyword/%A5%C8">トークン</a>と'
            '<a class="keyword" href="http://d.hatena.ne.jp/keyword/RFC">RFC</a></p>'
        )

    def test_markdown_has_only_the_words(self) -> None:
        assert quiet(self.TEXT) == "アクセストークンとRFC"
        assert "d.hatena.ne.jp" in to_markdown(self.TEXT).text

    @pytest.mark.parametrize(
        "link",
        [
            '<a href="https://d.hatena.ne.jp/keyword/mixi">ここ</a>',
            '<a class="keyword" href="https://a.example/hatena.ne.jp/keyword/x">ここ</a>',
            '<a class="keyword" href="https://nothatena.ne.jp.example/keyword/x">ここ</a>',
            '<a class="keywords" href="https://d.hatena.ne.jp/keyword/x">ここ</a>',
        ],
    )
    def test_links_of_the_writer_stay(self, link: str) -> None:
        assert "class" not in shown(link)
        assert quiet(link) == to_markdown(link).text

    def test_a_body_cannot_use_the_classes_of_the_page(self) -> None:
        html = (
            '<a class="keyword card" href="https://a.example/">x</a><img class="emoji2" src="y"><ul class="listed"><li>'
        )
        assert "class=" not in shown(html, "https://sea.example/y").replace('class="lost"', "")


class TestCitations:
    FRAME = (
        '<iframe src="https://hatenablog-parts.com/embed?url={}" title="題" class="embed-card embed-webcard"></iframe>'
    )
    CITE = '<cite class="hatena-citation"><a href="{}">a.example</a></cite>'

    @pytest.mark.parametrize("between", ["", "\n"])
    def test_one_that_repeats_its_card_is_dropped(self, between: str) -> None:
        html = f"<p>{self.FRAME.format('https%3A%2F%2Fa.example%2F%25E6%25B5%25B7')}{between}"
        html += f"{self.CITE.format('https://a.example/%E6%B5%B7')}</p><p>続き</p>"
        assert "cite" not in shown(html)
        assert shown(html).count("a.example") == 2
        assert quiet(html) == "[題](https://a.example/海)\n\n続き"
        assert plain_text(html, quiet=True) == "続き"

    def test_a_video(self) -> None:
        frame = '<iframe src="https://www.youtube.com/embed/abc?feature=oembed"></iframe>'
        assert "cite" not in shown(frame + self.CITE.format("https://www.youtube.com/watch?v=abc"))

    def test_the_card_of_a_hatena_blog_leads_to_the_entry(self) -> None:
        frame = '<iframe src="https://i.hateblo.jp/embed/2015/10/23/161351" title="題" class="embed-card"></iframe>'
        html = shown(frame + self.CITE.format("https://i.hateblo.jp/entry/2015/10/23/161351"))
        assert (
            html
            == '<a class="card" href="https://i.hateblo.jp/entry/2015/10/23/161351">題 <small>i.hateblo.jp</small></a>'
        )

    @pytest.mark.parametrize(
        "html",
        [
            FRAME.format("https%3A%2F%2Fa.example%2F") + CITE.format("https://b.example/"),
            FRAME.format("https%3A%2F%2Fa.example%2F") + "言葉" + CITE.format("https://a.example/"),
            FRAME.format("https%3A%2F%2Fa.example%2F") + "<br>" + CITE.format("https://a.example/"),
            CITE.format("https://a.example/"),
            FRAME.format("https%3A%2F%2Fa.example%2F") + '<cite><a href="https://a.example/">出典</a></cite>',
            FRAME.format("https%3A%2F%2Fa.example%2F")
            + '<cite class="hatena-citation">引用元 <a href="https://a.example/">a</a></cite>',
            '<iframe src="about:blank"></iframe>' + CITE.format("https://a.example/"),
        ],
    )
    def test_others_stay(self, html: str) -> None:
        assert "<cite>" in shown(html)


class TestAdvertisements:
    @pytest.mark.parametrize(
        "html",
        [
            AD,
            f"<p>{AD}</p>",
            f"<p>スポンサーリンク</p>{AD}",
            f"<p>スポンサードリンク<br>{AD}</p>",
            f'<div style="text-align:center"><span>スポンサーリンク</span><br><div>{AD}</div></div>',
            FC2_BUTTONS,
        ],
    )
    def test_their_places_are_left_out(self, html: str) -> None:
        around = shown(f"<p>前</p>{html}<p>後</p>")
        assert around.replace("\n", "") == "<p>前</p><p>後</p>"
        assert quiet(f"<p>前</p>{html}<p>後</p>") == "前\n\n後"

    @pytest.mark.parametrize(
        "html",
        [
            "<p>スポンサーリンク</p><p>の話</p>",
            f"<p>スポンサーリンクを置いた</p>{UNIT}",
            f"<p>スポンサーリンク</p><p>説明</p>{UNIT}",
            '<ins class="adsbygoogle"><p>閉じていない要素のあとの文章</p>',
            '<div class="fc2button-clap"><p>閉じていない要素のあとの文章</p>',
            '<div class="ad">広告ではない</div><!-- ad --><p>[ad] と書いた</p>',
            f"<h2>広告の消し方</h2><p>{NOTICE}</p>",
            f"<p>「{NOTICE}」</p>",
            f"<p>{NOTICE}という広告</p>",
            f"<blockquote>{NOTICE}</blockquote>",
        ],
    )
    def test_words_of_a_person_stay(self, html: str) -> None:
        assert plain_text(html, quiet=True) == plain_text(html)

    @pytest.mark.parametrize(
        "html",
        [
            f"<h2>スポンサーサイト</h2><div>{NOTICE}</div>",
            f"<p>{NOTICE}</p>",
            f"{NOTICE}",
            f"<dl><dt>スポンサーサイト</dt><dd><p>\n{NOTICE}</p></dd></dl>",
        ],
    )
    def test_the_notice_of_fc2_above_a_text(self, html: str) -> None:
        assert shown(f"{html}<p>本文<br>です</p>").strip() == "<p>本文<br>です</p>"
        assert plain_text(f"{html}<p>本文<br>です</p>", quiet=True) == "本文\nです"


class TestEmoji:
    HEART = "https://stat100.ameba.jp/blog/ucs/img/char/char3/084.png"

    def test_a_stored_one_is_a_letter_with_its_name(self) -> None:
        html = shown(f'<p>楽しい<img src="{self.HEART}" alt="ラブラブ" width="24" height="24"></p>', self.HEART)
        path = f"assets/ab/{SHA}.gif"
        assert html == (
            f'<p>楽しい<img class="emoji" width="24" height="24" src="{path}" loading="lazy" alt="ラブラブ" title="ラブラブ"></p>'
        )

    @pytest.mark.parametrize(
        ("picture", "text"),
        [
            (
                f'<img src="{HEART}" alt="ラブラブ">',
                '<span class="emoji" title="This picture was not saved">[ラブラブ]</span>',
            ),
            ('<img class="emoji" alt="😀" src="https://s.w.org/images/core/emoji/13.0.0/svg/1f642.svg">', "😀"),
            ('<img class="wp-smiley" alt=":-)" src="/wp-includes/images/smilies/icon_smile.gif">', ":-)"),
            ('<img src="http://static.fc2.com/image/e/348.gif" alt="">', "〓"),
            ('<img src="https://pds.exblog.jp/emoji/162.png" alt="162.png" class="emoticon-img">', "〓"),
            ('<img src="http://emojies.cocolog-nifty.com/emoticon/sun.gif">', "[sun]"),
            ('<img src="http://ugomemo.hatena.ne.jp/images/emoji/e-4B0.gif" alt="[emoji:4B0]">', "〓"),
        ],
    )
    def test_a_lost_one_is_its_name_without_an_address(self, picture: str, text: str) -> None:
        html = shown(f"<p>a{picture}b</p>")
        assert text in html
        assert "://" not in html

    def test_a_stored_one_without_a_name(self) -> None:
        url = "https://pds.exblog.jp/emoji/162.png"
        assert 'alt="Emoji" title="Emoji"' in shown(f'<img src="{url}" alt="162.png">', url)

    def test_one_in_a_link_has_no_file_name(self) -> None:
        url = "https://pds.exblog.jp/emoji/162.png"
        assert "162.png" not in shown(f'<a href="https://a.example/"><img src="{url}">x</a>', url)

    def test_markdown_has_those_of_unicode_as_text(self) -> None:
        assert quiet('<p>a<img class="emoji" alt="😀" src="https://s.w.org/images/core/emoji/1.svg">b</p>') == "a😀b"
        assert quiet(f'<p>a<img src="{self.HEART}" alt="ラブラブ">b</p>') == f"a![ラブラブ]({self.HEART})b"

    @pytest.mark.parametrize(
        "address",
        [
            "http://blog-imgs-1.fc2.com/emoji/2008-12-03/330763.gif", "http://static.fc2.com/emoji/v/356.gif",
            "http://blog-imgs-1.fc2.com/image/emoji/i/63903.gif", "http://blog102.fc2.com/image/icon/i/F997.gif",
            "http://blog-imgs-1.fc2.com/image/i/265.gif", "http://blog-imgs-1-origin.fc2.com/image/v/354.gif",
            "https://emoji.ameba.jp/img/user/ho/hokkoku/4409391.gif", "https://c.stat100.ameba.jp/blog/ucs/img/char/char2/039.gif",
            "https://parts.blog.livedoor.jp/img/emoji/2/ic_heart.gif", "https://blog.seesaa.jp/images_e/86.gif",
            "https://blog.seesaa.jp/images_w/emoji/1.gif", "https://happy.blog.shinobi.jp/emoji/icon/E/537.gif",
            "http://picto0.jugem.jp/e/m/o/emoji/1.gif", "https://blog.example/.shared/images/emoticon/sun.gif",
        ],
    )  # fmt: skip
    def test_known_folders(self, address: str) -> None:
        assert is_emoji(address)
        assert has_habits(f'<img src="{address}">')

    @pytest.mark.parametrize(
        "address",
        [
            "https://blog-imgs-1.fc2.com/e/x/a/example/emoji.gif", "https://example.web.fc2.com/image/icon/photo.jpg",
            "https://bj.fc2.com/image/banner3.gif", "https://stat.ameba.jp/user_images/20200101/emoji.jpg",
            "https://a.example/emoji/photo.jpg", "https://a.example/?https://pds.exblog.jp/emoji/1.png",
            "https://blog.seesaa.jp/images_emoji.png", "https://livedoor.blogimg.jp/a/imgs/emoji/1.jpg",
        ],
    )  # fmt: skip
    def test_pictures_of_users(self, address: str) -> None:
        assert not is_emoji(address)


def flat(body: Element) -> list[object]:
    """Return the nodes of a tree in their order, each element with its attributes and the number of its children."""
    return [
        each if isinstance(each, str) else (each.tag, tuple(each.attributes.items()), len(each.children))
        for each in (body, *body.walk())
    ]


def changes(html: str, *, marked: bool) -> bool:
    body = parse_body(html)
    before = flat(body)
    quieten(body, html, marked=marked)
    return flat(body) != before


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("count", [200, pytest.param(3_000, marks=pytest.mark.thorough)])
def test_odd_bodies_without_the_marks_stay_the_same(marked: bool, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if every rule looks at them."""
    monkeypatch.setattr(service_habits, "has_habits", lambda _: True)
    made = [*bodies(36, count), *(marked_bodies.make(seed).html for seed in range(count))]
    assert [html for html in made if changes(html, marked=marked)] == []


@pytest.mark.parametrize(
    "html",
    [
        f"<p>前{AD}後</p>", FC2_BUTTONS, f"<p>{NOTICE}</p>", TestKeywords.TEXT,
        TestCitations.FRAME.format("https://a.example/") + TestCitations.CITE.format("https://a.example/"),
        '<ul class="table-of-contents"><li><a href="#a">A</a></li></ul>', f'<img src="{TestEmoji.HEART}">',
    ],
)  # fmt: skip
def test_the_marks_change_a_tree(html: str) -> None:
    """So that the test above can fail."""
    assert changes(html, marked=True)


DEEP = [
    '<div class="table-of-contents">', '<div class="fc2button-clap">', '<ins class="adsbygoogle">', '<span class="emoji">',
    '<a class="keyword" href="https://d.hatena.ne.jp/keyword/x">', '<cite class="hatena-citation"><a href="x">',
    '<iframe src="https://a.example/"></iframe><cite class="hatena-citation">',
    "<p>スポンサーリンク</p>" + UNIT, f"<div>{UNIT}", f"{UNIT}<div>", NOTICE, f"<div>{NOTICE[:30]}",
    '<img class="emoji" alt="a" src="b">', f"<div>{UNIT}</div>" * 2, "<div>上記の広告は",
]  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("piece", DEEP)
def test_10000_of_them_take_no_time(piece: str) -> None:
    html = piece * 10_000 + "終わり"
    started = time.monotonic()
    try:
        body = parse_body(html)
    except TooComplex:
        assert "終わり" in shown(html)
        return
    parsed = time.monotonic() - started
    started = time.monotonic()
    quieten(body, html)
    assert time.monotonic() - started < 5 + 5 * parsed
    assert "終わり" in text_in(body)
