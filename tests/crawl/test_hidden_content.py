"""Services that hide, cut or replace parts of a blog: no run may call such a backup complete.

Each way changes the sample service's HTTP answers a little, during a first backup, and during a second one after a
good first. A page has five records, so 23 entries, 34 comments and 13 files need 5, 7 and 3 pages.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from exporter.archive.archive import Archive
from exporter.crawl import removals
from exporter.demo.content import Blog, RecordList, fields
from exporter.model.kinds import Kind
from tests.crawl.conftest import Crawl, MakeCrawl
from tests.support import faults
from tests.support.demo_service import DemoService, ServiceOptions
from tests.support.generated import generated_blog
from tests.support.runs import folded, lines_of_runs

SMALL_PAGES = ServiceOptions(entry_page_size=5, comment_page_size=5, file_page_size=5)
HIDDEN = 12  # has comments, and is on page 3 of the entry list


@dataclass
class Asked:
    """A request: its operation, its page or entry, and the number of equal requests before it."""

    operation: str
    which: str
    before: int


Data = dict[str, Any]
Change = Callable[[Data, Asked], object]
"""Changes an answer's payload, or returns another answer: a response, or text that is sent as JSON."""
BOTH = ("first", "second")


@dataclass(frozen=True)
class Way:
    """One way to hide content.

    Attributes:
        operation: the operation whose answers are changed; ``None`` if only the blog is changed.
        which: the page or entry that is changed; empty for all.
        change: changes the payload.
        says: words that the problems or the error contain.
        blog: changes the blog before the run.
        runs: the runs that are affected.
        refresh: the refresh policy of the backup.
    """

    operation: str | None
    which: str
    change: Change | None
    says: str
    blog: Callable[[Blog], object] = lambda _: None
    runs: tuple[str, ...] = BOTH
    refresh: str = "all"


def unlist(*numbers: int) -> Callable[[Blog], None]:
    return lambda blog: blog.list_items.update(dict.fromkeys(numbers))


def paging(**members: Any) -> Change:
    return lambda data, _: data["paging"].update(members)


def summary(**members: Any) -> Change:
    return lambda data, _: data["summary"].update(members)


def empty(data: Data, _: Asked) -> None:
    data["list"] = []


def empty_last(data: Data, _: Asked) -> None:
    data["list"] = []
    data["paging"] |= {"next_no": None, "all_page": data["paging"]["page_no"]}


def shorten(count: int) -> Change:
    return lambda data, _: data.update(list=data["list"][:count])


def every(**members: Any) -> Change:
    """Set members of every item."""
    return lambda data, _: [item.update(members) for item in data["list"]]


def first(**members: Any) -> Change:
    """Set members of the first item."""
    return lambda data, _: data["list"][0].update(members)


def without(name: str) -> Change:
    return lambda data, _: [item.pop(name) for item in data["list"]]


def only_first_page(data: Data, _: Asked) -> None:
    data["paging"] |= {"next_no": None, "all_page": 1}


def no_paging(data: Data, _: Asked) -> None:
    del data["paging"]


def no_all_page(data: Data, _: Asked) -> None:
    data["paging"] = {"page_no": data["paging"]["page_no"], "next_no": None}


def doubled(data: Data, _: Asked) -> None:
    data["list"][1] = data["list"][0]


def first_page_again(data: Data, _: Asked) -> object:
    """Send the items of page 1 again; the sample service sends them if the page parameter is missing."""
    return _Other("1")


def in_later_sweeps(change: Change) -> Change:
    return lambda data, asked: change(data, asked) if asked.before else None


def in_every_other_sweep(change: Change) -> Change:
    return lambda data, asked: change(data, asked) if asked.before % 2 else None


def drop(name: str, value: str) -> Change:
    def change(data: Data, _: Asked) -> None:
        data["list"] = [item for item in data["list"] if item[name] != value]

    return change


def put(**members: Any) -> Change:
    return lambda data, _: data.update(members)


def clear(data: Data, _: Asked) -> None:
    data.clear()


def answer(text: str) -> Change:
    return lambda _data, _asked: text


def payload(value: Any) -> Change:
    return answer(json.dumps({"json": {"result": "ok", "message": "", "data": value}}))


def status(code: int) -> Change:
    return lambda _data, _asked: web.Response(status=code, text="no")


def html(_data: Data, _asked: Asked) -> object:
    return web.Response(text="<!DOCTYPE html><title>メンテナンス中</title>", content_type="text/html")


def half(data: Data, _: Asked) -> object:
    text = json.dumps({"json": {"result": "ok", "message": "", "data": data}})
    return text[: len(text) // 2]


BUSY = answer('{"json":{"result":"busy","message":"try later","data":{}}}')
NOTICE = put(title="お知らせ", entry_text="<p>ただいまメンテナンス中です。</p>")


@dataclass(frozen=True)
class _Other:
    """Answer as if another page were requested."""

    page: str


LIST, COMMENTS, FILES, USER, GET = "entry/list", "comment/list", "file/list", "v1/user", "entry/get"


def halve_text(data: Data, _: Asked) -> None:
    data["entry_text"] = data["entry_text"][: len(data["entry_text"]) // 2]


def no_text_newer(data: Data, _: Asked) -> None:
    data.update(entry_text="", last_update="2026-01-01 00:00:00")


def count_of(number: int, change: int | None) -> Callable[[Blog], None]:
    """Set another comment count for an entry; ``None`` removes the count."""

    def apply(blog: Blog) -> None:
        item = fields(blog.list_item(number))
        if change is None:
            blog.list_items[number] = {name: value for name, value in item.items() if name != "comment_count"}
        else:
            blog.list_items[number] = {**item, "comment_count": str(int(item["comment_count"]) + change)}

    return apply


def all_of(*changes: Callable[[Blog], object]) -> Callable[[Blog], None]:
    def apply(blog: Blog) -> None:
        for change in changes:
            change(blog)

    return apply


def move_comments(blog: Blog) -> None:
    """Move an entry's comments to another entry in the list."""
    count_of(HIDDEN, 0)(blog)
    count_of(HIDDEN + 1, 0)(blog)
    blog.comments = RecordList(
        {**fields(each), "entry_id": str(HIDDEN + 1)} if fields(each)["entry_id"] == str(HIDDEN) else each
        for each in blog.comments
    )


def orphan_comments(blog: Blog) -> None:
    """Make all comments of an entry refer to a missing entry."""
    count_of(HIDDEN, 0)(blog)
    blog.comments = RecordList(
        {**fields(each), "entry_id": "999"} if fields(each)["entry_id"] == str(HIDDEN) else each
        for each in blog.comments
    )


def swap_comment(blog: Blog) -> None:
    """Hide a comment of one entry and repeat one of another under a new ID, so that the totals stay the same."""
    for number in (HIDDEN, HIDDEN + 1):
        count_of(number, 0)(blog)
    of_hidden = next(at for at, each in enumerate(blog.comments) if fields(each)["entry_id"] == str(HIDDEN))
    blog.comments[of_hidden] = {**fields(blog.comments[of_hidden]), "cm_id": "900", "entry_id": str(HIDDEN + 1)}


def drop_comment(blog: Blog) -> None:
    count_of(HIDDEN, 0)(blog)
    at = next(at for at, each in enumerate(blog.comments) if fields(each)["entry_id"] == str(HIDDEN))
    del blog.comments[at]


UNLISTED = "the service answers these entries, which are not on the entry list"
SECOND = ("second",)
LISTS: dict[str, Way] = {
    # Entries that all lists leave out consistently.
    "an entry that comments name is unlisted": Way(None, "", None, UNLISTED, unlist(HIDDEN)),
    "several such entries are unlisted": Way(None, "", None, UNLISTED, unlist(HIDDEN, 2, 20)),
    "the newest entry with comments is unlisted": Way(None, "", None, UNLISTED, unlist(23)),
    "the oldest entry is unlisted": Way(None, "", None, UNLISTED, unlist(1), SECOND),
    "an entry is unlisted and only changed ones are read": Way(
        None, "", None, UNLISTED, unlist(HIDDEN), refresh="changed"
    ),
    "an unlisted entry, its comments counted elsewhere": Way(
        None, "", None, "are not on the comment list", all_of(unlist(HIDDEN), count_of(13, 2))
    ),
    "an unlisted entry that answers 503": Way(GET, "12", status(503), "entries 12", unlist(HIDDEN)),
    "an unlisted entry that answers 429": Way(GET, "12", status(429), "entries 12", unlist(HIDDEN)),
    "an unlisted entry that answers 400": Way(GET, "12", status(400), "entries 12", unlist(HIDDEN)),
    "an unlisted entry that answers 403": Way(GET, "12", status(403), "entries 12", unlist(HIDDEN)),
    "an unlisted entry that answers as another": Way(GET, "12", put(entry_id="13"), "is entry '13'", unlist(HIDDEN)),
    "an unlisted entry of another blog": Way(GET, "12", put(blog_id="x.example"), "of blog 'x.example'", unlist(HIDDEN)),
    "an unlisted entry with no data": Way(GET, "12", clear, "no usable entry_id", unlist(HIDDEN)),
    "an unlisted entry whose data is null": Way(GET, "12", payload(None), "not an object", unlist(HIDDEN)),
    "an unlisted entry and a page of HTML": Way(GET, "12", html, "entries 12", unlist(HIDDEN)),
    "an unlisted entry cut in half": Way(GET, "12", half, "entries 12", unlist(HIDDEN)),
    "an unlisted entry and a service that refuses all": Way(
        GET, "", status(404), "and the same for entries that are listed", unlist(HIDDEN), SECOND, "changed"
    ),
    "an unlisted entry and a service that is busy": Way(
        GET, "", BUSY, "and the same for entries that are listed", unlist(HIDDEN), SECOND, "changed"
    ),
    "more than a third unlisted": Way(None, "", None, "entries are gone", unlist(*range(1, 9)), SECOND),
    # Pages of the entry list.
    "the first page is empty": Way(LIST, "1", empty, "page 1: is empty"),
    "a middle page is empty": Way(LIST, "2", empty, "page 2: is empty"),
    "a middle page is empty and says it is the last": Way(LIST, "3", empty_last, "an earlier page says 5"),
    "the last page is empty": Way(LIST, "5", empty, "page 5: is missing or empty"),
    "a middle page is short": Way(LIST, "3", shorten(3), "page 3: holds 3 items, and another page holds 5"),
    "the first page is short": Way(LIST, "1", shorten(1), "page 1: holds 1 items, and another page holds 5"),
    "all pages but one are short": Way(
        LIST, "", lambda data, asked: shorten(5 if asked.which == "4" else 4)(data, asked), "holds 4 items"
    ),
    "a page repeats the one before": Way(LIST, "2", first_page_again, "page 2"),
    "a page repeats the one before that": Way(LIST, "3", first_page_again, "5 items are listed more than once"),
    "all pages are the first": Way(LIST, "", first_page_again, "entry_list_page_param"),
    "a page holds an entry twice": Way(LIST, "3", doubled, "items are listed more than once"),
    "a page says it is another": Way(LIST, "3", paging(page_no=4), "says it is page 4"),
    "the only page says it is the second": Way(
        LIST, "1", lambda data, _: data["paging"].update(page_no=2, all_page=1, next_no=None), "says it is page 2 of 1"
    ),
    "the list ends with its first page": Way(LIST, "1", only_first_page, ""),
    "a page says there are fewer pages": Way(LIST, "2", paging(all_page=2, next_no=None), "an earlier page says 5"),
    "the paging object loses its number of pages": Way(LIST, "1", no_all_page, "how many pages the list has"),
    "the first page has no paging object": Way(LIST, "1", no_paging, "has no paging object"),
    "a later page has no paging object": Way(LIST, "3", no_paging, "how many pages the list has"),
    "a page says none follows": Way(LIST, "2", paging(next_no=None), "no page follows"),
    "a page says none follows, and the next is empty": Way(
        LIST, "", lambda data, asked: empty(data, asked) if int(asked.which) > 2 else paging(next_no=None)(data, asked), ""
    ),
    "a page says none follows, and the next is missing": Way(
        LIST,
        "",
        lambda data, asked: status(404)(data, asked) if int(asked.which) > 2 else paging(next_no=None)(data, asked),
        "page 3: is missing or empty",
    ),
    "a page skips one": Way(LIST, "2", paging(next_no=4), "skips pages"),
    "a page leads back": Way(LIST, "3", paging(next_no=1), "goes back"),
    "a page skips to a short end": Way(
        LIST, "1", lambda data, _: data["paging"].update(next_no=5, all_page=1), "skips pages"
    ),
    "a page says there are no pages": Way(LIST, "1", paging(all_page=0, next_no=None), "although the list has 0 pages"),
    "a page is missing": Way(LIST, "3", status(404), "page 3: could not be read"),
    "a page fails": Way(LIST, "3", status(500), "page 3: could not be read"),
    "a page is HTML": Way(LIST, "3", html, "page 3: could not be read"),
    "a page is cut in half": Way(LIST, "3", half, "page 3: could not be read"),
    "a page is busy": Way(LIST, "3", BUSY, "page 3: could not be read"),
    "the last page is busy": Way(LIST, "5", BUSY, "page 5: could not be read"),
    "a page is an empty body": Way(LIST, "3", answer(""), "page 3: could not be read"),
    "a page has no data": Way(LIST, "3", payload(None), "page 3: could not be read"),
    "a page has an empty object": Way(LIST, "3", clear, "page 3: could not be read"),
    "a page's list is null": Way(LIST, "3", put(list=None), "page 3: could not be read"),
    "a page's list is an object": Way(LIST, "3", put(list={}), "page 3: could not be read"),
    "items without an id": Way(LIST, "3", without("entry_id"), "has no usable id"),
    "an item whose id is a list": Way(LIST, "3", first(entry_id=["12"]), "has no usable id"),
    "an item that is text": Way(LIST, "3", lambda data, _: data["list"].append("12"), "has no usable id"),
    "an item with the id of another": Way(
        LIST, "3", lambda data, _: data["list"][0].update(entry_id=data["list"][1]["entry_id"]), "two records have the id"
    ),
    "an item whose id has a zero in front": Way(LIST, "3", first(entry_id="013"), "entries 013"),
    "the list loses its end after the first sweep": Way(LIST, "1", in_later_sweeps(only_first_page), ""),
    "an entry is listed in every other sweep": Way(
        LIST, "3", in_every_other_sweep(drop("entry_id", "12")), ""
    ),
    # Comment counts.
    "an entry counts too many comments": Way(None, "", None, "not on the comment list", count_of(HIDDEN, 3)),
    "an entry counts too few comments": Way(None, "", None, "more comments than the entry list counts", count_of(HIDDEN, -1)),
    "an entry counts no comments": Way(LIST, "", every(comment_count="0"), "more comments than the entry list counts"),
    "an entry counts less than no comments": Way(LIST, "", every(comment_count="-7"), "more comments than the entry list counts"),
    "an entry states no comment count": Way(None, "", None, "does not say how many comments", count_of(HIDDEN, None)),
    "no entry states a comment count": Way(LIST, "", without("comment_count"), "does not say how many comments"),
    "comment counts are words": Way(LIST, "", every(comment_count="many"), "does not say how many comments"),
    "two counts are off by one, in two directions": Way(
        None, "", None, "more comments than the entry list counts", all_of(count_of(HIDDEN, -1), count_of(13, 1))
    ),
}  # fmt: skip
RECORDS: dict[str, Way] = {
    "a comment is left out": Way(None, "", None, "not on the comment list", drop_comment),
    "comments name another entry": Way(None, "", None, "not on the comment list", move_comments),
    "comments name an unknown entry": Way(None, "", None, "not on the comment list", orphan_comments),
    "a comment is replaced by one of another entry": Way(None, "", None, "not on the comment list", swap_comment),
    "comments name no entry": Way(COMMENTS, "2", without("entry_id"), "not on the comment list"),
    "there are no comments at all": Way(
        COMMENTS, "", lambda data, _: data.update(list=[], paging={**data["paging"], "next_no": None, "all_page": 1}), ""
    ),
    "the comments end with their first page": Way(COMMENTS, "1", only_first_page, ""),
    "a page of comments without paging": Way(COMMENTS, "1", no_paging, ""),
    "a page of comments is empty": Way(COMMENTS, "2", empty, "page 2: is empty"),
    "the last page of comments is empty": Way(COMMENTS, "7", empty, "page 7: is missing or empty"),
    "a page of comments is short": Way(COMMENTS, "3", shorten(4), "page 3: holds 4 items"),
    "a page of comments says there are fewer pages": Way(
        COMMENTS, "3", paging(all_page=3, next_no=None), "an earlier page says 7"
    ),
    "a page of comments repeats the first": Way(COMMENTS, "4", first_page_again, "5 items are listed more than once"),
    "a page of comments holds one twice": Way(COMMENTS, "4", doubled, "items are listed more than once"),
    "a page of comments says it is another": Way(COMMENTS, "4", paging(page_no=5), "says it is page 5"),
    "a page of comments skips one": Way(COMMENTS, "4", paging(next_no=6), "skips pages"),
    "a page of comments leads back": Way(COMMENTS, "4", paging(next_no=2), "goes back"),
    "a page of comments is missing": Way(COMMENTS, "4", status(404), "page 4: could not be read"),
    "a page of comments is HTML": Way(COMMENTS, "4", html, "page 4: could not be read"),
    "a page of comments is cut in half": Way(COMMENTS, "4", half, "page 4: could not be read"),
    "a page of comments is busy": Way(COMMENTS, "4", BUSY, "page 4: could not be read"),
    "comments without an id": Way(COMMENTS, "4", without("cm_id"), "has no usable id"),
    "comments of one id": Way(COMMENTS, "4", every(cm_id="7"), "two records have the id 7"),
    "comments vanish after the first sweep": Way(COMMENTS, "1", in_later_sweeps(only_first_page), ""),
    "the summary counts more files": Way(FILES, "", summary(filenum="14"), "13 of 14 files"),
    "the summary counts fewer files": Way(FILES, "", summary(filenum="10"), "its summary counts 10"),
    "the summary counts files in words": Way(FILES, "", summary(filenum="ten"), "does not say how many files"),
    "pages count different files": Way(FILES, "3", summary(filenum="11"), "an earlier page says 13"),
    "the summary counts more bytes": Way(FILES, "", summary(totalsize="99999999"), "its summary says 99,999,999"),
    "the summary counts fewer bytes": Way(FILES, "", summary(totalsize="5"), "its summary says 5"),
    "there is no summary": Way(FILES, "", lambda data, _: data.pop("summary"), "does not say how many files"),
    "a file is left out, its bytes are not": Way(
        FILES, "", lambda data, asked: (drop("file_id", "3")(data, asked), summary(filenum="12")(data, asked)), ""
    ),
    "a page of files is empty": Way(FILES, "2", empty, "ends after 5 of 13 files"),
    "the last page of files is empty": Way(FILES, "3", empty, "ends after 10 of 13 files"),
    "a page of files is short": Way(FILES, "2", shorten(3), "of 13 files"),
    "a page of files repeats the first": Way(FILES, "2", first_page_again, "page 2"),
    "a page of files holds one twice": Way(FILES, "2", doubled, "of 13 files"),
    "a page of files says it is another": Way(FILES, "2", put(page=1), "page 2"),
    "a page of files is missing": Way(FILES, "2", status(404), "page 2"),
    "a page of files is HTML": Way(FILES, "2", html, "page 2: could not be read"),
    "a page of files is cut in half": Way(FILES, "2", half, "page 2: could not be read"),
    "a page of files has no list": Way(FILES, "2", put(list=None), "page 2"),
    "files without an id": Way(FILES, "2", without("file_id"), "has no usable id"),
    "files of one id": Way(FILES, "2", every(file_id="7"), "two records have the id 7"),
    "there are no files at all": Way(FILES, "", put(list=[], summary={"filenum": "0", "totalsize": "0"}), "", runs=SECOND),
    "the user is missing": Way(USER, "", status(404), "the user could not be read"),
    "the user fails": Way(USER, "", status(500), "the user could not be read"),
    "the user is HTML": Way(USER, "", html, "the user could not be read"),
    "the user has no id": Way(USER, "", answer('{"nickname":"?"}'), "the user could not be read"),
    "the user is an envelope": Way(USER, "", BUSY, "the user could not be read"),
    "another user": Way(USER, "", answer('{"id":"ffff","nickname":"?"}'), "another user than before", runs=SECOND),
    "an entry is missing": Way(GET, "12", status(404), "entries 12"),
    "an entry is gone": Way(GET, "12", status(410), "entries 12"),
    "an entry fails": Way(GET, "12", status(500), "entries 12"),
    "an entry is another": Way(GET, "12", put(entry_id="13"), "is entry '13'"),
    "an entry is of another blog": Way(GET, "12", put(blog_id="x.example"), "of blog 'x.example'"),
    "an entry has no data": Way(GET, "12", clear, "no usable entry_id"),
    "an entry's data is null": Way(GET, "12", payload(None), "not an object"),
    "an entry's data is a list": Way(GET, "12", payload([1]), "not an object"),
    "an entry is cut in half": Way(GET, "12", half, "entries 12"),
    "an entry is HTML": Way(GET, "12", html, "entries 12"),
    "an entry is an empty body": Way(GET, "12", answer(""), "entries 12"),
    "an entry is busy": Way(GET, "12", BUSY, "entries 12"),
    "an entry is blank": Way(GET, "12", put(title="", entry_text="", ps_text=""), "neither a title nor a text"),
    "an entry has only its id": Way(
        GET, "12", payload({"entry_id": "12"}), "neither a title nor a text"
    ),
    "every entry is the same answer": Way(GET, "", payload({"entry_id": "12", "title": "?"}), "is entry '12'"),
    "every entry has the text of a notice": Way(GET, "", NOTICE, "have the same text"),
    "every entry lost its text": Way(GET, "", no_text_newer, "lost their text at once", runs=SECOND),
    "every entry lost its text, not updated": Way(GET, "", put(entry_text=""), "a part of its text", runs=SECOND),
    "an entry is cut, not updated": Way(GET, "12", halve_text, "entries 12", runs=SECOND),
    "an entry lost its text, not updated": Way(GET, "12", put(entry_text=""), "entries 12", runs=SECOND),
    "an entry lost its title, not updated": Way(GET, "12", put(title=""), "entries 12", runs=SECOND),
    "an entry's text is null": Way(GET, "12", put(entry_text=None), "entries 12"),
    "an entry has no text member": Way(GET, "12", lambda data, _: data.pop("entry_text"), "entries 12"),
}  # fmt: skip
WAYS = {**LISTS, **RECORDS}
TYPICAL = {
    "an entry that comments name is unlisted": "first",
    "an entry is unlisted and only changed ones are read": "second",
    "an unlisted entry, its comments counted elsewhere": "first",
    "an unlisted entry that answers 503": "first",
    "an unlisted entry and a service that refuses all": "second",
    "more than a third unlisted": "second",
    "a middle page is empty": "first",
    "the last page is empty": "second",
    "a middle page is short": "first",
    "all pages are the first": "second",
    "a page says there are fewer pages": "first",
    "a page says none follows": "first",
    "a page skips one": "second",
    "a page is missing": "first",
    "items without an id": "first",
    "an item with the id of another": "second",
    "an entry is listed in every other sweep": "first",
    "an entry counts too few comments": "second",
    "no entry states a comment count": "first",
    "a comment is left out": "second",
    "the summary counts more files": "first",
    "the summary counts fewer bytes": "first",
    "there are no files at all": "second",
    "the user is missing": "first",
    "another user": "second",
    "an entry is missing": "first",
    "an entry is another": "first",
    "an entry is blank": "first",
    "an entry has no text member": "first",
    "every entry has the text of a notice": "second",
    "every entry lost its text": "second",
    "an entry is cut, not updated": "second",
}
"""A way of each sort, and the run in which the usual tests try it."""
CASES = [
    pytest.param(name, run, id=f"{name} ({run} run)", marks=[] if TYPICAL.get(name) == run else pytest.mark.thorough)
    for name, way in WAYS.items()
    for run in way.runs
]


def test_typical_ways_exist() -> None:
    assert [name for name, run in TYPICAL.items() if run not in WAYS[name].runs] == []


def blog() -> Blog:
    made = generated_blog(23, 33, 13)
    counted = Counter(fields(comment)["entry_id"] for comment in made.comments)
    for number in (2, HIDDEN, HIDDEN + 1, 20, 23):
        assert counted[str(number)] or number in made.entries
    more = [{**fields(made.comments[0]), "cm_id": str(100 + at), "entry_id": str(at)} for at in (2, 12, 13, 20, 23)]
    made.comments = RecordList([*list(made.comments)[:29], *more])
    return made


def strike(service: DemoService, way: Way) -> None:
    """Make the service answer in this way from now on."""
    asked: Counter[tuple[str, str]] = Counter()

    async def before(request: web.Request) -> web.StreamResponse | None:
        if way.operation is None or way.change is None or not request.path.endswith(way.operation):
            return None
        which = request.query.get("page", request.query.get("entry_id", ""))
        if way.which and way.which != which:
            return None
        this = Asked(way.operation, which, asked[way.operation, which])
        asked[way.operation, which] += 1
        data = {} if way.operation == USER else await payload_of(service, request)
        found = way.change(data, this)
        if isinstance(found, web.StreamResponse):
            return found
        if isinstance(found, _Other):
            data["list"] = await items_of(service, request, found.page)
            return json_answer(data)
        return text_answer(found) if isinstance(found, str) else json_answer(data)

    service.before = before


async def payload_of(service: DemoService, request: web.Request) -> Data:
    response = await service.operation(request)
    assert isinstance(response, web.Response)
    assert isinstance(response.body, bytes)
    data = json.loads(response.body)["json"]["data"]
    assert isinstance(data, dict)
    return data


async def items_of(service: DemoService, request: web.Request, page: str) -> list[Any]:
    other = request.clone(rel_url=request.rel_url.update_query(page=page))
    return list((await payload_of(service, other))["list"])


def json_answer(data: Data) -> web.Response:
    return text_answer(json.dumps({"json": {"result": "ok", "message": "", "data": data}}))


def text_answer(text: str) -> web.Response:
    return web.Response(text=text, content_type="application/json")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of a first backup of the whole blog, to be copied."""
    root = tmp_path_factory.mktemp("saved") / "archive"

    async def save() -> None:
        async with DemoService(blog(), SMALL_PAGES) as service:
            assert (await Crawl(root, service).run()).code == 0

    asyncio.run(save())
    return root


@pytest.mark.parametrize(("name", "run"), CASES)
async def test_no_backup_with_hidden_content_is_complete(crawl_of: MakeCrawl, saved: Path, name: str, run: str) -> None:
    way, held = WAYS[name], blog()
    async with DemoService(held, SMALL_PAGES) as service:
        crawl = crawl_of(service)
        crawl.retries = 0
        before: dict[Kind, Any] = {}
        if run == "second":
            shutil.copytree(saved, crawl.root)
            before = folded(crawl.root)
        way.blog(held)
        strike(service, way)
        ran = await crawl.run(refresh=way.refresh)
        assert ran.code in {3, 4, 20}, ran.reasons
        assert way.says in ran.reasons + str(ran.error)
        line: dict[str, Any] = lines_of_runs(crawl.root)[-1] if crawl.root.exists() else {"outcome": "failed"}
        assert line["outcome"] in {"partial", "refused", "failed"}
        if ran.code == 3:
            assert ran.reasons
            assert (line["exit_code"], line["completeness"]["complete"]) == (3, False)
            entries = line["completeness"]["entries"]
            assert entries["listed"] == entries["saved"] + sum(entries["left_out"].values())
            assert entries["saved"] == entries["read"] + entries["carried_over"]
            versions = Archive.open(crawl.root)
            newest = versions.newest()
            assert newest is not None
            if run == "first":
                assert versions.manifest(newest).completeness["complete"] is False
        after = folded(crawl.root) if crawl.root.exists() and run == "second" else before
        for kind in (Kind.ENTRIES, Kind.ENTRY_LIST):
            assert before.get(kind, {}).keys() <= after.get(kind, {}).keys()


@pytest.mark.parametrize("refresh", ["all", "changed"])
async def test_the_unchanged_blog_is_complete_without_extra_requests(crawl_of: MakeCrawl, refresh: str) -> None:
    async with DemoService(blog(), SMALL_PAGES) as service:
        crawl = crawl_of(service)
        for lists in (30, 30):
            ran = await crawl.run(refresh=refresh)
            assert (ran.code, ran.reasons) == (0, "")
            assert crawl.lists == lists
            assert len(crawl.gets) <= 23


async def test_unlisted_entries_are_kept_and_requested_again(crawl_of: MakeCrawl) -> None:
    held = blog()
    unlist(HIDDEN)(held)
    async with DemoService(held, SMALL_PAGES) as service:
        crawl = crawl_of(service)
        ran = await crawl.run()
        assert ran.code == 3
        assert ran.outcome.completeness is not None
        assert ran.outcome.completeness["entries"]["contradicted"] == 1
        assert str(HIDDEN) in folded(crawl.root)[Kind.ENTRIES]
        ran = await crawl.run(refresh="changed")
        assert (ran.code, ran.outcome.version, crawl.gets) == (3, None, [str(HIDDEN)])
        held.list_items.clear()
        assert (await crawl.run()).code == 0


async def test_an_unlisted_entry_that_is_gone_is_no_problem(crawl_of: MakeCrawl) -> None:
    held = blog()
    async with DemoService(held, SMALL_PAGES) as service:
        crawl = crawl_of(service)
        assert (await crawl.run()).code == 0
        del held.entries[HIDDEN]
        for gone in (1, 0):
            ran = await crawl.run()
            assert (ran.code, ran.reasons) == (0, "")
            assert ran.outcome.counts["entries"].gone == gone
            assert crawl.gets.count(str(HIDDEN)) <= 1


async def test_comments_that_name_very_many_entries_do_not_make_a_run_endless(
    crawl_of: MakeCrawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removals, "MAX_NAMED_REQUESTS", 3)
    held = blog()
    unlist(*range(1, 9))(held)
    held.comments = RecordList({"cm_id": str(number), "entry_id": str(number)} for number in range(1, 9))
    async with DemoService(held, SMALL_PAGES) as service:
        crawl = crawl_of(service)
        for left in (5, 2):
            ran = await crawl.run(accept_removals=True, refresh="changed")
            assert ran.code == 3
            assert f"{left} more entries that are not on the entry list and were not requested" in ran.reasons
        ran = await crawl.run(accept_removals=True, refresh="changed")
        assert "were not requested" not in ran.reasons
        assert len(folded(crawl.root)[Kind.ENTRIES]) == 23


async def test_hidden_comments_that_the_count_leaves_out_are_no_contradiction(crawl_of: MakeCrawl) -> None:
    held = blog()
    at = next(at for at, each in enumerate(held.comments) if fields(each)["entry_id"] == str(HIDDEN))
    held.comments[at] = {**fields(held.comments[at]), "delete_flg": "t"}
    count_of(HIDDEN, -1)(held)
    async with DemoService(held, SMALL_PAGES) as service:
        crawl = crawl_of(service)
        for _ in range(2):
            ran = await crawl.run()
            assert (ran.code, ran.reasons) == (0, "")


async def test_a_text_that_was_cut_on_purpose_is_accepted(crawl_of: MakeCrawl) -> None:
    held = blog()
    async with DemoService(held, SMALL_PAGES) as service:
        crawl = crawl_of(service)
        await crawl.run()
        service.before = faults.only("/v1/none", faults.status(500))
        held.entries[5] = {**fields(held.entries[5]), "entry_text": ""}
        assert (await crawl.run()).code == 3
        assert (await crawl.run(accept_removals=True)).code == 0
        assert (await crawl.run()).code == 0
        held.entries[6] = {**fields(held.entries[6]), "entry_text": "", "last_update": "2026-01-01 00:00:00"}
        assert (await crawl.run()).code == 0
