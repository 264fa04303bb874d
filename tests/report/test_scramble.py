"""Every character becomes another of its kind, structure stays, and nothing of four characters gets through."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.report.characters import CannotScramble, Chooser, alphabet, is_text, scrambled_run, telling_windows
from exporter.report.markup import Piece, cut
from exporter.report.names import KEPT
from exporter.report.scramble import Scrambler
from exporter.report.verify import leaks, runs
from tests.report.originals import BODIES

KEY = b"a key for tests, 32 bytes of it.."[:32]


def scrambler(*texts: str, ids: tuple[str, ...] = (), moments: tuple[str, ...] = ()) -> Scrambler:
    return Scrambler(KEY, telling_windows(texts), ids, moments, ["entry"])


def kind(char: str) -> tuple[object, ...]:
    """What of a character has to stay."""
    script = next(
        (
            name
            for name in ("HIRAGANA", "KATAKANA", "CJK", "HANGUL", "LATIN", "DIGIT", "REGIONAL")
            if name in unicodedata.name(char, "")
        ),
        "",
    )
    return script, char.isupper(), char.isdigit(), unicodedata.east_asian_width(char), len(char.encode())


@pytest.mark.parametrize("char", "aZ0あアｱ漢Ａｚ９가éЖ😀🇯①Ⅷ㎏豈𠀋\ue63e")
def test_a_character_becomes_another_of_its_kind(char: str) -> None:
    letters = alphabet(char)
    assert len(letters) > 4
    made = scrambled_run(char * 50, Chooser(KEY, "test", char), ())
    assert char not in made
    assert len(set(made)) > 3
    if char in "aZ0あアｱ漢Ａｚ９가🇯𠀋":
        assert {kind(each) for each in made} == {kind(char)}
    assert {len(each.encode()) for each in made} == {len(char.encode())}


@pytest.mark.parametrize(
    "text",
    " \t\r\n\x00\x0b\u3000。、「」！？!?.,-_()<>&*#[]|~^\u3099\u0301\u200d\ufe0fーｰ々ゝ\ud83d\udc00+=$€\U0001f3fb",
)
def test_what_is_no_text_stays(text: str) -> None:
    assert (alphabet(text), is_text(text)) == ("", False)
    assert scrambler().text(text) == text


@pytest.mark.parametrize("body", BODIES)
def test_a_body_keeps_its_structure(body: str) -> None:
    made = scrambler(*BODIES).text(body)
    before, after = list(cut(body)), list(cut(made))
    assert "".join(piece.text for piece in before) == body
    assert [(piece.piece, len(piece.text)) for piece in before] == [(piece.piece, len(piece.text)) for piece in after]
    for one, other in zip(before, after, strict=True):
        if one.piece in {Piece.TAG, Piece.NAME, Piece.SYNTAX}:
            assert one.text == other.text
    assert list(leaks([made], telling_windows(BODIES))) == []
    assert len(made.encode("utf-8", "surrogatepass")) == len(body.encode("utf-8", "surrogatepass"))


def test_the_same_becomes_the_same_and_another_key_gives_another() -> None:
    one, other = Scrambler(KEY), Scrambler(KEY[::-1])
    assert one.text("潮だまり") == Scrambler(KEY).text("潮だまり") != other.text("潮だまり")
    assert one.word("umi") == one.word("umi")


def test_tags_and_attributes_that_nobody_knows_are_scrambled() -> None:
    made = scrambler().text("<tanaka denwa=himitsu class='hako red' style='font-size:12px;himitsu:1'>x</tanaka>")
    for word in ("tanaka", "denwa", "himitsu", "hako"):
        assert word not in made
    assert "font-size:12px;" in made
    assert " red'" in made
    assert made.index("</") > 0


@pytest.mark.parametrize(
    ("style", "kept"),
    [
        ("color:#ff0000;width:50%", "color:#ff0000;width:50%"),
        ("background:url(https://a.example/x.png) no-repeat", "background:url(https://"),
        ("margin:-1.5em auto 0 2px !important", "margin:-1.5em auto 0 2px !important"),
    ],
)
def test_styles_keep_their_words(style: str, kept: str) -> None:
    assert scrambler().style(style).startswith(kept)


@pytest.mark.parametrize(
    ("html", "kept"),
    [
        (
            '<img srcset="/a/umi.jpg 2x, https://umi.example/x.png 640w">',
            r'<img srcset="/./\w+\.jpg 2x, https://\w+\.example/\w\.png 640w">',
        ),
        ('<a title="海 &amp; &#12354; 山" href=x>', r'<a title="\w &amp; &#\d{5}; \w" href=\w>'),
        ("<!DOCTYPE html himitsu><?xml himitsu?>", r"<!DOCTYPE \w+ \w+><\?xml \w+\?>"),
        ("<title>海の<b>題</title>", r"<title>\w\w<\w>\w</title>"),
        ("<div =x / y>z</div", r"<div =\w / \w>\w</div"),
        ("AT&T &himitsu; &copy", r"\w\w&\w &\w+; &copy"),
        ("<p id=umi-no-nikki><a href='#umi-no-nikki'>", r"<p id=(\S+)><a href='#\1'>"),
        ("http://umi.example/%A4%A2%61", r"http://\w+\.example/%[A-F]\w%[A-F]\w%[67]\w"),
        ("STATUS: 下書き\nNIKKI: 海", r"STATUS: \w+\n[A-Z]{5}: \w"),
    ],
)
def test_markup_keeps_its_form(html: str, kept: str) -> None:
    made = scrambler(html).text(html)
    assert re.fullmatch(kept, made), made
    assert list(leaks([made], telling_windows([html]))) == []


def test_addresses_agree_with_each_other() -> None:
    made = scrambler(ids=("123", "456"), moments=("1556668800",))
    host = made.host("hamabe.blog.example.jp")
    assert host.endswith(".example.jp")
    assert made.id("hamabe.blog.example.jp") == host
    link = made.address("https://hamabe.blog.example.jp/Entry/123/?p=%E3%81%82#c456")
    assert link.startswith(f"https://{host}/Entry/{made.id('123')}/?")
    assert made.date("1556668800") in made.address("https://files.example.jp/v1/user/abcd/1556668800.jpg")
    assert made.address("https://files.example.jp/a/umi.jpg").endswith(".jpg")
    assert int(made.id("123")) < int(made.id("456"))
    assert made.address("/img/umi.jpg").startswith("/img/")


@pytest.mark.parametrize("host", ["www.youtube.com", "blog.cnobi.jp", "open.spotify.com", "api.shinobi.jp"])
def test_public_hosts_and_those_of_known_services_are_kept(host: str) -> None:
    assert scrambler().host(host) == host


def test_a_blog_at_a_known_service_keeps_the_service() -> None:
    assert scrambler().host("hamabe.blog.shinobi.jp").endswith(".blog.shinobi.jp")
    assert "hamabe" not in scrambler().host("hamabe.blog.shinobi.jp")


@pytest.mark.parametrize(
    "address",
    [
        "", "#", "?", "//", "http://", "http:///x", "javascript:alert('himitsu')", "mailto:watashi@example.jp",
        "data:image/png;base64,iVBORw0KGgoHIMITSU", "himitsu:nikki", "http://user:pass@host.example:8080/x",
        "http://[::1]/a", "../umi/../shashin.html", "%zz%E3%81", "%82%A0%82%A2", "http://日本語.example/海?魚=鯛",
        "http://a.example/\n b", "c:\\umi\\shashin.jpg",
    ],
)  # fmt: skip
def test_any_address_keeps_its_length_and_says_nothing(address: str) -> None:
    made = scrambler(address).address(address)
    assert len(made) == len(address)
    assert list(leaks([made], telling_windows([address]))) == []
    assert [char for char in made if not is_text(char)] == [char for char in address if not is_text(char)]


@pytest.mark.parametrize("reference", ["&#12354;", "&#x3042;", "&#X3042", "&eacute;", "&Alpha;", "&#97;"])
def test_character_references_of_letters_are_scrambled_in_their_form(reference: str) -> None:
    made = scrambler().text(reference)
    assert made != reference
    assert (len(made), made[:2] in {reference[:2], "&" + made[1]}) == (len(reference), True)


@pytest.mark.parametrize(
    "reference", ["&amp;", "&lt;", "&nbsp;", "&#0;", "&#8226;", "&#99999999;", "&hearts;", "&unknown;"]
)
def test_other_references_stay(reference: str) -> None:
    made = scrambler().text(reference)
    assert (made == reference) is (reference != "&unknown;")


def test_ids_keep_their_order_and_length() -> None:
    ids = ("1", "2", "9", "10", "57", "58", "99", "4000", "4001", "90071992547409931")
    made = [scrambler(ids=ids).id(each) for each in ids]
    assert [len(each) for each in made] == [len(each) for each in ids]
    assert sorted(map(int, made)) == list(map(int, made))
    assert len(set(made)) == len(ids)
    assert scrambler(ids=("007",)).id("007") != "007"
    crowded = tuple(map(str, range(10, 100)))
    assert [scrambler(ids=crowded).id(each) for each in crowded] == list(crowded)


@pytest.mark.parametrize("text", ["2019-05-31 07:30:00", "2019/05/31", "1556668800"])
def test_dates_move_by_the_same_days(text: str) -> None:
    made = scrambler(moments=(text,)).date(text)
    assert made != text
    assert (len(made), made[10:]) == (len(text), text[10:])
    assert scrambler().days % 7 == 0
    assert scrambler().days < -365


@pytest.mark.parametrize("text", ["0000-00-00 00:00:00", "2019-02-30 01:02:03", "9999/99/99"])
def test_impossible_dates_stay_impossible(text: str) -> None:
    made = scrambler().date(text)
    assert made[4:] == text[4:]


def test_numbers_keep_their_form() -> None:
    for text in ("-0", "1.10", "1e400", "12345678901234567890", "0.5"):
        made = scrambler().number(text)
        assert len(made) == len(text)
        assert [char for char in made if not char.isdigit()] == [char for char in text if not char.isdigit()]


def test_a_shape_without_another_text_is_refused() -> None:
    class All(set[str]):
        def __contains__(self, _: object) -> bool:
            return True

    with pytest.raises(CannotScramble):
        scrambled_run("abcd", Chooser(KEY, "", ""), All())


def test_words_that_are_kept_are_no_leak_and_others_are() -> None:
    banned = telling_windows(["center himitsu 12345", "&nbsp;"])
    assert list(leaks(["<center>", "&nbsp;", "12345", "him its"], banned)) == []
    assert list(leaks(["xhimix"], banned)) == ["himi"]
    assert list(leaks(["himitsu"], banned, {"himitsu"})) == []
    assert list(runs("ab。cd")) == ["ab", "cd"]
    assert all(word == word.lower() for word in KEPT)


TEXT = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("あいうえおアイウｱｲ漢字海山。、「」ー々😀👨\u200d\u3099<>&;#/='\" \r\naeiouABC0129\ud83d"),
    ),
    max_size=60,
)
HTML = st.lists(
    st.one_of(
        TEXT,
        st.sampled_from(
            [
                "<b>",
                "</b>",
                "<p class=x>",
                '<a href="http://umi.example/',
                "<!--",
                "-->",
                "&amp;",
                "&#12354;",
                "<td>",
                "<script>",
                "</script>",
                "style='",
            ]
        ),
    ),
    max_size=12,
).map("".join)


def no_run_gets_through(texts: list[str]) -> None:
    banned = telling_windows(texts)
    made = Scrambler(KEY, banned, texts)
    for text in texts:
        other = made.text(text)
        assert len(other) == len(text)
        assert [char for char in other if not is_text(char)] == [char for char in text if not is_text(char)]
        assert list(leaks([other], banned)) == []
        assert len(made.address(text)) == len(text)
        assert list(leaks([made.address(text)], banned)) == []


@settings(max_examples=40)
@given(st.lists(HTML, max_size=6))
def test_no_four_characters_of_anything_get_through(texts: list[str]) -> None:
    no_run_gets_through(texts)


@pytest.mark.slow
@settings(max_examples=10_000)
@given(st.lists(HTML, max_size=6))
def test_no_four_characters_of_anything_get_through_ten_thousand_times(texts: list[str]) -> None:
    no_run_gets_through(texts)
