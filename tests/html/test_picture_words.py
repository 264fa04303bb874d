"""Alternative texts from real services: file names are no descriptions, and words stay."""

from __future__ import annotations

import time

import pytest

from exporter.html.picture_words import picture_words

FILE_NAMES = (
    "IMG_0004.jpg", "IMG_0004", "IMG_E1234.HEIC", "0004.jpg", "DSC00012.JPG", "DSCF1234", "DSC_0042.NEF.jpg", "P1010023.JPG",
    "R0012345", "f:id:user:20200101123456j:plain", "[f:id:my-name:20200101123456p:image:w400]", "f:id:umi:20160814123001j:image",
    "20200101123456.jpg", "20200101_123456", "2020-01-01 12.34.56.jpg", "20160814123001abc.jpg", "image", "image1.jpeg",
    "image (3)", "画像", "写真", "写真1", "画像 12", "イメージ", "無題", "スクリーンショット 2020-01-01 12.34.56", "スクリーンショット（12）.png",
    "Screenshot_20200101-123456.png", "Screenshot_20200101-123456_com.android.chrome", "Screen Shot 2020-01-01 at 1.23.45 PM",
    "FB_IMG_1580000000000.jpg", "LINE_ALBUM_20230101_1.jpg", "S__12345678.jpg", "PXL_20230101_010101010", "MVIMG_20190101_010101",
    "received_1234567890.jpeg", "WhatsApp Image 2020-01-01 at 12.34.56.jpeg", "blogger-image--123456789.jpg", "unnamed", "download (1).png",
    "3f786850e387550fdab836ed7e6dc881de23001b", "550e8400-e29b-41d4-a716-446655440000", "o0480064012345678901.jpg",
    "t02200293_0480064012345678901", "https://img.example/a/IMG_0004.jpg", "sunset-at-the-pier.jpg", "1024x768", "001", "#12", "―",
    "{emoji:001_char3.png.キラキラ}", "ＩＭＧ＿０００４．ＪＰＧ", "no image", "写真のコピー",
)  # fmt: skip
WORDS = (
    "桜", "海", "赤い灯台と青い海", "図1", "第3回 花火大会", "2020年の初日の出", "写真館の入口", "画像提供：市役所", "100均の小皿", "Mt. Fuji",
    "Windows 10", "iPhone 12 Pro", "sea", "face", "PM 2.5", "Photo by Aya Sato", "A red door", "Kyoto, 2019", "夕焼け〜", "ねこ", "x", "B",
    "ねこ IMG", "Café", "부산 바다", "♪", "♪♪", "☆", "😊", "❤️", "👨‍👩‍👧", "(^^)", "^_^;",
)  # fmt: skip


def test_a_file_name_has_no_words(subtests: pytest.Subtests) -> None:
    for name in FILE_NAMES:
        with subtests.test(name=name):
            assert picture_words(name) == ""


def test_words_stay(subtests: pytest.Subtests) -> None:
    for words in WORDS:
        with subtests.test(words=words):
            assert picture_words(words) == words


@pytest.mark.parametrize(
    ("text", "address", "expected"),
    [
        ("桜.jpg", "", "桜"),
        ("春の海.JPG", "https://a.example/%E6%98%A5%E3%81%AE%E6%B5%B7.JPG", "春の海"),
        ("桜", "https://a.example/%E6%A1%9C.png", "桜"),
        ("kamome", "https://a.example/2019/kamome.png?w=300", ""),
        ("Kamome", "https://a.example/kamome.png", ""),
        ("A gull", "https://a.example/kamome.png", "A gull"),
        (" 赤い \n 灯台 ", "", "赤い 灯台"),
        ("", "https://a.example/a.png", ""),
    ],
)
def test_the_address_tells_a_name_from_words(text: str, address: str, expected: str) -> None:
    assert picture_words(text, address) == expected


def test_a_long_text_is_a_description() -> None:
    assert picture_words("1" * 201) == "1" * 201


@pytest.mark.thorough
def test_time_is_linear() -> None:
    started = time.process_time()
    for text in ("img " * 50, "0_" * 100, "f:id:" + "a" * 195, "a1" * 100, "[f:" + "0" * 190):
        picture_words(text, "https://a.example/" + "%E6" * 100_000)
    assert time.process_time() - started < 1
