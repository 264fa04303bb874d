"""The encodings of old pages, and the dates that templates write."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.service.public_site.dates import read_page_date
from exporter.service.public_site.text import decode_page
from exporter.setting_types import zone

JST = zone("JST")
NEC = "①⑳ⅠⅩ㌔㎜㍻№㏍℡㊤㈱㈲㈹㍾∮∟⊿"


def in_euc(text: str) -> bytes:
    """Return text in the EUC-JP of Windows, by its place in Shift_JIS."""
    found = b""
    for char in text:
        try:
            found += char.encode("euc_jp")
        except UnicodeEncodeError:
            lead, trail = char.encode("cp932")
            row = (lead - (0x81 if lead < 0xA0 else 0xC1)) * 2 + (1 if trail < 0x9F else 2)
            cell = trail - (0x9E if trail >= 0x9F else 0x3F if trail < 0x80 else 0x40)
            found += bytes((row + 0xA0, cell + 0xA0))
    return found


@pytest.mark.parametrize(
    ("body", "content_type", "encoding"),
    [
        (f"日本{NEC}".encode("cp932"), "text/html; charset=Shift_JIS", "cp932"),
        (in_euc(f"日本{NEC}"), "text/html; charset=EUC-JP", "euc_jp"),
        (
            b'<meta http-equiv="Content-Type" content="text/html; charset=x-euc-jp">' + in_euc(NEC),
            "text/html",
            "euc_jp",
        ),
        ("\ufeff日本①".encode(), "text/html; charset=EUC-JP", "utf-8"),
        (in_euc("日本語のブログです。"), "", "euc_jp"),
        ("日本語のブログです。".encode("cp932"), "", "cp932"),
        ("日本語のブログです。".encode("cp932"), "text/html; charset=UTF-8", "cp932"),
        ("日本".encode(), "text/html; charset=rot13", "utf-8"),
        ("日本".encode(), "text/html; charset=undefined", "utf-8"),
    ],
)
def test_the_encoding_is_found(body: bytes, content_type: str, encoding: str) -> None:
    page = decode_page(body, content_type)
    assert (page.encoding, page.damaged) == (encoding, 0)
    assert "日本" in page.text or NEC in page.text


SHORT = (
    "日記",
    "日記を書いた。",
    "第1回",
    "薔薇と﨑さん",
    "<p>ブログを始めました</p>",
    "①と㈱",
    "ひらがなの中のｶﾀｶﾅです。",
)
"""Short pages: some encodings that they are not in read them without an error."""


def encoded(text: str, encoding: str) -> bytes:
    return in_euc(text) if encoding == "euc_jp" else text.encode(encoding)


@pytest.mark.parametrize("text", SHORT)
def test_a_short_page_is_read_in_its_encoding(text: str, subtests: pytest.Subtests) -> None:
    for label, encoding in (("UTF-8", "utf-8"), ("EUC-JP", "euc_jp"), ("Shift_JIS", "cp932")):
        body = encoded(text, encoding)
        for stated in ("", label, "UTF-8", "x-user-defined"):
            with subtests.test(encoding=encoding, stated=stated):
                page = decode_page(body, f"text/html; charset={stated}" if stated else "text/html")
                assert (page.text, page.damaged) == (text, 0)


@pytest.mark.parametrize("stated", ["", "ISO-2022-JP", "UTF-8", "Shift_JIS"])
def test_iso_2022_jp_is_known_by_its_escapes(stated: str) -> None:
    body = "<p>今日は".encode("iso2022_jp") + b"\x1b$B-!\x1b(B" + "海へ。</p>".encode("iso2022_jp")
    page = decode_page(body, f"text/html; charset={stated}" if stated else "")
    assert (page.text, page.damaged) == ("<p>今日は①海へ。</p>", 0)


@pytest.mark.parametrize("stated", ["", "UTF-8"])
def test_a_page_that_is_cut_inside_a_character_keeps_its_encoding(stated: str) -> None:
    for text in ("日本", "第1回", "春が来た。"):
        page = decode_page(text.encode()[:-1], f"text/html; charset={stated}" if stated else "")
        assert (page.text, page.damaged) == (text[:-1] + "\ufffd", 1)


@pytest.mark.parametrize("stated", ["", "EUC-JP"])
def test_the_euc_jp_of_unix_has_the_characters_of_ibm(stated: str) -> None:
    # The codes are those of glibc's EUC-JP-MS.
    body = b"\x8f\xf4\xfc" + "とさんの".encode("euc_jp") + b"\x8f\xf3\xf3\x8f\xf4\xc4" + "日記です。".encode("euc_jp")
    page = decode_page(body, f"text/html; charset={stated}" if stated else "")
    assert page.text == "魲とさんのⅰ\ufa12日記です。"
    damaged = decode_page(b"\x8f\xfe\xfe" + "日記です。".encode("euc_jp"), "text/html; charset=EUC-JP")
    assert (damaged.text, damaged.damaged) == ("\ufffd日記です。", 1)


@given(st.binary(max_size=200), st.text(max_size=30))
def test_any_bytes_have_a_text(body: bytes, content_type: str) -> None:
    assert decode_page(body, content_type).damaged >= 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2020-01-02T07:08:09+09:00", "2020-01-02T07:08:09+09:00"),
        ("2020-01-01T22:08:09Z", "2020-01-02T07:08:09+09:00"),
        ("Thu, 02 Jan 2020 07:08:09 +0900", "2020-01-02T07:08:09+09:00"),
        ("2020年01月02日(木) 07時08分09秒", "2020-01-02T07:08:09+09:00"),
        ("2020年1月2日 午後3:04", "2020-01-02T15:04:00+09:00"),
        ("2020/01/02 Thu 12:04 AM", "2020-01-02T00:04:00+09:00"),
        ("[ 2020.1.2 ]", "2020-01-02T00:00:00+09:00"),
        ("January 2, 2020", "2020-01-02T00:00:00+09:00"),
        ("Jan 2, 2020 at 3:04 pm", "2020-01-02T15:04:00+09:00"),
        ("Posted by Taro on Thursday, January 2nd, 2020 3:04 PM", "2020-01-02T15:04:00+09:00"),
        ("2 January 2020, 3:04 p.m.", "2020-01-02T15:04:00+09:00"),
        ("Thu Jan  2 15:04:05 2020", "2020-01-02T15:04:05+09:00"),
        ("Thu Jan 02 15:04:05 JST 2020", "2020-01-02T15:04:05+09:00"),
        ("3:04 PM - Sept. 12, 2020", "2020-09-12T15:04:00+09:00"),
        ("02.01.2020 15:04", "2020-01-02T15:04:00+09:00"),
        ("13/01/2020", "2020-01-13T00:00:00+09:00"),
        ("01/13/2020 12:30 AM", "2020-01-13T00:30:00+09:00"),
        ("02/01/2020", None),
        ("令和2年1月2日", "2020-01-02T00:00:00+09:00"),
        ("令和元年5月1日(水) 午前9時5分", "2019-05-01T09:05:00+09:00"),
        ("H31.4.30", "2019-04-30T00:00:00+09:00"),
        ("2020年1月2日 15時4分", "2020-01-02T15:04:00+09:00"),
        ("2020年1月2日 午後3時", "2020-01-02T15:00:00+09:00"),
        ("２０２０年１月２日　１５：０４", "2020-01-02T15:04:00+09:00"),
        ("2020-1-2T3:4:5+09:00", "2020-01-02T03:04:05+09:00"),
        ("2020-1-1T18:4:5Z", "2020-01-02T03:04:05+09:00"),
        ("2020/01/02 15:04:05 +0000", "2020-01-03T00:04:05+09:00"),
        ("Thu, 2 Jan 2020 07:08 EST", "2020-01-02T21:08:00+09:00"),
        ("Marble 3, 2020", None),
        ("3 年前", None),
        ("2020/13/45", None),
        ("0001-01-01T00:00:00", None),
        ("", None),
    ],
)
def test_a_date_is_read(text: str, expected: str | None) -> None:
    found = read_page_date(text, JST)
    assert (None if found is None else found.isoformat()) == expected


@given(st.text(max_size=60))
def test_no_text_raises(text: str) -> None:
    read_page_date(text, JST)
    read_page_date(f"2020/1/2 {text}", JST)
    read_page_date(f"Jan 2, 2020 {text}", JST)
