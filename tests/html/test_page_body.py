"""Bodies as pages show them: preserved content, link targets, and no scripts or requests."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.html.links import AddressPattern
from exporter.html.local_links import AssetMap, EntryAddresses
from exporter.html.page_body import BodyWriter, DrawnPicture
from exporter.html.page_sanitizer import ATTRIBUTES, TAGS, clean, safe_style
from exporter.html.text import plain_text
from exporter.html.tree import Element, parse
from exporter.model.asset import Asset
from exporter.translation import translator
from tests.html.payloads import PAYLOADS

BASE = "https://sea.example/"
SHA = "ab" * 32
PICTURE = f"assets/ab/{SHA}.png"


def asset(url: str, content_type: str = "image/png", sha256: str | None = SHA) -> dict[str, object]:
    return Asset(url, 200, content_type, 10, sha256).data()


def writer(*assets: dict[str, object], page_of: Callable[[str], str | None] = lambda _: None) -> BodyWriter:
    return BodyWriter(AssetMap(assets, BASE).local_path, BASE, "en", prefix="../../", page_of=page_of)


@pytest.fixture
def shown() -> Callable[[str], str]:
    known = writer(asset("https://sea.example/a.png"), asset("https://sea.example/a.svg", "image/svg+xml"))
    return lambda html: str(known.html(html, "../"))


def elements(html: str) -> list[Element]:
    return [node for node in parse(html).walk() if isinstance(node, Element)]


class TestTexts:
    def test_a_list_of_tasks_keeps_its_ticks(self, shown: Callable[[str], str]) -> None:
        body = '<ul><li><input type="checkbox" checked> 一</li><li><input type="checkbox">二</li></ul><input type="checkbox">'
        assert shown(body) == "<ul><li><span>☑</span> 一</li><li><span>☐</span> 二</li></ul>"

    def test_links_to_people_and_places_are_kept(self, shown: Callable[[str], str]) -> None:
        for address in (
            "tel:0312345678",
            "line://ti/p/@sea",
            "geo:35.1,139.2",
            "webcal://a.example/a.ics",
            "mailto:a@a.example",
        ):
            assert (
                shown(f'<p><a href="{address}">海</a></p>')
                == f'<p><a href="{address}" rel="noopener noreferrer">海</a></p>'
            )
        for address in ("javascript:x", "intent://x", "ms-msdt:x", "data:text/html,x"):
            assert "href" not in shown(f'<p><a href="{address}">海</a></p>')

    def test_a_text_keeps_its_lines(self, shown: Callable[[str], str]) -> None:
        assert shown("一行目\r\n二行目 <3") == "一行目<br>\n二行目 &lt;3"
        assert shown("一 > 二\n三") == "一 &gt; 二<br>\n三"

    def test_marked_up_text_without_line_tags_keeps_its_lines(self, shown: Callable[[str], str]) -> None:
        assert shown("<b>一</b>\n二") == "<b>一</b><br>\n二"

    def test_html_keeps_its_own_lines(self, shown: Callable[[str], str]) -> None:
        assert shown("<p>一\n二</p>") == "<p>一\n二</p>"

    @pytest.mark.parametrize(
        "html",
        [
            "<ruby>百<rp>（</rp><rt>ひゃく</rt><rp>）</rp></ruby>",
            '<div class="wide"><table><tbody><tr><td colspan="2">a</td></tr></tbody></table></div>',
            "<details open=\"\"><summary>a</summary>b</details>",
            "<ul><li>a</li><li>b</li></ul>",
            '<p style="text-align:center"><strong>a</strong><br>b</p>',
        ],
    )  # fmt: skip
    def test_the_content_is_preserved(self, shown: Callable[[str], str], html: str) -> None:
        assert shown(html.removeprefix('<div class="wide">').removesuffix("</div>")) == html

    def test_a_cell_with_more_text_than_a_word_is_marked_as_one_that_has_several_lines(
        self, shown: Callable[[str], str]
    ) -> None:
        cells = ["<td>強力粉です</td>", "<td>強力粉<b>二百五十</b></td>", "<td>とても長い値<img src=a.png></td>"]
        found = shown(f"<table><tr>{''.join(cells)}<td></td></tr></table>")
        assert [found.count(cell) for cell in (cells[0], '<td class="long">強力粉<b>', "<td>とても長い値")] == [1, 1, 1]
        assert found.count("long") == 1

    def test_a_tangled_body_is_shown_as_its_source(self, shown: Callable[[str], str]) -> None:
        source = "<b x>" * 50_000 + "<p>" * 50_000
        assert shown(source).startswith("<pre>&lt;b x&gt;")

    def test_deep_nesting_is_no_problem(self, shown: Callable[[str], str]) -> None:
        assert "深" in shown("<div>" * 3_000 + "深")

    def test_ids_differ_from_ids_of_the_page(self, shown: Callable[[str], str]) -> None:
        html = shown('<a name="main">x</a><p id="keys"><a href="#main">y</a><a href="#keys">z</a></p>')
        assert 'id="c-main"' in html
        assert 'id="c-keys"' in html
        assert 'href="#c-main"' in html


class TestPictures:
    def test_a_stored_picture_is_the_file(self, shown: Callable[[str], str]) -> None:
        assert shown('<img src="/a.png" alt="海">') == f'<img src="../../../{PICTURE}" alt="海">'

    def test_one_that_waits_for_a_script_is_shown(self, shown: Callable[[str], str]) -> None:
        assert PICTURE in shown('<img src="blank.gif" data-src="https://sea.example/a.png">')

    def test_one_that_was_not_saved_is_named(self, shown: Callable[[str], str]) -> None:
        html = shown('<img src="https://gone.example/b.png" alt="港">')
        assert "<img" not in html
        assert "港" in html
        assert 'href="https://gone.example/b.png"' in html

    def test_pixels_in_the_address_stay(self, shown: Callable[[str], str]) -> None:
        assert 'src="data:image/png;base64,AAAA"' in shown('<img src="data:image/png;base64,AAAA">')

    @pytest.mark.parametrize(
        "source", ["data:image/svg+xml;base64,AAAA", "data:text/html,x", "file:///etc/passwd", "javascript:1", ""]
    )
    def test_other_sources_never_load(self, shown: Callable[[str], str], source: str) -> None:
        assert "src=" not in shown(f'<img src="{source}" alt="x">')


class TestLinks:
    @pytest.mark.parametrize(
        ("href", "expected"),
        [
            ("https://other.example/a?b=1#c", "https://other.example/a?b=1#c"),
            ("mailto:a@example.jp", "mailto:a@example.jp"),
            ("/about", "https://sea.example/about"),
            ("page.html", "https://sea.example/page.html"),
            ("//other.example/x", "https://other.example/x"),
            ("\\\\share\\x", "https://share/x"),
            ("../../../../etc/passwd", "https://sea.example/etc/passwd"),
            ("/a.png", f"../../../{PICTURE}"),
        ],
    )
    def test_they_keep_their_targets(self, shown: Callable[[str], str], href: str, expected: str) -> None:
        assert f'href="{expected}"' in shown(f'<a href="{href}">x</a>')

    @pytest.mark.parametrize("href", ["javascript:1", "file://host/x", "data:text/html,x", "vbscript:x", "#", "x:y"])
    def test_others_are_text(self, shown: Callable[[str], str], href: str) -> None:
        assert "href" not in shown(f'<a href="{href}">x</a>')

    def test_a_stored_file_that_could_run_is_not_opened(self, shown: Callable[[str], str]) -> None:
        assert 'href="https://sea.example/a.svg"' in shown('<a href="/a.svg">x</a>')

    def test_own_entries_are_pages(self) -> None:
        pattern = AddressPattern("https://sea.example/e/{entry_id}", "entry_url")
        known = EntryAddresses([pattern], [("7", {"entry_id": "7"})], BASE)
        assert 'href="../entry/7.html"' in writer(page_of=lambda address: f"entry/{known.entry_of(address)}.html").html(
            '<a href="/e/7">x</a>', "../"
        )

    def test_links_send_no_referrer(self, shown: Callable[[str], str]) -> None:
        assert 'rel="noopener noreferrer"' in shown('<a href="https://a.example">x</a>')


class TestStoredPictures:
    """If the page says how to show stored pictures, they have sizes and links to the full pictures."""

    @pytest.fixture
    def drawn(self) -> Callable[[str], str]:
        known = AssetMap(
            [asset("https://sea.example/a%20b.png"), asset("https://sea.example/a.svg", "image/svg+xml", "cd" * 32)],
            BASE,
        )
        small = DrawnPicture(f"thumbnails/ab/{SHA}.webp", (1200, 800))
        body = BodyWriter(
            known.local_path,
            BASE,
            prefix="../../",
            picture=lambda path: small if path == PICTURE else DrawnPicture(path, None),
        )
        return lambda html: str(body.html(html, "../"))

    @pytest.mark.parametrize(
        ("attributes", "sides"),
        [
            ("", (1200, 800)), ("width=600", (600, 400)), ("height=400", (600, 400)), ("width=300 height=300", (300, 300)),
            ("width=0", (1200, 800)), ("width=50%", (1200, 800)),
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("around", ["{}", "<p><font>{}</font></p>", "<ruby>{}</ruby>", "<h2>{}</h2>"])
    def test_both_sides_are_written(
        self, drawn: Callable[[str], str], attributes: str, sides: tuple[int, int], around: str
    ) -> None:
        found = elements(drawn(around.format(f'<img src="/a%20b.png" loading=eager {attributes}>')))
        link, image = next(each for each in found if each.tag == "a"), next(each for each in found if each.tag == "img")
        assert link.attributes["href"] == f"../../../{PICTURE}"
        assert image.attributes == {
            "src": f"../thumbnails/ab/{SHA}.webp", "alt": translator("ja")("Picture {n}", n=1), "class": "unnamed", "loading": "lazy",
            "width": str(sides[0]), "height": str(sides[1]),
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("picture", "alt"),
        [
            ('<img src="/a%20b.png" alt="IMG_0004.jpg" title="f:id:umi:20200101123456j:plain">', "Picture 1"),
            ('<img src="/a%20b.png" alt="桜" title="桜の下で">', "桜"),
            ('<img src="/a%20b.png" alt="" width="16" height="16">', ""),
            ('<img src="/a%20b.png" alt="icon.gif" width="16" height="16">', ""),
            ('<a href="/b"><img src="/a%20b.png" alt="icon.gif" width="16" height="16"></a>', "Picture 1"),
            ('<a href="/b"><img src="data:image/gif;base64,AAAA"></a>', "Picture 1"),
            ('<img src="data:image/gif;base64,AAAA" alt="0004.gif">', "Picture 1"),
            ('<img src="data:image/gif;base64,AAAA" alt="">', ""),
            ('<img src="data:image/gif;base64,AAAA" alt="海">', "海"),
        ],
    )
    def test_a_file_name_is_no_description(self, drawn: Callable[[str], str], picture: str, alt: str) -> None:
        expected = alt.replace("Picture 1", translator("ja")("Picture {n}", n=1))
        (image,) = (each for each in elements(drawn(f"<p>海。{picture}</p>")) if each.tag == "img")
        assert image.attributes["alt"] == expected
        assert image.attributes.get("title", "") == ("桜の下で" if alt == "桜" else "")

    def test_a_missing_picture_is_not_named_by_its_file(self, drawn: Callable[[str], str]) -> None:
        html = drawn('<img src="https://gone.example/c.png" alt="IMG_0004.jpg">')
        assert "IMG_0004" not in html
        assert translator("ja")("This picture was not saved") in html

    def test_a_portrait_has_its_ratio_for_the_style_sheet(self) -> None:
        tall = DrawnPicture(PICTURE, (600, 1200))
        body = BodyWriter(writer(asset("https://sea.example/a.png")).local_path, BASE, picture=lambda _: tall)
        assert 'style="color:red;--c:red;--r:0.50"' in body.html('<img src="/a.png" style="color:red">', "")
        assert 'style="--r:' not in body.html('<img src="/a.png" width="16">', "")

    @pytest.mark.parametrize(
        "html",
        [
            '<a href="https://b.example/"><img src="/a%20b.png"></a>', '<p><a href="https://b.example/"><b><img src="/a%20b.png"></b></a></p>',
            '<ruby><a href="https://b.example/">x<img src="/a%20b.png"></a></ruby>',
        ],
    )  # fmt: skip
    def test_a_linked_picture_keeps_its_link(self, drawn: Callable[[str], str], html: str) -> None:
        assert [each.attributes["href"] for each in elements(drawn(html)) if each.tag == "a"] == ["https://b.example/"]

    def test_the_link_floats(self, drawn: Callable[[str], str]) -> None:
        link, image = elements(drawn('<img src="/a%20b.png" align=left hspace=8 style="border:1px solid red">'))
        assert link.attributes["style"] == "float:left;margin-left:8px;margin-right:8px"
        assert image.attributes["style"] == "border:1px solid red"

    def test_the_next_one_is_a_link_again(self, drawn: Callable[[str], str]) -> None:
        for around in ("{}", "<ruby>x</ruby>{}"):
            html = around.format('<a href="https://b.example/">x</a><img src="/a%20b.png"><img src="/a%20b.png">')
            assert len([each for each in elements(drawn(html)) if each.tag == "a"]) == 3

    @pytest.mark.parametrize("html", ['<img src="/a%20b.png" width=20>', '<img src="/a.svg">'])
    def test_inline_signs_and_files_with_active_content_are_not_links(
        self, drawn: Callable[[str], str], html: str
    ) -> None:
        assert [each.tag for each in elements(drawn(html))] == ["img"]


class TestEmbeds:
    @pytest.mark.parametrize(
        ("html", "kind", "href", "label"),
        [
            ('<iframe src="https://a.example/1">no</iframe>', "card", "https://a.example/1", "Embedded: a.example"),
            ('<iframe src="https://youtube.com@a.example/1"></iframe>', "card", "https://youtube.com@a.example/1", "Embedded: a.example"),
            ('<iframe src="https://a.example/1" title="題"></iframe>', "card", "https://a.example/1", "題 <small>a.example</small>"),
            ('<video><source src="https://v.example/2.mp4"></video>', "player", "https://v.example/2.mp4", "Video: v.example"),
            ('<audio src="https://v.example/2.mp3"></audio>', "card", "https://v.example/2.mp3", "Sound: v.example"),
            ('<object data="https://v.example/3.pdf"></object>', "card", "https://v.example/3.pdf", "Embedded: v.example"),
            ('<embed src="/4.html">', "card", "https://sea.example/4.html", "Embedded: sea.example"),
            ('<iframe src="//www.youtube.com/embed/dQw4w9WgXcQ?rel=0"></iframe>', "player", "https://www.youtube.com/watch?v=dQw4w9WgXcQ", "Video: www.youtube.com"),
            ('<iframe data-src="https://www.youtube.com/embed/abc"></iframe>', "player", "https://www.youtube.com/watch?v=abc", "Video: www.youtube.com"),
        ],
    )  # fmt: skip
    def test_they_become_links(self, html: str, kind: str, href: str, label: str) -> None:
        shown = writer().html(html, "../")
        assert shown == f'<a class="{kind}" href="{href}" rel="noopener noreferrer">{label}</a>'

    def test_a_card_of_an_own_entry_leads_to_its_page(self) -> None:
        pattern = AddressPattern("https://sea.example/e/{entry_id}", "entry_url")
        known = EntryAddresses([pattern], [("7", {"entry_id": "7"})], BASE)
        frame = '<iframe src="https://hatenablog-parts.com/embed?url=https%3A%2F%2Fsea.example%2Fe%2F7" title="桜"></iframe>'
        shown = writer(page_of=lambda address: f"entry/{found}.html" if (found := known.entry_of(address)) else None)
        assert shown.html(frame, "../") == (
            '<a class="card" href="../entry/7.html" rel="noopener noreferrer">桜 <small>sea.example</small></a>'
        )

    @pytest.mark.parametrize("html", ["<iframe>x</iframe>", '<iframe src="javascript:1"></iframe>', "<video></video>"])
    def test_an_embed_without_an_address_is_dropped(self, shown: Callable[[str], str], html: str) -> None:
        assert shown(html) == ""


class TestStyles:
    def test_text_colours_without_a_background_of_their_own_are_passed_to_the_page(
        self, shown: Callable[[str], str]
    ) -> None:
        assert (
            shown('<b style="color:RED;font-weight:bold">海</b>')
            == '<b style="color:red;font-weight:bold;--c:red">海</b>'
        )
        assert shown('<font color="#369">海</font>').count("--c:#369") == 1
        alone = '<b style="color:red;background:black">海</b>'
        assert shown(alone) == alone

    @pytest.mark.parametrize(
        ("style", "kept"),
        [
            ("color: RED; font-weight:bold", "color:red;font-weight:bold"),
            ("COLOR:#336699 !important", "color:#336699"),
            ("background-color: rgb(1, 2, 3)", "background-color:rgb(1, 2, 3)"),
            ("font-size:x-large", "font-size:x-large"),
            ("text-align:center;position:fixed;top:0", "text-align:center"),
            ("margin: 0 auto", "margin:0 auto"),
            ("border:1px solid #ccc", "border:1px solid #ccc"),
        ],
    )
    def test_visible_styles_are_kept(self, style: str, kept: str) -> None:
        assert safe_style(style) == kept

    def test_other_styles_are_dropped(self, subtests: pytest.Subtests) -> None:
        rows: list[str] = [
            "background:url(https://a.example/x)", "background:u\\72l(x)", "position:fixed", "width:99999px",
            "margin-top:-50px", "color:expression(1)", "color:var(--x)", "behavior:url(x)", "color:/**/red",
            "display:none", "content:'x'", "font-size:1e9px", "--x:1", "", "color", "background:image-set('x')",
        ]  # fmt: skip
        for style in rows:
            with subtests.test(style=style):
                assert safe_style(style) is None


class TestNothingRuns:
    @pytest.mark.parametrize("payload", PAYLOADS)
    def test_a_payload_leaves_only_harmless_markup(self, shown: Callable[[str], str], payload: str) -> None:
        assert_harmless(shown(payload))
        assert_harmless(clean(payload))

    @given(st.lists(st.sampled_from([*PAYLOADS, "<p>", "</p>", "<table>", "<svg>", "</svg>", "<b>", "海"]), max_size=4))
    def test_several_payloads_together_leave_none_either(self, parts: list[str]) -> None:
        html = str(writer().html("".join(parts), "../"))
        assert_harmless(html)
        assert clean(html) == html

    @given(st.text(alphabet="<>/=\"'&;!- abpiscrtnolg:\\\u2028海", max_size=80))
    def test_random_markup_leaves_none_either(self, text: str) -> None:
        assert_harmless(str(writer().html(text, "../")))


def assert_harmless(html: str) -> None:
    for element in elements(html):
        assert element.tag in TAGS, html
        allowed = ATTRIBUTES.get(element.tag, frozenset()) | ATTRIBUTES["*"] | {"class", "rel"}
        for name, value in element.attributes.items():
            assert name in allowed, html
            assert not name.startswith("on")
            if name in {"src", "href", "cite"}:
                assert re.match(r"https?://[^/\\]|mailto:|#|(\.\./)*(assets|entry)/|data:image/(?!svg)", value), html


BODIES = [*PAYLOADS, "", "一行\n二行", "<b>a</b>\nb", "<p>a &amp; b<br>c</p>", "<b><i>" * 5_000, "<br>" * 150_001]


def test_a_body_is_parsed_once_for_its_page_and_its_text(subtests: pytest.Subtests) -> None:
    for source in BODIES:
        with subtests.test(source=source):
            html, text = writer().html_and_text(source, "../")

            assert html == writer().html(source, "../")
            assert text == plain_text(source)
