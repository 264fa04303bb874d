from __future__ import annotations

import re
import sys
import unicodedata
from itertools import groupby, permutations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exporter.search.folding import excerpt, fold, fold_with_places, similar, spans_of
from exporter.search.variants import GROUPS, USUAL_FORMS

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
        ("葛\U000e0100城の葛", "葛城の葛"),
        ("❤\ufe0f", "❤"),
        ("か\ufe00\u3099", "が"),
        ("㎏㌔㈱⑴⒈Ⅱm²", "kgキロ(株)(1)1.iim2"),
    ],
)
def test_equal_looking_texts_have_one_key(text: str, key: str) -> None:
    assert fold(text) == key


SELECTORS = {*map(chr, range(0xFE00, 0xFE10)), *map(chr, range(0xE0100, 0xE01F0))}


def _is_whole(char: str) -> bool:
    """Return whether a character is enclosed or a fraction."""
    tag, _, parts = unicodedata.decomposition(char).partition(" ")
    return tag in ("<circle>", "<fraction>") or (tag == "<square>" and " " not in parts)


def _by_definition(text: str) -> str:
    clean = "".join(char for char in re.sub("[\ud800-\udfff]", "\ufffd", text) if char not in SELECTORS)
    parts = ["".join(group) for _, group in groupby(clean, _is_whole)]
    key = "".join(part if _is_whole(part[0]) else unicodedata.normalize("NFKC", part) for part in parts).casefold()
    return re.sub(r"\s+", " ", "".join(USUAL_FORMS.get(char, char) for char in key)).replace("\u301c", "~")


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


TYPED_FOR_EACH_OTHER = """
髙橋|高橋 宮﨑|宮崎|宮嵜 渡辺|渡邊|渡邉 斉藤|斎藤|齊藤|齋藤 沢田|澤田 横浜|橫濱 国会|國會 鴎外|鷗外 桧原|檜原 籠|篭 𠮷野家|吉野家 福島|福嶋|福嶌
富士|冨士 峰岸|峯岸 滝川|瀧川 竜馬|龍馬 桜井|櫻井 広島|廣島 柳田|栁田 神戸|神戶 塚本|塚本 徳川|德川 増田|增田 瀬戸|瀨戶 黒|黑 青|靑
真実|眞實 恵美|惠美 関西|關西 鉄道|鐵道|銕道 学校|學校 旧字体|舊字體 弁護士|辯護士 弁別|辨別 花弁|花瓣 余分|餘分 台湾|臺灣 芸術|藝術
予定|豫定 欠席|缺席 缶|罐 虫|蟲 糸|絲 灯台|燈臺 画|畫 体|體|躰 写真|寫眞 円|圓 会|會 万|萬 与|與 号|號 礼|禮 沖縄|沖繩
鯵|鰺 薮|藪 蝿|蠅 壷|壺 砺波|礪波 桝|枡 塩竈|塩竃|鹽竈 騨|驒 頬|頰 剥|剝 叱|𠮟 填|塡 噛|嚙 掴|摑 痩|瘦 祷|禱 麺|麵 醤|醬 蝋|蠟
呉|吳 内|內 毎|每 歩|步 歳|歲 戸|戶 館|舘 駅|驛 窓|窗 煙|烟 猪|豬 裏|裡 跡|蹟 脈|脉 秋|穐 橋|槗 土|圡 喜|㐂 昇|曻 年|秊 ⻑野|長野
"""
OTHER_KANJI = """
島鳥 脇脅 着著 坂阪 御禦 埼崎 辻迅 未末 土士 千干 己已 人入 日曰 夕タ カ力 口ロ 二ニ 八ハ 工エ 余予 台体 大太 連聯 酢醋 才纔 周週 椀碗
箇個 画劃 欲慾 後后 里裏 雲云 板坂 准準 柿杮 弔吊 冑胄 廷延 荻萩 綱網 爪瓜 遺遣 藤籐 無无 祇祗 専博 宜宣 氷水 官宮 菫堇 郎朗
"""


def test_kanji_that_people_type_for_each_other_have_one_key(subtests: pytest.Subtests) -> None:
    for group in TYPED_FOR_EACH_OTHER.split():
        for word, other in permutations(group.split("|"), 2):
            with subtests.test(word=word, other=other):
                assert fold(word) == fold(other)
                assert spans_of(f"あ{other}い", [fold(word)]) == [(1, 1 + len(other))]


def test_other_kanji_have_keys_of_their_own(subtests: pytest.Subtests) -> None:
    for pair in OTHER_KANJI.split():
        with subtests.test(pair=pair):
            assert fold(pair[0]) != fold(pair[1])


def test_no_kanji_is_in_two_groups_and_nfkc_changes_none() -> None:
    everything = "".join(GROUPS)
    assert len(set(everything)) == len(everything)
    assert unicodedata.normalize("NFKC", everything).casefold() == everything
    assert all(len(group) > 1 for group in GROUPS)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("1", "①②⑪㉑½"),
        ("a", "Ⓐⓐ🄰"),
        ("祝", "㊗"),
        ("上", "㊤"),
        ("ア", "㋐"),
        ("2", "½"),
        ("10", "⑩"),
        ("空", "🈳"),
    ],
)
def test_an_enclosed_character_is_found_only_by_itself(word: str, text: str) -> None:
    assert spans_of(text, [fold(word)], loosely=True) == []
    assert spans_of(f"あ{text}い", [fold(text)]) == [(1, 1 + len(text))]


@given(
    before=st.sampled_from(["", "あ", "A ", "ｱ"]),
    word=st.sampled_from(["ｶﾞｽ", "ＡＢ", "㍿", "か\u3099", "波 音", "髙𠮷", "葛\U000e0100", "①½"]),
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
