from __future__ import annotations

import pytest

from exporter.cli.blog_names import blog_id_in


@pytest.mark.parametrize(
    "text",
    [
        "name.blog.shinobi.jp",
        "https://name.blog.shinobi.jp/Entry/12/",
        "http://name.blog.shinobi.jp",
        "  https://name.blog.shinobi.jp/?page=2#top\n",
        "HTTPS://NAME.Blog.Shinobi.JP/",
        "ｈｔｔｐｓ：／／ｎａｍｅ．ｂｌｏｇ．ｓｈｉｎｏｂｉ．ｊｐ／Ｅｎｔｒｙ／１２／",
        "https://name。blog。shinobi。jp/",
        "https: //name.blog .shinobi.jp/",
        "\u3000https://name.blog.shinobi.jp/\u3000",
        "\ufeff\u200bhttps://name.blog.shinobi.jp\u200b",
        "<https://name.blog.shinobi.jp/>",
        "「https://name.blog.shinobi.jp/」",
        '"name.blog.shinobi.jp"',
        "ttp://name.blog.shinobi.jp/",
        "ttps://name.blog.shinobi.jp/",
        "//name.blog.shinobi.jp/Entry/1/",
        "feed://name.blog.shinobi.jp/RSS/",
        "name.blog.shinobi.jp.",
        "name.blog.shinobi.jp:443/",
        "https:////name.blog.shinobi.jp",
        "name.blog.shinobi.jp\\Entry",
    ],
)
def test_every_form_of_an_address_is_the_same_blog(text: str) -> None:
    assert blog_id_in(text) == "name.blog.shinobi.jp"


@pytest.mark.parametrize(
    ("text", "blog_id"),
    [
        ("https://日記.blog.example.jp/", "xn--wgvt91f.blog.example.jp"),
        ("https://xn--wgvt91f.blog.example.jp/", "xn--wgvt91f.blog.example.jp"),
        ("日記．ｊｐ", "xn--wgvt91f.jp"),
        ("https://xn--strae-oqa.example/", "xn--strae-oqa.example"),
        ("https://xn--ls8h.example/", "xn--ls8h.example"),
        ("my_diary-2.blog.example.jp", "my_diary-2.blog.example.jp"),
    ],
)
def test_japanese_names_become_punycode(text: str, blog_id: str) -> None:
    assert blog_id_in(text) == blog_id


@pytest.mark.parametrize(
    "text",
    ["", " ", "name", "https://", "https:///x", "127.0.0.1", "http://[::1]/", "a..b.jp", "-a.example.jp", "a b", "a'b.jp",
     "xn--.jp", "https://xn--a.jp/x", "x" * 64 + ".example.jp", ".".join(["a" * 60] * 5), "../..", "日記", "\udcff.example.jp", "a\0b"],
)  # fmt: skip
def test_invalid_blog_addresses(text: str) -> None:
    with pytest.raises(ValueError, match="the address of a blog is expected"):
        blog_id_in(text)


def test_an_address_with_a_password_is_refused_without_showing_it() -> None:
    with pytest.raises(ValueError, match="without a name and a password") as caught:
        blog_id_in("https://me:hush@name.blog.shinobi.jp/")
    assert "hush" not in str(caught.value)
