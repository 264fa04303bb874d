from __future__ import annotations

import re
import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exporter.search.folding import excerpt, fold, fold_with_places, similar, spans_of

TRICKY = st.text(
    alphabet=st.one_of(
        st.characters(), st.sampled_from("ｶﾞﾊﾟか\u3099 \u3000\nＡａ㍿ﬁİß각ㅏ\u0301\u0345👨\u200d\x00\ud83d")
    ),
    max_size=30,
)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("ｶﾞｷﾞｸﾞ", "ガギグ"),
        ("ＡＢＣ　１２３", "abc 123"),
        ("STRASSE straße", "strasse strasse"),
        ("か\u3099", "が"),
        ("一\n\n二\t 三", "一 二 三"),
        ("㍿", "株式会社"),
        ("\ud83d", "\ufffd"),
        ("今日〜明日～", "今日~明日~"),
    ],
)
def test_equal_looking_texts_have_one_key(text: str, key: str) -> None:
    assert fold(text) == key


def _by_definition(text: str) -> str:
    clean = re.sub("[\ud800-\udfff]", "\ufffd", text)
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", clean).casefold()).replace("\u301c", "~")


AFTER = ["", "\u3099", "\uff9e", "\uff9f\u0301", "\u1161", "\n", "か"]


@pytest.mark.parametrize(
    ("after", "end"),
    [
        *((after, 0x10000) for after in AFTER[:3]),
        *(pytest.param(after, sys.maxunicode + 1, marks=pytest.mark.thorough) for after in AFTER),
    ],
)
def test_every_character_of_unicode_has_its_key(after: str, end: int) -> None:
    for start in range(0, end, 4096):
        text = "".join(chr(code) + after for code in range(start, start + 4096))
        assert fold(text) == _by_definition(text)


@given(text=st.lists(TRICKY, max_size=30).map("".join), long=st.booleans())
@example(text="ｶﾞ\nﾊﾟか\u3099", long=True)
@example(text=" \n", long=True)
def test_a_long_text_is_folded_like_a_short_one(text: str, long: bool) -> None:
    whole = text + "海" * 200 if long else text
    assert fold(whole) == _by_definition(whole)


@given(text=TRICKY)
@example(text="ﾊ\u0301ﾟ")
@example(text="\u1100ㅏ\uffc2")
@example(text="´ ´")
def test_the_key_with_places_is_the_same_key(text: str) -> None:
    folded = fold_with_places(text)
    assert folded.key == fold(text)
    assert len(folded.starts) == len(folded.ends) == len(folded.key)
    assert folded.starts == sorted(folded.starts)
    assert all(0 <= low < high <= len(text) for low, high in zip(folded.starts, folded.ends, strict=True))


@given(
    before=st.sampled_from(["", "あ", "A ", "ｱ"]),
    word=st.sampled_from(["ｶﾞｽ", "ＡＢ", "㍿", "か\u3099", "波 音"]),
    after=st.sampled_from(["", "い", " b"]),
)
def test_spans_refer_to_the_original_text(before: str, word: str, after: str) -> None:
    text = before + word + after
    (span,) = spans_of(text, [fold(word)])
    assert text[slice(*span)] == word


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("サーバ", "サーバー"),
        ("サーバー", "ｻｰﾊﾞ"),
        ("さーばー", "サーバの"),
        ("データ", "データー"),
        ("らーめん", "ラ〜メン"),
        ("すごい", "すご～～い"),
        ("ビー玉", "びー玉"),
        ("ネコ", "ねこ"),
        ("いすゞ", "イスヾ"),
        ("C++のコツ", "c++のこつ"),
    ],
)
def test_similar_spellings_find_each_other(word: str, text: str) -> None:
    pattern = similar(fold(word))
    assert pattern is not None
    assert pattern.search(fold(text))


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("ビル", "ビール"),
        ("ビール", "ビル"),
        ("コーヒー", "コヒ"),
        ("ばら", "はら"),
        ("つっこむ", "つつこむ"),
        ("a.の", "abの"),
    ],
)
def test_other_words_are_not_similar(word: str, text: str) -> None:
    pattern = similar(fold(word))
    assert pattern is not None
    assert not pattern.search(fold(text))


@pytest.mark.parametrize("word", ["海", "abc", "の", "カ", "ー", "〜", "〜ー"])
def test_terms_without_similar_spellings(word: str) -> None:
    assert similar(fold(word)) is None


KANA = st.text(alphabet="かカがガサさーー〜～ｶﾞ海a.", min_size=1, max_size=12)


@given(before=KANA, term=KANA, after=KANA)
def test_a_term_is_among_its_similar_spellings(before: str, term: str, after: str) -> None:
    key = fold(term)
    pattern = similar(key)
    assert pattern is None or pattern.search(fold(before) + key + fold(after))


def test_spans_of_similar_spellings_hold_the_marks_of_long_vowels() -> None:
    text = "さーば〜〜は、ｻｰﾊﾞと書く"
    spans = spans_of(text, [fold("サーバー")], loosely=True)
    assert [text[low:high] for low, high in spans] == ["さーば〜〜", "ｻｰﾊﾞ"]
    assert spans_of(text, [fold("サーバー")]) == []
    assert spans_of(text, [fold("書く")], loosely=True) == spans_of(text, [fold("書く")])


def test_overlapping_spans_are_merged() -> None:
    assert spans_of("海の日の海", ["海の日", "の日の"]) == [(0, 4)]
    assert spans_of("海の日の海", ["海", "日"]) == [(0, 1), (2, 3), (4, 5)]
    assert spans_of("なななな", ["なな"]) == [(0, 4)]
    assert spans_of("海", ["山"]) == []


def test_an_excerpt_is_a_part_of_the_text() -> None:
    text = "あ" * 100 + "海\nの日" + "い" * 200
    part = excerpt(text, spans_of(text, [fold("海 の")]))
    assert part.text == text[part.start : part.start + len(part.text)].replace("\n", " ")
    ((low, high),) = part.marks
    assert part.text[low:high] == "海 の"
    assert (part.start, part.cut) == (70, True)


def test_an_excerpt_of_a_short_text_is_all_of_it() -> None:
    part = excerpt("海の日", [(0, 1), (2, 3)])
    assert (part.text, part.start, part.marks, part.cut) == ("海の日", 0, ((0, 1), (2, 3)), False)


def test_a_long_hit_is_shown_whole_and_distant_ones_are_not() -> None:
    part = excerpt("x" * 500, [(10, 400), (450, 460)])
    assert part.marks == ((10, 400),)
    assert part.cut


def test_normalisation_never_joins_over_a_boundary() -> None:
    """Every character that ends a composition belongs to the same cluster as the character before it."""
    for code in range(0x110000):
        decomposed = unicodedata.decomposition(chr(code))
        if decomposed and not decomposed.startswith("<") and " " in decomposed:
            last = chr(int(decomposed.split(" ")[1], 16))
            whole = "".join(chr(int(part, 16)) for part in decomposed.split(" "))
            assert len(set(fold_with_places(whole).starts)) == 1, hex(ord(last))
