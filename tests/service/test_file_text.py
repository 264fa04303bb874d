"""Encodings of export files: found by their bytes, decoded without loss."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.service.movable_type.text import (
    EUC_JP,
    ISO_2022_JP,
    LATIN,
    SHIFT_JIS,
    UTF_8,
    UTF_16,
    Encoding,
    encoding_of,
    find_encoding,
    repaired,
    text_of,
)

JAPANESE = "今日は海へ行きました。カモメとアジ、ソフトの表。「たのしい」一日でした。"
KATAKANA = "アイウエオカキクケコサシスセソタチツテト"


def pieces(data: bytes, size: int = 1000) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def decoded(data: bytes) -> str:
    encoding = find_encoding(pieces(data))
    return "".join(text_of(io.BytesIO(data), encoding))


@pytest.mark.parametrize(
    ("text", "codec", "encoding"),
    [
        ("TITLE: a", "utf-8", UTF_8),
        (JAPANESE, "utf-8", UTF_8),
        (JAPANESE, "utf-8-sig", UTF_8),
        (JAPANESE, "euc_jp", EUC_JP),
        (JAPANESE, "cp932", SHIFT_JIS),
        (JAPANESE, "iso2022_jp", ISO_2022_JP),
        (JAPANESE, "utf-16", UTF_16),
        ("海", "euc_jp", EUC_JP),
        ("海", "cp932", SHIFT_JIS),
        (KATAKANA, "cp932", SHIFT_JIS),
        (KATAKANA, "euc_jp", EUC_JP),
        ("À bientôt, l'été est déjà passé; voilà les élèves", "cp1252", LATIN),
        ("À bientôt, l'été est déjà passé", "utf-8", UTF_8),
        ("😀 한국어 中文", "utf-8", UTF_8),
    ],
)
def test_an_encoding_is_found_also_if_its_first_character_comes_late(text: str, codec: str, encoding: Encoding) -> None:
    assert find_encoding(pieces(text.encode(codec))) == encoding
    assert decoded(text.encode(codec)) == text
    if codec not in {"utf-8-sig", "utf-16"}:
        late = "AUTHOR: a\n" * 300_000 + text
        assert find_encoding(pieces(late.encode(codec), 65_536)) == encoding


@pytest.mark.parametrize("codec", ["utf-8", "euc_jp", "cp932"])
def test_a_few_wrong_bytes_do_not_hide_the_encoding(codec: str) -> None:
    data = (JAPANESE * 20).encode(codec)
    broken = data[:100] + data[101:] + b"\xff" + JAPANESE.encode(codec)
    text, bad, _ = repaired(decoded(broken))
    assert bad or codec == "cp932"  # in which nearly all bytes are characters
    assert text.endswith(JAPANESE)
    assert text.count("カモメ") >= 19


def test_halves_of_characters_do_not_hide_utf8() -> None:
    data = JAPANESE.encode() + "\ud83d\ude00".encode("utf-8", "surrogatepass") * 500
    assert find_encoding(pieces(data)) == UTF_8


def test_characters_that_windows_adds_to_euc_jp() -> None:
    assert decoded(JAPANESE.encode("euc_jp") + b"\xad\xa1\xad\xea\xfc\xe2") == f"{JAPANESE}①㈱髙"


def test_characters_of_ibm_in_three_bytes_are_read_and_the_text_after_them_too() -> None:
    for number, (byte, cell) in enumerate([(0xF3, 0xF3), (0xF4, 0xA1), (0xF4, 0xBD), (0xF4, 0xFB), (0xF4, 0xFE)]):
        data = JAPANESE.encode("euc_jp") + bytes([0x8F, byte, cell]) + JAPANESE.encode("euc_jp")
        assert decoded(data) == JAPANESE + "ⅰⅢ﨑髙黑"[number] + JAPANESE
    assert decoded(b"\x8f\xf4\xfb\xb6\xb6\xa4\xb5\xa4\xf3") == "髙橋さん"


@pytest.mark.parametrize("unknown", [b"\xa9\xa1", b"\x8f\xf5\xa1", b"\xfe\xfe"])
def test_a_character_without_a_meaning_does_not_garble_the_text_after_it(unknown: bytes) -> None:
    text, bad, _ = repaired(decoded(f"{JAPANESE}\n".encode("euc_jp") + unknown + JAPANESE.encode("euc_jp")))
    assert (text.endswith(JAPANESE), bad) == (True, len(unknown))


PARTS = {
    "utf-8": "二つ目の記事は別の文字コードです。",
    "euc_jp": "二つ目の記事は別の文字コードです。",
    "cp932": "二つ目の記事は別の文字コードです。",
    "iso2022_jp": "二つ目の記事は別の文字コードです。",
}


@pytest.mark.parametrize("times", [1, 30])
@pytest.mark.parametrize("first", PARTS)
@pytest.mark.parametrize("second", PARTS)
def test_each_part_of_a_joined_file_has_its_own_encoding(first: str, second: str, times: int) -> None:
    """The parts may be of any sizes, and a section may have an encoding of its own, as trackbacks do."""
    text = "TITLE: 海\n-----\nBODY:\n{}\n-----\n--------\n"
    one, two = text.format(JAPANESE) * times, text.format(PARTS[second])
    assert decoded(one.encode(first) + two.encode(second)) == one + two
    assert decoded(two.encode(second) + one.encode(first)) == two + one
    ping = "PING:\nTITLE: ok\n" + PARTS[second] + "\n-----\n"
    inside = one.encode(first) + b"-----\n" + ping.encode(second) + b"--------\n"
    assert decoded(inside) == f"{one}-----\n{ping}--------\n"


@pytest.mark.parametrize("piece", [1, 7, 100_000])
@pytest.mark.parametrize("other", ["utf-8", "utf-8-sig", "euc_jp", "cp932"])
@pytest.mark.parametrize("mark", ["utf-16", "utf-16-be"])
def test_parts_in_utf16_may_come_first_and_last(
    mark: str, other: str, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exporter.service.movable_type.text.PIECE_BYTES", piece)
    text = f"AUTHOR: umi\nTITLE: 海\n-----\nBODY:\n{JAPANESE}\n-----\n--------\n"
    wide = text.encode(mark) if mark == "utf-16" else b"\xfe\xff" + text.encode(mark)
    same = text.encode(other)
    for parts in ([same, wide], [wide, same], [wide, same, wide], [wide, wide]):
        file = io.BytesIO(b"".join(parts))
        found = "".join(text_of(file, encoding_of(file)))
        assert found.replace("\ufeff", "") == text * len(parts)


@pytest.mark.parametrize(
    "part",
    ["둘째 글입니다".encode("euc_kr"), "中文的文章".encode("gb2312"), b"caf\xe9", "二".encode("cp932"), b"\xe3\x81"],
)
def test_bytes_whose_encoding_is_in_doubt_are_marked(part: bytes) -> None:
    _, bad, _ = repaired(decoded((JAPANESE * 9).encode() + b"\n-----\nPING:\n" + part + b"\n-----\n"))
    assert bad


def test_many_changes_of_the_encoding_take_linear_time() -> None:
    data = (b"\xff\xfeA\0" + b"AUTHOR: a\n") * 20_000
    assert "".join(text_of(io.BytesIO(data), UTF_8)) == "AAUTHOR: a\n" * 20_000


def test_one_character_in_two_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exporter.service.movable_type.text.PIECE_BYTES", 1)
    for codec, encoding in (("utf-8", UTF_8), ("euc_jp", EUC_JP), ("cp932", SHIFT_JIS), ("utf-16", UTF_16)):
        text = f"{JAPANESE}\r\n\r\rx\r"
        assert "".join(text_of(io.BytesIO(text.encode(codec)), encoding)) == f"{JAPANESE}\n\n\nx\n"
    assert "".join(text_of(io.BytesIO(b"\xad\xa1"), EUC_JP)) == "①"
    monkeypatch.setattr("exporter.service.movable_type.text._MOST_HELD_BYTES", 300)
    for codec, encoding in (("utf-8", UTF_8), ("euc_jp", EUC_JP), ("cp932", SHIFT_JIS)):
        text = f"{JAPANESE}> {JAPANESE}\n" * 3
        assert "".join(text_of(io.BytesIO(text.encode(codec)), encoding)) == text


@given(st.binary(max_size=200))
def test_any_bytes_become_text_that_utf8_can_hold(data: bytes) -> None:
    for encoding in (UTF_8, EUC_JP, SHIFT_JIS, ISO_2022_JP, LATIN, find_encoding(iter([data]))):
        text, _, lines = repaired("".join(text_of(io.BytesIO(data), encoding)))
        text.encode()
        assert "\r" not in text
        assert lines <= text.count("\n")


@given(
    st.text(alphabet="あいうえお漢字カナ。、\n abc", min_size=0, max_size=60),
    st.sampled_from(["utf-8", "euc_jp", "cp932"]),
)
def test_japanese_text_is_read_back(text: str, codec: str) -> None:
    assert decoded(text.encode(codec)) == text
