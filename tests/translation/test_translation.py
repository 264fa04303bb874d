"""Sentences in another language: made again from what they were made of, and the texts that are no messages stay."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog

from exporter import lossless_json, translation
from exporter.errors import BlogExporterError
from exporter.http.credentials import Redactor
from exporter.message import (
    both,
    either,
    filled,
    listed,
    message,
    message_in_context,
    message_n,
    message_template,
    said,
)
from exporter.text import printable
from exporter.translation import current_language, recognised, set_language, translated, translated_by_text
from tests.translation.catalogue import as_mo

WORDS: dict[str | tuple[str, str], str | tuple[str, ...]] = {
    "{host} gave no answer to {what}.": "{host} から {what} の応答がありません。",
    "Nothing was found at all.": "何も見つかりませんでした。",
    ("{n:,} picture was read.", "{n:,} pictures were read."): ("画像を {n:,} 枚読み込みました。",),
    "{name!r} took {seconds:.1f} s to arrive: {why}": "{name!r} は {seconds:.1f} 秒かかりました: {why}",
    "{first}, {rest}": "{first}、{rest}",
    "{first} or {rest}": "{first} または {rest}",
    "{first} and {rest}": "{first} と {rest}",
    "an entry": "記事",
    "connecting to {place}": "{place} に接続",
    "All": "総数",
}


@pytest.fixture
def japanese(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    catalog = Catalog(locale="ja", domain=translation.DOMAIN)
    for sentence, word in WORDS.items():
        catalog.add(sentence, word)
    catalog.add("All", "すべて", context="a page")
    file = tmp_path / "ja/LC_MESSAGES/blog-exporter.mo"
    file.parent.mkdir(parents=True)
    file.write_bytes(as_mo(catalog))
    monkeypatch.setattr(translation, "PLACE", tmp_path)
    translation._catalogue.cache_clear()
    set_language("ja")
    yield
    set_language("en")
    translation._catalogue.cache_clear()


def test_english_is_what_messages_are() -> None:
    text = message("{host} gave no answer to {what}.", host="h", what="w")
    assert current_language() == "en"
    assert translated(text) is text


def test_only_languages_that_are_there_can_be_spoken() -> None:
    with pytest.raises(ValueError):
        set_language("fr")


@pytest.mark.usefixtures("japanese")
def test_sentences_are_made_again_with_the_sentences_in_them() -> None:
    what = either([message("an entry"), "a file", "x"])
    assert translated(message("{host} gave no answer to {what}.", host="h", what=what)) == (
        "h から 記事、a file または x の応答がありません。"
    )
    assert (
        translated(message_n("{n:,} picture was read.", "{n:,} pictures were read.", 1))
        == "画像を 1 枚読み込みました。"
    )
    assert translated(message_n("{n:,} picture was read.", "{n:,} pictures were read.", 2000)) == (
        "画像を 2,000 枚読み込みました。"
    )
    assert translated(listed(["a", "b", "c"])) == "a、b、c"
    assert translated(both(["a", "b"])) == "a と b"


@pytest.mark.usefixtures("japanese")
def test_what_is_no_known_sentence_stays() -> None:
    assert translated("Nothing was found at all.") == "Nothing was found at all."
    assert translated(message("Nobody translated this.")) == "Nobody translated this."
    assert translated(message("")) == ""


@pytest.mark.usefixtures("japanese")
def test_a_sentence_without_fields_is_known_by_its_text() -> None:
    assert translated_by_text("Nothing was found at all.") == "何も見つかりませんでした。"
    assert translated_by_text("{url} is told of nowhere") == "{url} is told of nowhere"
    assert translated_by_text("") == ""
    set_language("en")
    assert translated_by_text("Nothing was found at all.") == "Nothing was found at all."


@pytest.mark.usefixtures("japanese")
def test_an_error_in_a_sentence_is_translated_and_not_kept() -> None:
    error = BlogExporterError(message("Nothing was found at all."))
    text = message("{host} gave no answer to {what}.", host="h", what=error)
    assert translated(text) == "h から 何も見つかりませんでした。 の応答がありません。"
    assert text.values["what"] is said(error)


@pytest.mark.usefixtures("japanese")
def test_a_message_stays_one_where_it_is_made_fit_for_a_terminal_or_rid_of_secrets() -> None:
    text = message("{host} gave no answer to {what}.", host="h", what="w")
    redactor = Redactor(["secret"])
    assert translated(redactor(printable(text, 100))) == "h から w の応答がありません。"
    assert translated(printable(text, 10)) == "h gave no…"
    told = message("{host} gave no answer to {what}.", host="h", what="secret\x1b[2J")
    assert translated(redactor(told)) == "h gave no answer to ***\x1b[2J."
    assert translated(printable(told)) == r"h gave no answer to secret\x1b[2J."


def test_messages_survive_copies_and_processes() -> None:
    text = message_n("{n:,} picture was read.", "{n:,} pictures were read.", 2)
    for copied in (copy.deepcopy(text), pickle.loads(pickle.dumps(text))):
        assert copied == text
        assert copied.values == {"n": 2}
        assert (copied.template, copied.plural, copied.number) == (text.template, text.plural, 2)
    assert json.loads(lossless_json.dumps({"text": text})) == {"text": str(text)}


@pytest.mark.usefixtures("japanese")
def test_a_context_selects_the_translation_and_is_not_shown() -> None:
    assert message_in_context("a page", "All") == "All"
    assert translated(message_in_context("a page", "All")) == "すべて"
    assert translated(message("All")) == "総数"
    assert translated(message_in_context("another place", "All")) == "All"


@pytest.mark.usefixtures("japanese")
def test_a_template_is_filled_later() -> None:
    text = filled(message_template("{host} gave no answer to {what}."), host="h", what="w")
    assert text == "h gave no answer to w."
    assert translated(text) == "h から w の応答がありません。"


def test_catalogues_are_read_from_the_package() -> None:
    set_language("ja")
    try:
        assert translated(message("just now")) == "たった今"
    finally:
        set_language("en")


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("Not everything could be saved: assets http://x/1.jpg: it answered 503 (and 2 more); the next run tries again.",
         "一部を保存できませんでした: 画像など http://x/1.jpg: 503 が返されました（ほか 2 件）。次の実行でもう一度試します。"),
        ("entry/get answered 404: blog is not found; check the blog ID and the base URL.",
         "entry/get が 404: blog is not found を返しました。ブログ ID とベース URL を確認してください。"),
        ("it has 1,234 bytes, and its manifest says 5,678", "1,234 バイトですが、マニフェストでは 5,678 バイトです"),
        ("2 requests", "リクエスト 2 回"),
        ("Home", "Home"),
        ("answered 1", "応答は 1 でした"),
        ("answered ", "answered "),
        ("x" * 3000, "x" * 3000),
    ],
)  # fmt: skip
def test_a_stored_text_is_recognised(stored: str, shown: str) -> None:
    assert recognised(stored) is stored
    try:
        set_language("ja")
        found = recognised(stored)
        assert (found, translated(found)) == (stored, shown)
        assert recognised(found) is found
    finally:
        set_language("en")
