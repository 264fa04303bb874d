"""The report: every record is exported, or left out with a reason; the reasons are translated into every language."""

from __future__ import annotations

from datetime import date
from functools import partial
from typing import Any

import pytest

from exporter.export.formats import FORMATS
from exporter.export.interface import Comments, Content, ExportOptions, Side
from exporter.export.reasons import Reason, sentence
from exporter.export.report import KINDS, Report, names
from exporter.export.targets import Matter
from exporter.html.links import AddressPattern
from exporter.model.kinds import Kind
from exporter.model.publication import Cause, Declared, Hidden
from exporter.translation import Language, translated
from tests.export.hostile import flagged_blog, hostile_blog
from tests.export.memory import SAID, Memory, count, export

PATTERNS: dict[str, Any] = {
    "old_urls": (AddressPattern("https://{blog_id}/Entry/{entry_id}/", "x"),),
    "new_url": AddressPattern("https://new.example/{entry_id}", "x"),
}
ja = partial(translated, language="ja")
POSTS = {name: form for name, form in FORMATS.items() if not form.whole}
MEDIA: list[dict[str, Any]] = [{}, {"media_folder": True}, {"media_base_url": "https://new.example/m/"}]


def small() -> Memory:
    """A blog with pictures in every state, all kinds of dates, and records that belong to nothing."""
    blog = Memory()
    odd: list[dict[str, Any]] = [{}, {"year": "2010"}, {"mon": "13"}, {"category": "旅", "title": ""}, {"name": ""}]
    for number, changes in enumerate(odd, 1):
        urls = [f"https://files.example.jp/v1/{number % 3}{kind}" for kind in "abc"]
        blog.picture(urls[0], entry_id=str(number))
        blog.picture(urls[1], entry_id=str(number), data=None)
        shown = "".join(f'<img src="{url}">' for url in urls)
        blog.entry(str(number), **{"title": f"題{number}", "entry_text": shown, **changes})
        blog.comment(str(number), str(number), delete_flg="ft"[number % 2])
    blog.add(Kind.ENTRY_LIST, {"entry_id": "9", "title": "読めない"})
    blog.comment("9", "77")
    return blog


def reasons(document: dict[str, Any]) -> set[str]:
    """All sentences of a report."""
    return (
        {row["reason"] for row in document["left_out"]}
        | {row["reason"] for row in document["by_address"]}
        | {row["what"] for row in document["changed"]}
        | {row["limit"] for row in document["preflight"]}
    )


def test_all_records_of_every_kind_are_exported_or_left_out(subtests: pytest.Subtests) -> None:
    for form in POSTS:
        with subtests.test(form=form):
            for blog, options in [(small(), media) for media in MEDIA] + [(flagged_blog()[0], {})]:
                document = export(form, blog, **PATTERNS, **options).document
                for kind in KINDS:
                    left, referred = (count(document, part, kind) for part in ("left_out", "by_address"))
                    assert document["in"][kind] == document["out"][kind] + referred + left, kind
                    assert document["referred"][kind] == referred
                for row in [*document["left_out"], *document["by_address"]]:
                    assert row["count"] == len(row["ids"]) == len(set(row["ids"]))


def test_the_pictures_of_one_entry_are_copied_linked_or_lost() -> None:
    blog = Memory()
    urls = [f"https://files.example.jp/v1/{number}.png" for number in range(3)]
    blog.picture(urls[0], entry_id="1")
    blog.picture(urls[1], entry_id="1", data=None)
    shown = "".join(f'<img src="{url}">' for url in [*urls, urls[0]])
    blog.entry("1", entry_text=shown + '<a href="https://elsewhere.example/">x</a>')
    blog.entry("2", entry_text=shown)
    found = {
        form: {
            row["reason"].split(";")[0]: row["ids"]
            for part in ("left_out", "by_address")
            for row in document[part]
            if row["kind"] == "pictures"
        }
        for form in ("hugo", "jsonl", "csv", "wxr")
        for document in [export(form, blog).document]
    }
    lost = {
        "the archive does not have it": urls[2:],
        "the archive does not have it yet": urls[1:2],
    }
    assert found["hugo"] == lost
    assert found["jsonl"] == {**lost, "only its old address is written": urls[:1]}
    assert found["csv"] == {**lost, "the format has no place for pictures": urls[:1]}
    assert found["wxr"] == {**lost, "only its address is written, from where the target fetches the file": urls[:1]}
    mind = export("hugo", blog).document["preflight"]
    assert [(row["limit"], row["entries"]) for row in mind] == [
        ("shows pictures that the archive does not have", ["1", "2"])
    ]


def test_a_picture_is_written_only_if_its_bytes_are_stored(subtests: pytest.Subtests) -> None:
    for form in POSTS:
        for media in MEDIA:
            with subtests.test(form=form, media=media):
                blog = Memory()
                shown = "https://files.example.jp/v1/shown.png"
                linked = "https://files.example.jp/v1/linked.png"
                held = [
                    blog.picture(url, entry_id="1", file_id=str(number))
                    for number, url in enumerate((shown, linked), 1)
                ]
                blog.entry("1", entry_text=f'<img src="{shown}"><a href="{linked}">x</a>')
                made = export(form, blog, **PATTERNS, **media)
                everything = made.everything() + str(made.copies).encode()
                document = made.document
                kept = sum(source.encode() in everything for source in held)
                assert document["out"]["pictures"] == kept
                assert document["in"]["pictures"] == (0 if form == "redirects" else 2)
                assert kept == 2 or not (
                    media.get("media_folder") and form in {"wxr", "movabletype", "atom", "jsonl", "parquet"}
                )


def closing(document: dict[str, Any]) -> dict[str, Any]:
    """The report's part about the closing day, without zero counts; ids of entries if there are any."""
    return {name: each["entries"] or each["count"] for name, each in document["closing"].items() if each["count"]}


def blog_that_closes() -> Memory:
    """A blog with pictures in every state and links of every kind; one entry is a draft and one private."""
    blog = Memory()
    files = "https://files.example.jp/v1"
    blog.picture(f"{files}/held.png", entry_id="1", file_id="1")
    blog.picture(f"{files}/later.png", entry_id="1", file_id="2", data=None)
    blog.picture("https://elsewhere.example/held.png", entry_id="1")
    for name, absence in (("gone", "lost"), ("unwanted", "left_out")):
        blog.picture(f"{files}/{name}.png", entry_id="1", data=None)
        blog.kinds[Kind.ASSETS][f"{files}/{name}.png"]["state"] = absence
    names = [f"{files}/{name}.png" for name in ("held", "later", "gone", "unwanted")]
    shown = "".join(f'<img src="{url}">' for url in [*names, "https://elsewhere.example/held.png"])
    links = ("/Entry/2/", f"https://{blog.blog_id.upper()}/Entry/3/#more", f"//{blog.blog_id}/Category/1/", "#top",
             "https://elsewhere.example/Entry/2/", "mailto:a@b.example", f"{files}/list.html", "http://[")  # fmt: skip
    blog.entry("1", entry_text=shown + "".join(f'<a href="{address}">x</a>' for address in links))
    blog.entry("2", entry_text='<a href="/Entry/1/">x</a>')
    blog.entry("3", open_flg="2", entry_text='<a href="/Entry/1/">x</a>')
    blog.entry("4", is_private="t", entry_text='<img src="https://files.example.jp/v1/secret.png">')
    blog.add(Kind.ENTRY_LIST, {"entry_id": "9", "title": "読めない"})
    return blog


REST = {"not_saved_yet": 1, "gone": 1, "not_saved": 1, "not_read": ["9"], "drafts": ["3"], "private": ["4"]}


@pytest.mark.parametrize(
    ("form", "options", "expected"),
    [
        ("wxr", {}, {"fetched": 1, "links": {"1": 4, "2": 1}}),
        ("hatena", {}, {"old_address": 1, "links": {"1": 4, "2": 1}}),
        ("movabletype", {"media_folder": True}, {"links": {"1": 4, "2": 1}}),
        ("movabletype", {"media_base_url": "https://new.example/m/"}, {"new_address": 2, "links": {"1": 4, "2": 1}}),
        ("wxr", {**PATTERNS, "media_folder": True}, {"links": {"1": 3}}),
        ("jsonl", PATTERNS, {"old_address": 1, "links": {"1": 3}}),
        ("hugo", {}, {"links": {"1": 4, "2": 1}}),
        ("csv", {}, {"pictures_not_held": 2}),
        ("redirects", PATTERNS, {"pictures_not_held": 2}),
    ],
)
def test_the_closing_day_is_announced(form: str, options: dict[str, Any], expected: dict[str, Any]) -> None:
    made = export(form, blog_that_closes(), **options)
    links: dict[str, int] = expected.pop("links", {})
    assert closing(made.document) == {**REST, **expected, **({"links": list(links)} if links else {})}
    assert made.document["closing"]["links"]["count"] == sum(links.values())
    for say in (str, ja):
        lines = [line for line in made.report.lines(say) if line.startswith(("closing: ", "閉鎖後: "))]
        assert len(lines) == len(closing(made.document))


def blog_with_more() -> Memory:
    """A blog with a comment of each kind, a private entry with a comment, and uploads that no entry shows."""
    blog = Memory()
    for number, data in enumerate((b"a", b"b", None, None), 1):
        blog.picture(f"https://files.example.jp/{number}.png", file_id=str(number), data=data)
    blog.kinds[Kind.ASSETS]["https://files.example.jp/4.png"]["state"] = "lost"
    blog.picture("https://files.example.jp/secret.png", entry_id="2")
    blog.entry("1")
    blog.entry("2", is_private="t", entry_text='<img src="https://files.example.jp/secret.png">')
    for number, (entry_id, flag) in enumerate((("1", "f"), ("1", "t"), ("2", "f"), ("77", "f")), 1):
        blog.comment(str(number), entry_id, delete_flg=flag)
    return blog


FILES = {"files_not_shown": 3, "not_saved_yet": 1, "gone": 1}


@pytest.mark.parametrize(
    ("form", "options", "expected"),
    [
        ("jsonl", {}, {"private": ["2"], "comments_hidden": 1, "comments_of_others": 2, **FILES}),
        ("csv", {}, {"private": ["2"], "comments_hidden": 1, "comments_of_others": 2, "comments_not_held": 1, **FILES}),
        ("epub", {"comments": Comments.NONE}, {"private": ["2"], "comments_hidden": 1, "comments_by_choice": 1,
                                               "comments_of_others": 2, **FILES}),
        ("jsonl", {"declared": Declared(frozenset("1"))}, {"private": ["2"], "comments_undeclared": 2,
                                                           "comments_of_others": 2, **FILES}),
        ("jsonl", {"category": "other"}, {"entries_by_choice": ["1", "2"], "comments_of_others": 4, **FILES}),
        ("wxr", {"side": Side.REST, "media_folder": True}, {"entries_by_choice": ["1"], "comments_of_others": 3,
                                                            **FILES, "files_not_shown": 2}),
    ],
)  # fmt: skip
def test_all_that_the_archive_has_and_the_export_lacks_is_counted(
    form: str, options: dict[str, Any], expected: dict[str, Any]
) -> None:
    made = export(form, blog_with_more(), **options)
    assert closing(made.document) == expected
    lines = list(made.report.lines())
    assert not any("nothing of this is lost" in line for line in lines)
    assert sum(line.startswith("closing: ") for line in lines) == len(expected)


def test_two_folders_of_one_export_lack_only_what_neither_has() -> None:
    sides = {}
    for side in (Side.PUBLIC, Side.REST):
        report = Report(public=side is Side.PUBLIC, both=True)
        options = ExportOptions(declared=SAID, side=side, media_folder=True)
        for file in FORMATS["wxr"].files(blog_with_more(), options, report):
            if isinstance(file, Content):
                list(file.chunks)
        sides[side] = closing(report.document())
    rest = {**FILES, "files_not_shown": 2}
    assert sides == {Side.PUBLIC: {"comments_hidden": 1, "comments_of_others": 1, **rest},
                     Side.REST: {"comments_of_others": 1, **rest}}  # fmt: skip


def test_what_an_option_leaves_out_of_both_folders_is_in_neither_by_their_reports() -> None:
    for side in (Side.PUBLIC, Side.REST):
        made = export("jsonl", blog_with_more(), side=side, until=date(2000, 1, 1))
        assert [(row["code"], row["ids"]) for row in made.document["left_out"] if row["kind"] == "entries"] == [
            ("other_day", ["1", "2"])
        ], side


def test_an_export_without_links_to_the_old_blog_says_so() -> None:
    blog = Memory()
    blog.entry("1", entry_text='<a href="https://elsewhere.example/">x</a>')
    report = export("wxr", blog).report
    nothing = "closing: nothing of this is lost when the old blog closes: every entry, comment and file of the archive"
    assert list(report.lines())[-1] == f"{nothing} is in this export"
    assert list(report.lines(ja))[-1].startswith("閉鎖後: 元のブログがなくなっても")


def test_other_entries_are_named_by_id_only() -> None:
    blog, entries, _ = flagged_blog()
    document = export("hugo", blog).document
    text = str({**document, "left_out": [row for row in document["left_out"] if row["kind"] != "entries"]})
    assert document["in"]["pictures"] == document["in"]["categories"] == len(entries)
    assert "zqe" not in text


def test_a_category_whose_entries_have_no_new_address_is_left_out() -> None:
    blog = Memory()
    blog.entry("1", name="", category="旅")
    blog.entry("2", name="a", category="日記")
    patterns = {**PATTERNS, "new_url": AddressPattern("https://new.example/{name}", "x")}
    document = export("redirects", blog, **patterns).document
    assert (document["in"]["categories"], document["out"]["categories"]) == (2, 1)
    assert [row["ids"] for row in document["left_out"] if row["kind"] == "categories"] == [["旅"]]


def test_more_ids_than_addresses_are_named() -> None:
    assert names(["1", "2", "3", "4", "5", "6"]) == "1, 2, 3, 4, 5, …"
    assert names(["https://files.example.jp/1"] * 3) == "https://files.example.jp/1, https://files.example.jp/1, …"
    assert names([]) == ""


CAUSES = [Cause(reason, Matter.COMMENTS, "value") for reason in (*Reason, *Hidden)]


def test_every_reason_has_words_in_both_languages(subtests: pytest.Subtests) -> None:
    for cause in CAUSES:
        with subtests.test(cause=cause):
            english = sentence("comments", cause)
            japanese = ja(english)
            assert english.isascii()
            assert any(ord(char) > 0x3000 for char in japanese)
            assert "{" not in english + japanese


def test_no_two_reasons_have_the_same_words() -> None:
    assert len({sentence("comments", cause) for cause in CAUSES}) == len(CAUSES)


def test_every_reason_of_a_report_has_a_text(subtests: pytest.Subtests) -> None:
    for form in POSTS:
        with subtests.test(form=form):
            made = [
                export(form, hostile_blog(), **PATTERNS, max_bytes=1000),
                export(form, flagged_blog()[0], side=Side.REST, **PATTERNS),
            ]
            for declared in (SAID, Declared(all_as_draft=True)):
                options: dict[str, Any] = {
                    **PATTERNS,
                    "declared": declared,
                    "category": "旅",
                    "since": date(2020, 1, 1),
                }
                made.append(export(form, small(), **options))
            for one in made:
                assert reasons(one.document)
                for english, japanese in zip(one.report.lines(), one.report.lines(ja), strict=True):
                    assert english.partition("(")[0].isascii()
                    assert any(ord(char) > 0x3000 for char in japanese)


def test_changes_since_an_older_version_are_reported() -> None:
    flag, comment = (
        Cause(Hidden.FLAG, "is_private", "'t'", newest=True),
        Cause(Hidden.COMMENT, "delete_flg", "'t'", newest=True),
    )
    said: list[tuple[str, Cause, Language, str]] = [
        ("entries", flag, "en", "not public: in the newest version, is_private is 't'"),
        ("entries", flag, "ja", "非公開の記事です（is_private が 't'）（最新の状態で）"),
        ("comments", comment, "en", "in the newest version, delete_flg 't' is not visible"),
        ("comments", comment, "ja", "delete_flg が 't' のコメントは表示と決められていません（最新の状態で）"),
        ("entries", Cause(Hidden.REMOVED), "en", "not public: the newest version does not hold it any more"),
        ("comments", Cause(Hidden.REMOVED), "en", "the newest version does not hold it any more"),
        ("comments", Cause(Hidden.REMOVED), "ja", "最新の状態にはもうありません（削除されました）"),
    ]
    for kind, cause, language, words in said:
        assert translated(sentence(kind, cause), language) == words


def test_the_table_in_both_languages() -> None:
    report = Report()
    report.took("entries", 7)
    report.left("entries", Cause(Hidden.FLAG, "is_private", "'t'"), "8")
    report.changed("entries", Reason.LINES_BROKEN, "9", 3)
    report.limit(Reason.NO_TITLE, "9")
    report.picture("https://files.example.jp/1")
    report.picture("https://files.example.jp/1", Reason.NOT_SAVED)
    report.picture("https://files.example.jp/2", Reason.NOT_SAVED)
    report.picture("https://files.example.jp/2", Reason.FETCHED, referred=True)
    document = report.document()
    assert document["by_address"][0]["ids"] == ["https://files.example.jp/2"]
    assert [row["kind"] for row in document["left_out"]] == ["entries"]
    assert [document[part]["pictures"] for part in ("in", "out", "referred")] == [2, 1, 1]
    japanese = list(report.lines(ja))
    assert japanese[0].split() == ["ある数", "書き出す", "URL", "だけ", "除外"]
    assert japanese[1].split() == ["記事", "7", "0", "0", "1"]
    assert japanese[3].split() == ["画像", "2", "1", "1", "0"]
    assert japanese[5:] == [
        "除外　: 記事 1 件。非公開の記事です（is_private が 't'）（8）",
        "URL だけ: 画像 1 件。URL だけを書きます。引っ越し先がそこから取り込みます（https://files.example.jp/2）",
        "変える: 記事 1 件。長すぎる行を、見た目の変わらない所で分けました（9）",
        "注意　: 記事 1 件。題名がありません（9）",
        "閉鎖後: 記事 1 件。非公開なので、ここには入りません（アーカイブには残ります）（8）",
    ]
    english = list(report.lines())
    assert english[3].split() == ["pictures", "2", "1", "1", "0"]
    assert english[5] == "left out: 1 entry: not public: is_private is 't' (8)"
