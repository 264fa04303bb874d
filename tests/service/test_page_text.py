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
