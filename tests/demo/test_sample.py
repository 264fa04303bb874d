"""The made-up sample blog has the documented contents and is the same on every machine."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from PIL import Image

from exporter.crawl.assets.file_check import sniff
from exporter.demo import content
from exporter.demo.content import Blog, demo_blog, fields, later_changes, wire
from exporter.service.registry import DEFAULT_SERVICE
from tests.demo.test_service import COMMENT_FIELDS, ENTRY_FIELDS, FILE_FIELDS

DATA = Path(content.__file__).parent
DELETED_ENTRY, EDITED_ENTRY, NEW_ENTRY = 66, 50, 90
UPLOADED = "https://files.example.jp/v1/blog/user/{user_id}/{mtime}"
PLAYED = {"https://video.example.com/toudai100.mp4", "https://video.example.com/sound/sakamichi.mp3"}
GONE = "https://pictures.example.jp/album/2016/kieta.jpg"


def fingerprint(blog: Blog) -> str:
    records = [*blog.entries.values(), *blog.comments, *blog.files, blog.user]
    items = [blog.list_item(key) for key in blog.entries]
    parts = [wire(record) for record in records + items]
    parts += [address.encode() + body for address, body in blog.pictures.items()]
    return hashlib.sha256(b"\n".join(parts)).hexdigest()


def opened(body: bytes) -> tuple[str | None, tuple[int, int], int]:
    """Decode a whole picture; return its format, width, height and number of frames."""
    with Image.open(BytesIO(body)) as picture:
        picture.load()
        return picture.format, picture.size, getattr(picture, "n_frames", 1)


def raw(records: Any) -> list[dict[str, Any]]:
    return [fields(record) for record in records]


@pytest.fixture(scope="module")
def blog() -> Blog:
    """The unchanged blog; tests that change it make their own."""
    return demo_blog()


@pytest.fixture(scope="module")
def entries(blog: Blog) -> list[dict[str, Any]]:
    return raw(blog.entries.values())


def one(entries: list[dict[str, Any]], entry_id: int) -> dict[str, Any]:
    return next(entry for entry in entries if entry["entry_id"] == str(entry_id))


def test_it_has_the_documented_numbers_of_records(blog: Blog) -> None:
    assert (len(blog.entries), len(blog.comments), len(blog.files)) == (60, 150, 40)
    assert len(blog.categories) == 9


def test_records_have_the_document_s_fields_and_types(blog: Blog, entries: list[dict[str, Any]]) -> None:
    for entry in entries:
        assert list(entry) == ENTRY_FIELDS
        assert all(isinstance(value, str) for value in entry.values())
    for comment in raw(blog.comments):
        assert list(comment) == COMMENT_FIELDS
        assert all(isinstance(value, str) for name, value in comment.items() if name != "res_flg")
    for file in raw(blog.files):
        assert list(file) == FILE_FIELDS
        assert all(isinstance(value, str) for name, value in file.items() if name not in ("title", "explanation"))


def test_the_model_reads_everything_but_the_impossible_date_without_a_problem(
    blog: Blog, entries: list[dict[str, Any]]
) -> None:
    troubled = [entry["entry_id"] for entry in entries if DEFAULT_SERVICE.post(entry).problems]
    assert troubled == ["84"]
    listed = [DEFAULT_SERVICE.post(None, fields(blog.list_item(key))) for key in blog.entries]
    assert [item.id for item in listed if item.problems] == ["84"]
    assert not any(DEFAULT_SERVICE.comment(comment).problems for comment in raw(blog.comments))
    assert not any(DEFAULT_SERVICE.upload(file).problems for file in raw(blog.files))
    assert DEFAULT_SERVICE.user(fields(blog.user)).name == "しおね"


def test_keys_are_the_ids_of_the_records_and_unique(blog: Blog) -> None:
    assert [str(key) for key in blog.entries] == [fields(entry)["entry_id"] for entry in blog.entries.values()]
    for records, name in ((blog.comments, "cm_id"), (blog.files, "file_id")):
        numbers = [int(record[name]) for record in raw(records)]
        assert numbers == sorted(set(numbers))


def test_it_covers_eight_years_in_order(entries: list[dict[str, Any]]) -> None:
    dates = [DEFAULT_SERVICE.post(entry).date for entry in entries]
    known = [date for date in dates if date is not None]
    assert known == sorted(known)
    assert {date.year for date in known} == set(range(2016, 2025))


def test_no_data_file_is_left_unused(blog: Blog) -> None:
    changed = demo_blog()
    later_changes(changed)
    kept = sorted(path.read_bytes() for path in DATA.glob("pictures/*"))
    assert len(kept) == 49
    assert sorted(changed.pictures.values()) == kept
    names = {path.stem for path in DATA.glob("blog/*")}
    years = {f"entries_{entry['year']}" for entry in raw(blog.entries.values())}
    assert names == years | {"blog", "comments", "files", "new_year", "pictures"}


def test_one_call_does_not_see_another_s_changes() -> None:
    first, second = demo_blog(), demo_blog()
    later_changes(first)
    fields(first.entries[3])["title"] = "x"
    assert fingerprint(second) == fingerprint(demo_blog())


def test_every_upload_is_a_real_picture_of_its_recorded_size(blog: Blog) -> None:
    kinds = set()
    for file in raw(blog.files):
        body = blog.pictures[UPLOADED.format(**file)]
        assert int(file["file_size"]) == len(body)
        kinds.add(file["extension"].lower())
        if file["extension"] == "txt":
            assert "もなか" in body.decode()
            assert (file["width"], file["height"]) == ("0", "0")
            continue
        assert opened(body) == ("PNG", (int(file["width"]), int(file["height"])), 1)
        assert 2_000 < len(body) < 20_000
    assert kinds == {"png", "txt"}


def test_two_uploads_of_one_second_share_an_address(blog: Blog) -> None:
    times = [file["mtime"] for file in raw(blog.files)]
    assert len(times) - len(set(times)) == 1


def test_file_times_are_japan_time(blog: Blog) -> None:
    first = raw(blog.files)[0]
    assert first["mtime"] == str(int(datetime.fromisoformat("2016-03-19T16:40:11+09:00").timestamp()))


def test_linked_pictures_decode_and_one_of_them_moves(blog: Blog) -> None:
    frames: dict[tuple[str | None, tuple[int, int]], list[int]] = {}
    for address, body in blog.pictures.items():
        if "/v1/blog/user/" not in address and address not in PLAYED:
            kind, size, count = opened(body)
            frames.setdefault((kind, size), []).append(count)
    assert sorted(frames.pop(("GIF", (16, 16)))) == [1, 1, 2]
    assert frames == {("PNG", (320, 214)): [1, 1, 1], ("PNG", (300, 210)): [1]}


def test_every_picture_in_a_body_can_be_fetched_but_the_lost_one(blog: Blog, entries: list[dict[str, Any]]) -> None:
    shown: set[str] = set()
    for entry in entries:
        sources = re.findall(r"<img[^>]*\bsrc=[\"']?([^\"' >]+)", entry["entry_text"], re.IGNORECASE)
        assert all("{{" not in source for source in sources)
        shown |= {
            urljoin(f"https://{blog.blog_id}/Entry/{entry['entry_id']}/", source.replace("&amp;", "&"))
            for source in sources
        }
    assert shown - blog.pictures.keys() == {GONE}
    never_shown = {UPLOADED.format(**file) for file in raw(blog.files) if file["name"] in ("taijuu.txt", "tsuki.png")}
    assert blog.pictures.keys() - shown - PLAYED == never_shown
    played = {address for entry in entries for address in PLAYED if address in entry["entry_text"]}
    assert {sniff(blog.pictures[address]) for address in played} == {"video/mp4", "audio/mpeg"}


def test_only_reserved_names_are_used(blog: Blog, entries: list[dict[str, Any]]) -> None:
    text = "".join(map(json.dumps, [*entries, *raw(blog.comments), *blog.pictures]))
    hosts = {urlsplit(address).hostname or "" for address in re.findall(r"https?://[^\\\"<> ]+", text)}
    assert len(hosts) > 5
    assert all(re.search(r"(^|\.)example\.(jp|com|org|net)$", host) for host in hosts)


def test_no_placeholder_is_left(entries: list[dict[str, Any]]) -> None:
    assert not [entry["entry_id"] for entry in entries if "{{" in wire(entry).decode()]


def test_it_has_every_habit_a_real_blog_has(entries: list[dict[str, Any]]) -> None:
    texts = [entry["entry_text"] + entry["ps_text"] for entry in entries]
    habits = {
        "old tags": "<FONT", "centred": "<center>", "unquoted": "WIDTH=320", "unclosed": "<P>暑い<BR>", "nested table": "<td bgcolor",
        "ruby": "<ruby>", "details": "<details>", "iframe": "<iframe", "video": "<video", "embed": "<embed", "code": "<pre><code>",
        "quote": "<blockquote><p>", "quote in quote": "</p><blockquote>", "list in list": "<ul><li>重い", "definitions": "<dl>",
        "family emoji": "👨‍👩‍👧‍👦", "skin tone": "👍🏽", "full-width indent": "<br>　　空がひとつ", "emoji picture": "nikoniko.gif",
        "rowspan": "rowspan=2", "colspan": "colspan=3", "struck": "<del>", "marked": "<mark>", "bold quote": "<b>「強力粉」</b>だ",
        "protocol-relative": 'src="//', "relative": 'src="/image', "own link": 'href="/Entry/23/"', "import trap": "\n-----\nBODY:", "cell text": "塩｜砂糖",
    }  # fmt: skip
    assert [name for name, mark in habits.items() if not any(mark in text for text in texts)] == []
    lengths = sorted(map(len, texts))
    assert lengths[0] < 60
    assert lengths[-1] > 10_000


def test_it_has_every_state_a_real_blog_has(blog: Blog, entries: list[dict[str, Any]]) -> None:
    assert [entry["entry_id"] for entry in entries if entry["is_private"] == "t"] == ["54"]
    assert [entry["entry_id"] for entry in entries if entry["open_flg"] == "2"] == ["5", "77"]
    assert [entry["entry_id"] for entry in entries if entry["cm_receipt_flg"] == "f"] == ["54"]
    assert [entry["entry_id"] for entry in entries if entry["ps_text"]] == ["22", "39", "71"]
    plain = one(entries, 46)
    assert (plain["text_format"], "<" in plain["entry_text"]) == ("1", False)
    backdated = DEFAULT_SERVICE.post(one(entries, 59))
    moments = (backdated.period_date, backdated.date, backdated.updated)
    assert [f"{moment:%Y-%m-%d}" for moment in moments if moment] == ["1963-06-03", "2020-08-15", "2020-08-16"]
    assert backdated.facts["period_flg"]
    impossible = DEFAULT_SERVICE.post(one(entries, 84))
    assert (impossible.date, impossible.period_date) == (None, None)
    titles = [entry["title"] for entry in entries]
    assert {title for title in titles if titles.count(title) > 1} == {"本日休業", "無題"}
    assert [entry["entry_id"] for entry in entries if not entry["title"]] == ["57"]
    assert any('"' in title for title in titles)
    assert any(": " in title for title in titles)
    assert any("👩‍🍳" in title for title in titles)
    assert one(entries, 65)["entry_text"].isascii()


def test_the_longest_post_has_a_line_for_every_day_and_counts_right(entries: list[dict[str, Any]]) -> None:
    post = one(entries, 71)
    days = re.findall(r"(\d+)日（[月火水木金土日]）\S+　\d\d\.\d℃　(\S+?)。(.+?。)(?:<br>|</p>)", post["entry_text"])
    assert len(days) == 365
    remarks = [remark for _, _, remark in days]
    assert not [day for day in range(1, 365) if remarks[day] in remarks[max(0, day - 11) : day]]
    assert [sea for _, sea, _ in days].count("凪") == 91
    assert post["entry_text"].count("もなか") == 35
    assert "九十一日" in post["ps_text"]
    assert "三十五回" in post["ps_text"]


def test_comments_are_from_friends_and_strangers(blog: Blog) -> None:
    comments = raw(blog.comments)
    flagged = [comment for comment in comments if comment["delete_flg"] == "t"]
    assert [comment["entry_id"] for comment in flagged] == ["39"]
    orphans = [comment for comment in comments if int(comment["entry_id"]) not in blog.entries]
    assert [comment["entry_id"] for comment in orphans] == ["6"]
    hostile = [comment for comment in comments if "onmouseover" in comment["url"]]
    assert [comment["url_text"] for comment in hostile] == ["https://www.example.com/"]
    assert [comment["name"] for comment in comments if "\ud83c" in comment["cm_text"]] == ["ケータイから"]
    plain = [comment for comment in comments if comment["url"].startswith('<a href="https://mameko')]
    assert plain
    assert all(comment["url_text"] == "https://mameko.blog.example.jp/" for comment in plain)
    replies = [comment["res_flg"] for comment in comments if comment["res_flg"] is not None]
    assert len(replies) > 15
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", reply) for reply in replies)


def test_every_thread_belongs_to_a_post_that_takes_comments(blog: Blog) -> None:
    for comment in raw(blog.comments):
        entry = blog.entry(comment["entry_id"])
        assert entry is None or fields(entry)["cm_receipt_flg"] == "t"
        assert comment["name"]
        assert comment["cm_text"]
    counts = [int(fields(blog.list_item(key))["comment_count"]) for key in blog.entries]
    assert sum(counts) == 149


def test_comments_are_not_older_than_their_posts(blog: Blog) -> None:
    for comment in map(DEFAULT_SERVICE.comment, raw(blog.comments)):
        posted = DEFAULT_SERVICE.post(fields(blog.entry(comment.post_id) or {})).date
        assert comment.date is not None
        assert posted is None or comment.date.date() >= posted.date()


def test_the_new_year_post_changes() -> None:
    before, blog = demo_blog(), demo_blog()
    later_changes(blog)
    assert before.entries.keys() - blog.entries.keys() == {DELETED_ENTRY}
    assert blog.entries.keys() - before.entries.keys() == {NEW_ENTRY}
    changed = {key for key in before.entries.keys() & blog.entries.keys() if before.entries[key] != blog.entries[key]}
    assert changed == {EDITED_ENTRY}
    was, now = fields(before.entries[EDITED_ENTRY]), fields(blog.entries[EDITED_ENTRY])
    assert {name for name in was if was[name] != now[name]} == {"entry_text", "last_update"}
    assert "足していません" not in now["entry_text"]
    comments = [{comment["cm_id"]: comment for comment in raw(each.comments)} for each in (before, blog)]
    gone = [comments[0][key]["entry_id"] for key in comments[0].keys() - comments[1].keys()]
    assert gone == [str(DELETED_ENTRY)] * 3
    assert len(comments[1].keys() - comments[0].keys()) == 2
    assert len(blog.files) == len(before.files) + 1
    assert list(blog.files)[:-1] == list(before.files)
    picture = blog.pictures.keys() - before.pictures.keys()
    assert len(picture) == 1
    assert picture.pop() in fields(blog.entries[NEW_ENTRY])["entry_text"]
