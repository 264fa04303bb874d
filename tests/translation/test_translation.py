"""Sentences in another language: restored from their stored parts; other texts stay unchanged."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import Any

import pytest
from babel.messages.catalog import Catalog

from exporter import lossless_json, translation
from exporter.errors import BlogExporterError
from exporter.http.credentials import Redactor
from exporter.message import (
    PROGRAM,
    Message,
    both,
    either,
    filled,
    listed,
    message,
    message_in_context,
    message_n,
    message_template,
    restored,
    restored_from,
    said,
    stored,
    stored_as,
    suggested,
)
from exporter.text import printable
from exporter.translation import (
    current_language,
    japanese_text,
    set_language,
    set_program_words,
    translated,
    translated_by_text,
)
from tests.translation.catalogue import as_mo, sentences

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


def test_messages_are_english() -> None:
    text = message("{host} gave no answer to {what}.", host="h", what="w")
    assert current_language() == "en"
    assert translated(text) is text


def test_only_existing_languages_can_be_chosen() -> None:
    with pytest.raises(ValueError):
        set_language("fr")


@pytest.mark.usefixtures("japanese")
def test_nested_sentences_are_translated_together() -> None:
    what = either([message("an entry"), "a file", "x"])
    assert translated(message("{host} gave no answer to {what}.", host="h", what=what)) == (
        "h から記事、a file または x の応答がありません。"
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
def test_unknown_sentences_are_unchanged() -> None:
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


def test_spaces_separate_half_width_values_from_japanese() -> None:
    own = {"own"}
    for template, values, text in (
        ("{own} に接続", {"own": "ホスト"}, "ホストに接続"),
        ("{own} に接続", {"own": "b.jp"}, "b.jp に接続"),
        ("{name} に接続", {"name": "港の朝"}, "港の朝 に接続"),
        ("記事 {name}", {"name": "港の朝"}, "記事 港の朝"),
        ("{own}が正しい", {"own": "rate"}, "rate が正しい"),
        ("第{n}巻", {"n": 3}, "第 3 巻"),
        ("{own} という", {"own": "'a'（もしかして: b）"}, "'a'（もしかして: b）という"),
        ("{own} {name} を見る", {"own": "誤りです。", "name": "log"}, "誤りです。log を見る"),
        ("{own}。次へ", {"own": "誤りです。"}, "誤りです。次へ"),
        ("{own} {own}", {"own": "記事"}, "記事 記事"),
        ("記事  {own}", {"own": "画像"}, "記事  画像"),
        ("記事 {own} は", {"own": ""}, "記事  は"),
        ("{n:>4}  {own!r:>4}", {"n": 3, "own": "x"}, "   3   'x'"),
        ("{own}: {own}", {"own": "失敗しました"}, "失敗しました: 失敗しました"),
        ("{name}/archive.json [blogs.{name}]", {"name": "港の朝"}, "港の朝/archive.json [blogs.港の朝]"),
        ("[{own}] ({own}) <{own}>", {"own": "既定"}, "[既定] (既定) <既定>"),
        ("{own}ID、ID{own}", {"own": "記事"}, "記事 ID、ID 記事"),
        ("は{name}の", {"name": "--at"}, "は --at の"),
    ):
        assert japanese_text(template, values, own) == text


def test_a_sentence_in_a_sentence_loses_its_full_stop() -> None:
    inner = message("It failed.")
    assert message("{a}: {b}. Then {b}", a="..", b=inner) == "..: It failed. Then It failed"
    assert message("{a}. {b}", a="x.", b=inner) == "x.. It failed."


@pytest.mark.usefixtures("japanese")
def test_an_error_in_a_sentence_is_translated_and_not_stored() -> None:
    error = BlogExporterError(message("Nothing was found at all."))
    text = message("{host} gave no answer to {what}.", host="h", what=error)
    assert translated(text) == "h から何も見つかりませんでした。の応答がありません。"
    assert text.values["what"] is said(error)


def test_a_shown_command_begins_with_the_words_that_start_the_program() -> None:
    command = suggested("log", Path("a b"))
    inner = message("Look: {command}", command=command)
    text = message("{host} gave no answer to {what}.", host="blog-exporter log", what=inner)
    assert translated(text) is text
    set_program_words(lambda: "uvx blog-exporter")
    try:
        assert translated(command) == "uvx blog-exporter log 'a b'"
        assert translated(text) == "blog-exporter log gave no answer to Look: uvx blog-exporter log 'a b'."
        many = message_n(
            "{n:,} picture: {command}", "{n:,} pictures: {command}", 2, command=pickle.loads(pickle.dumps(command))
        )
        assert translated(many) == "2 pictures: uvx blog-exporter log 'a b'"
        assert str(text) == "blog-exporter log gave no answer to Look: blog-exporter log 'a b'."
        assert translated(restored(stored(text))) == str(text)
    finally:
        set_program_words(lambda: PROGRAM)


@pytest.mark.usefixtures("japanese")
def test_a_message_remains_a_message_after_escaping_or_redacting() -> None:
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


def _nested(levels: int) -> Message:
    text = message("nothing")
    for _ in range(levels):
        text = message("{first}; {rest}", first="x", rest=text)
    return text


@pytest.mark.parametrize(
    "text",
    [
        message("the user could not be read: {user}", user=message("it answered {status}", status=503)),
        message_n("{n:,} entry", "{n:,} entries", 1234),
        message_in_context("site", "Pictures and files"),
        message("{n} of {all}", n=None, all=1.5),
        _nested(11),
        "plain",
        "x" * 3000,
        "",
    ],
)
def test_a_stored_text_can_be_translated(text: str) -> None:
    value = json.loads(json.dumps(stored(text)))
    found = restored(value)
    assert found == text
    assert stored(found) == value
    assert translated(found, "ja") == translated(text, "ja")
    row = {"other": 1, **stored_as("reason", text)}
    assert row["reason"] == text
    assert type(row["reason"]) is str
    assert stored(restored_from(row, "reason")) == value


def test_a_stored_text_is_translated() -> None:
    row = stored_as("error", message_n("{n:,} request", "{n:,} requests", 2))
    assert row == {
        "error": "2 requests",
        "message": {"template": "{n:,} request", "plural": "{n:,} requests", "number": 2, "values": {"n": 2}},
    }
    assert translated(restored_from(row, "error"), "ja") == "リクエスト 2 回"


def test_a_text_without_a_template_is_stored_alone() -> None:
    assert stored_as("error", None) == {"error": None}
    assert stored_as("error", "plain") == {"error": "plain"}
    long = message("it answered {status}", status="x" * 2000)
    assert stored_as("error", long) == {"error": str(long)}
    assert json.dumps(stored(_nested(40))).count("template") == 12


_BOMB: Any = {"template": "{x}" * 600, "values": {"x": "y" * 2000}}


def test_an_invalid_stored_text_is_shown_unchanged(subtests: pytest.Subtests) -> None:
    rows: list[object] = [
        None, 5, [], {}, "another text", {"template": "a"}, {"template": 5, "values": {}},
        {"template": "it answered 503", "values": []}, {"template": "it answered {status}", "values": {}},
        {"template": "it answered {}", "values": {"": "503"}}, {"template": "it answered {0}", "values": {"0": "503"}},
        {"template": "it answered {status", "values": {"status": "503"}},
        {"template": "it answered {status.real}", "values": {"status": "503"}},
        {"template": "it answered {status[0]}", "values": {"status": 503}},
        {"template": "it answered {status:>999999999}", "values": {"status": "503"}},
        {"template": "it answered {status:{status}}", "values": {"status": 503}},
        {"template": "it answered {status:,}", "values": {"status": "503"}},
        {"template": "it answered {status}", "values": {"status": 404}},
        {"template": "it answered {status}", "values": {"status": [503]}},
        {"template": "it answered {status}", "values": {"status": "5" * 5000}},
        {"template": "it answered {status}", "plural": 5, "number": 2, "values": {"status": 503}},
        {"template": "it answered {status}", "plural": "it", "number": "2", "values": {"status": 503}},
        _BOMB, {"template": "{x}" * 600, "values": {"x": _BOMB}}, {"template": "it" * 5000, "values": {}},
    ]  # fmt: skip
    for value in rows:
        with subtests.test(value=value):
            found = restored_from({"reason": "it answered 503", "message": value}, "reason")
            assert found == "it answered 503"
            assert not isinstance(found, Message)
            assert restored(value, "otherwise") in {"otherwise", "another text", "it answered 404", "it answered 503"}
            assert restored(value) in {str(value), "it answered 404", "it answered 503"}


def test_templates_use_only_formats_of_stored_texts() -> None:
    """A message whose template has another format would come back as plain text."""
    texts = [text for each in sentences() for text in (each.text, each.many or "")]
    forms = {form for text in texts for _, _, form, _ in Formatter().parse(text) if form}
    assert forms
    for form in forms:
        text = filled(f"{{n:{form}}}", n=5)
        assert stored(restored(stored(text))) == stored(text), form
