"""Moving a blog: the result, a second run, and content that is left alone."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from aiohttp import web

from exporter.errors import ArchiveLocked, ServiceError
from exporter.export.interface import Side
from exporter.export.report import Report
from exporter.move.outcome import Did, LeftAlone, Thing
from tests.export.memory import SAID, Memory
from tests.move.home import LATER, Home, running_home
from tests.move.moving import counts, move, small_blog

ALL = {"categories": 2, "pictures": 2, "posts": 3, "comments": 3}


@pytest.fixture
async def home() -> AsyncIterator[Home]:
    async with running_home() as running:
        yield running


def stored(home: Home, title: str) -> dict[str, Any]:
    """Return the only post with a title, in its stored form."""
    (found,) = [each for each in home.rest_posts.values() if each["title"] == title]
    return found


def post(home: Home, title: str) -> dict[str, Any]:
    """Return the only post with a title, with its addresses decoded as in a browser."""
    found = stored(home, title)
    return {**found, "content": found["content"].replace("&#47;&#47;", "//")}


def shown(content: str) -> str:
    """Return the HTML that a WordPress shows for blocks and the HTML in them."""
    return re.sub(r"<!-- /?wp:.*?-->|<!--more.*?-->", "", content, flags=re.DOTALL).strip()


async def test_a_blog_arrives_with_everything_in_its_place(home: Home, tmp_path: Path) -> None:
    report = Report()
    outcome = await move(home, small_blog(), tmp_path, report=report)
    assert (outcome.whole, counts(outcome, Did.MADE)) == (True, ALL)
    one, two, three = post(home, "一つ目"), post(home, "二つ目"), post(home, "")
    pictures = [each["source_url"] for each in home.media.values()]
    assert shown(one["content"]) == f'<img src="{pictures[0]}"> <a href="{home.url}/second/">二</a>'
    first, rest = shown(two["content"]).split("続き")
    assert first.strip() == f'<img src="{pictures[1]}"> <a href="{home.url}/first/">一</a> <a href="#x">x</a>'
    assert rest == ""
    assert '<!-- wp:more {"customText":"もっと"} -->\n<!--more もっと-->\n<!-- /wp:more -->' in two["content"]
    assert shown(three["content"]) == "三<br>\n行"
    assert [each["status"] for each in (one, two, three)] == ["publish"] * 3
    assert [each["comment_status"] for each in (one, two, three)] == ["open", "closed", "open"]
    assert one["date_gmt"] == "2024-03-05T03:34:56"
    assert [home.terms[each["categories"][0]]["name"] for each in (one, two, three)] == ["日記", "日記", "旅"]
    comments = list(home.rest_comments.values())
    assert [each["author_name"] for each in comments] == ["&lt;管理人&gt;", "Anonymous", "&lt;管理人&gt;"]
    assert [each["post"] for each in comments] == [one["id"], one["id"], two["id"]]
    assert all(each["status"] == "approved" and each["author_ip"] == "127.0.0.1" for each in comments)
    document = report.document()
    assert document["in"] == document["out"] == {"entries": 3, "comments": 3, "pictures": 2, "categories": 2}
    assert all(address in home.files for address in (url.removeprefix(home.url) for url in pictures))


async def test_names_in_any_script_are_kept_in_addresses(home: Home, tmp_path: Path) -> None:
    blog = Memory()
    for number, name in enumerate(("海の日", "2016", "Aa_b", "a b"), 1):
        blog.entry(str(number), title=name, name=name, entry_text="い")
    assert (await move(home, blog, tmp_path)).whole
    found = [unquote(each["slug"]) for each in home.rest_posts.values()]
    assert found == ["海の日", "2016", "aa_b", "entry-4"]
    assert counts(await move(home, blog, tmp_path), Did.THERE)["posts"] == 4


async def test_a_post_is_not_public_before_it_is_complete(home: Home, tmp_path: Path) -> None:
    seen = []

    def watch(route: str, _fields: Any) -> None:
        seen.append([(each["status"], each["content"]) for each in home.rest_posts.values()])

    home.refuse_write = watch
    await move(home, small_blog(), tmp_path)
    public = [content for state in seen for status, content in state if status == "publish"]
    assert public
    assert not any("reserved" in content for content in public)


@pytest.mark.parametrize("lost", [False, True])
async def test_a_second_run_does_nothing(home: Home, tmp_path: Path, lost: bool) -> None:
    await move(home, small_blog(), tmp_path)
    if lost:
        (tmp_path / "map.jsonl").unlink()
    before, posts = len(home.writes), dict(home.rest_posts)
    outcome = await move(home, small_blog(), tmp_path)
    assert (outcome.whole, counts(outcome, Did.THERE), counts(outcome, Did.MADE)) == (True, ALL, {})
    assert len(home.writes) == before
    assert home.rest_posts == posts


async def test_a_dry_run_sends_nothing_and_reports_its_plan(home: Home, tmp_path: Path) -> None:
    outcome = await move(home, small_blog(), tmp_path, dry_run=True)
    assert (counts(outcome, Did.MADE), home.writes) == (ALL, [])
    assert not (tmp_path / "map.jsonl").exists()
    await move(home, small_blog(), tmp_path)
    writes = len(home.writes)
    outcome = await move(home, small_blog(), tmp_path, dry_run=True)
    assert (counts(outcome, Did.THERE), len(home.writes)) == (ALL, writes)


async def test_changes_in_the_old_blog_are_moved(home: Home, tmp_path: Path) -> None:
    await move(home, small_blog(), tmp_path)
    blog = small_blog()
    blog.entry("1", title="一つ目、改", name="first", entry_text="書き直した")
    blog.entry("4", title="四つ目", name="fourth", entry_text="新しい")
    blog.comment("4", "3", name="x", cm_text="後から")
    outcome = await move(home, blog, tmp_path)
    assert counts(outcome, Did.CHANGED) == {"posts": 1}
    assert counts(outcome, Did.MADE) == {"posts": 1, "comments": 1}
    assert shown(post(home, "一つ目、改")["content"]) == "書き直した"
    assert len(home.rest_posts) == 4


@pytest.mark.parametrize("drafts", [False, True])
async def test_a_late_comment_reaches_a_post_with_closed_comments(home: Home, tmp_path: Path, drafts: bool) -> None:
    said = replace(SAID, all_as_draft=drafts)
    side = Side.DRAFTS if drafts else Side.PUBLIC
    await move(home, small_blog(), tmp_path, declared=said, side=side)
    before = post(home, "二つ目")
    blog = small_blog()
    blog.comment("4", "2", name="x", cm_text="後から")
    outcome = await move(home, blog, tmp_path, declared=said, side=side)
    assert counts(outcome, Did.MADE) == {"comments": 1}
    after = post(home, "二つ目")
    assert {**after, "modified_gmt": ""} == {**before, "modified_gmt": ""}
    assert (after["status"], after["comment_status"]) == ("draft" if drafts else "publish", "closed")
    assert counts(await move(home, blog, tmp_path, declared=said, side=side), Did.MADE) == {}


async def test_drafts_keep_their_comments_and_nothing_is_public(home: Home, tmp_path: Path) -> None:
    said = replace(SAID, all_as_draft=True)
    outcome = await move(home, small_blog(), tmp_path, declared=said, side=Side.DRAFTS)
    assert (outcome.whole, {each["status"] for each in home.rest_posts.values()}) == (True, {"draft"})
    assert len(home.rest_comments) == 3
    assert f'href="{home.url}/second/"' in post(home, "一つ目")["content"], "the address it will be published at"


async def test_private_posts_stay_private(home: Home, tmp_path: Path) -> None:
    blog = small_blog()
    blog.entry("9", title="秘密", name="himitsu", is_private="t")
    blog.comment("9", "9", delete_flg="t", cm_text="隠した")
    await move(home, blog, tmp_path)
    assert "秘密" not in str(home.rest_posts)
    await move(home, blog, tmp_path, side=Side.REST)
    assert post(home, "秘密")["status"] == "private"
    assert [each["status"] for each in home.rest_comments.values()].count("hold") == 1
    assert all(state["status"] == "private" for state in home.rest_posts.values() if state["title"] == "秘密")


def edited(home: Home, title: str, **changes: Any) -> None:
    """Edit a post as a person would."""
    stored(home, title).update(modified_gmt=LATER, **changes)


async def test_a_persons_changes_are_left_alone(home: Home, tmp_path: Path) -> None:
    await move(home, small_blog(), tmp_path)
    mine = post(home, "一つ目")["content"].replace("二</a>", "二</a> 私の追記")
    edited(home, "一つ目", content=mine)
    outcome = await move(home, small_blog(), tmp_path)
    assert counts(outcome, Did.THERE) == ALL
    blog = small_blog()
    blog.entry("1", title="一つ目、改", name="first", entry_text="書き直した")
    outcome = await move(home, blog, tmp_path)
    assert post(home, "一つ目")["content"] == mine
    assert outcome.named[Thing.POST, Did.LEFT, "changed there since it was moved"] == ["1"]


async def test_a_persons_changes_during_a_move_are_left_alone(home: Home, tmp_path: Path) -> None:
    await move(home, small_blog(), tmp_path)

    def meddle(event: Any) -> None:
        if str(getattr(event, "stage", "")) == "posts and comments":
            edited(home, "一つ目", content="私の文")

    blog = small_blog()
    blog.entry("1", title="一つ目、改", name="first", entry_text="書き直した")
    outcome = await move(home, blog, tmp_path, tell=meddle)
    assert counts(outcome, Did.LEFT) == {"posts": 1}
    assert post(home, "一つ目")["content"] == "私の文"


async def test_without_the_map_nothing_that_may_be_a_persons_is_changed(home: Home, tmp_path: Path) -> None:
    await move(home, small_blog(), tmp_path)
    (tmp_path / "map.jsonl").unlink()
    blog = small_blog()
    blog.entry("1", title="一つ目、改", name="first", entry_text="書き直した")
    outcome = await move(home, blog, tmp_path)
    assert counts(outcome, Did.LEFT) == {"posts": 1}
    assert post(home, "一つ目")


async def test_a_half_made_post_that_a_person_took_over_is_left_alone(home: Home, tmp_path: Path) -> None:
    home.death.at = 8  # the posts exist but have no text
    with pytest.raises(Exception, match="broke"):
        await move(home, small_blog(), tmp_path)
    edited(home, "二つ目", content=post(home, "二つ目")["content"] + "私の文")
    home.death.at = -1
    outcome = await move(home, small_blog(), tmp_path)
    assert post(home, "二つ目")["content"].endswith("私の文")
    assert outcome.named[Thing.POST, Did.LEFT, "changed there since it was moved"] == ["2"]


async def test_a_post_deleted_by_a_person_is_not_made_again(home: Home, tmp_path: Path) -> None:
    await move(home, small_blog(), tmp_path)
    del home.rest_posts[post(home, "一つ目")["id"]]
    edited(home, "二つ目", status="trash")
    edited(home, "", content="私の文だけ")
    home.rest_comments.clear()
    (first, _) = home.media
    del home.media[first]
    writes, report = len(home.writes), Report()
    outcome = await move(home, small_blog(), tmp_path, report=report)
    assert len(home.writes) == writes
    assert {why: keys for (thing, _, why), keys in outcome.named.items() if thing is Thing.POST} == {
        "deleted there since it was moved": ["1"],
        "put into the trash there": ["2"],
        "changed there since it was moved": ["3"],
    }
    assert counts(outcome, Did.LEFT)["pictures"] == 1
    assert outcome.whole, "a deletion by a person is no failure"
    assert report.document()["out"]["entries"] == 0


async def test_a_deleted_comment_stays_deleted(home: Home, tmp_path: Path) -> None:
    await move(home, small_blog(), tmp_path)
    home.rest_comments.popitem()
    outcome = await move(home, small_blog(), tmp_path)
    assert counts(outcome, Did.LEFT) == {"comments": 1}
    assert len(home.rest_comments) == 2


async def test_records_of_other_programs_are_not_changed_or_adopted(home: Home, tmp_path: Path) -> None:
    theirs = {"title": "私の記事", "content": "x", "slug": "first", "date_gmt": LATER, "status": "publish"}
    home.take_post(theirs)
    home.take_term({"name": "日記", "slug": "nikki"})
    (number, before) = next(iter(home.rest_posts.items()))
    before = dict(before)
    outcome = await move(home, small_blog(), tmp_path)
    assert outcome.whole
    assert home.rest_posts[number] == before
    assert post(home, "一つ目")["slug"] == "first-2"
    assert f'href="{home.url}/first-2/"' in post(home, "二つ目")["content"]
    assert counts(outcome, Did.THERE) == {"categories": 1}
    assert not [each for each in home.writes if each.startswith("DELETE")]


async def test_a_file_that_is_not_taken_is_named_and_keeps_its_address(home: Home, tmp_path: Path) -> None:
    def refuse(route: str, _fields: Any) -> web.Response | None:
        message = "Sorry, you are not allowed to upload this file type."
        return home.refuse(500, "rest_upload_sideload_error", message) if route == "wp/v2/media" else None

    home.refuse_write = refuse
    report = Report()
    outcome = await move(home, small_blog(), tmp_path, report=report, retries=3)
    assert not outcome.whole
    assert counts(outcome, Did.REFUSED) == {"pictures": 2}
    assert home.writes.count("POST wp/v2/media") == 2, "a retry would be refused again"
    assert 'src="https://pictures.example.jp/1.png"' in post(home, "一つ目")["content"]
    (row,) = report.document()["by_address"]
    assert (row["reason"], row["count"]) == ("the new home does not take it", 2)
    home.refuse_write = lambda _route, _fields: None
    assert counts(await move(home, small_blog(), tmp_path), Did.CHANGED) == {"posts": 2}
    assert "pictures.example.jp" not in str(home.rest_posts)


async def test_no_two_pictures_are_sent_at_once_before_one_has_arrived(home: Home, tmp_path: Path) -> None:
    home.makes_folders_carelessly = True
    outcome = await move(home, small_blog(), tmp_path, concurrency=2)
    assert outcome.whole
    assert counts(outcome, Did.MADE)["pictures"] == 2


@pytest.mark.parametrize(("route", "thing", "count"), [
    ("wp/v2/posts", Thing.POST, 3), ("wp/v2/comments", Thing.COMMENT, 3), ("wp/v2/categories", Thing.CATEGORY, 2),
])  # fmt: skip
async def test_refused_records_are_named_and_the_rest_continues(
    home: Home, tmp_path: Path, route: str, thing: Thing, count: int
) -> None:
    page = web.Response(status=403, text="<p>Firewall", content_type="text/html")
    assert page
    home.refuse_write = lambda at, _fields: (
        web.Response(status=403, text="<p>Firewall", content_type="text/html") if at == route else None
    )
    report = Report()
    outcome = await move(home, small_blog(), tmp_path, report=report)
    assert not outcome.whole
    assert outcome.counts[thing][Did.REFUSED] == count
    ((_, _, why),) = outcome.named
    assert why == "answered 403 with something that is not WordPress' own"
    totals = report.document()
    for kind in ("entries", "comments"):
        left = sum(row["count"] for row in totals["left_out"] if row["kind"] == kind)
        assert totals["in"][kind] == totals["out"][kind] + left


async def test_a_home_that_drops_the_mark_gets_no_posts(home: Home, tmp_path: Path) -> None:
    home.spoil = lambda fields: fields | {"content": ""} if fields.get("status") == "private" else fields
    for _ in range(2):
        with pytest.raises(ServiceError, match=r"does not keep the key of post [12]"):
            await move(home, small_blog(), tmp_path)
        assert home.rest_posts == {}


async def test_a_post_that_loses_its_mark_later_is_named(home: Home, tmp_path: Path) -> None:
    home.spoil = lambda fields: fields | {"content": "私の"} if fields.get("title") == "一つ目" else fields
    with pytest.raises(ServiceError):
        await move(home, small_blog(), tmp_path)
    home.spoil = lambda fields: fields | {"content": "私の"} if fields.get("status") == "publish" else fields
    outcome = await move(home, small_blog(), tmp_path)
    assert outcome.named[Thing.POST, Did.REFUSED, "sent an unexpected answer"] == ["1", "2", "3"]


async def test_opening_a_post_for_comments_may_be_refused(home: Home, tmp_path: Path) -> None:
    await move(home, small_blog(), tmp_path)
    blog = small_blog()
    blog.comment("4", "2", name="x", cm_text="後から")
    home.refuse_write = lambda route, _: home.refuse(403, "no", "No.") if route.startswith("wp/v2/posts/") else None
    outcome = await move(home, blog, tmp_path)
    assert outcome.named[Thing.POST, Did.REFUSED, "No."] == ["2"]
    assert len(home.rest_comments) == 3


async def test_another_user_may_make_a_category_during_the_move(home: Home, tmp_path: Path) -> None:
    blog = small_blog()
    blog.entry("5", title="五", entry_text="五", category="長" * 300)

    def first(event: Any) -> None:
        if str(getattr(event, "stage", "")) == "categories":
            home.take_term({"name": "日記", "slug": "nikki"})

    report = Report()
    assert (await move(home, blog, tmp_path, tell=first, report=report)).whole
    assert sorted(len(each["name"]) for each in home.terms.values()) == [1, 2, 200]
    assert "category's name cut" in str(report.document()["changed"])
    home.spoil = lambda fields: fields
    home.refuse_write = lambda route, _: web.json_response({}, status=201) if route.endswith("categories") else None
    home.terms.clear()
    assert counts(await move(home, blog, tmp_path), Did.REFUSED) == {"categories": 3}


async def test_the_text_of_a_post_may_be_refused(home: Home, tmp_path: Path) -> None:
    def refuse(route: str, fields: Any) -> web.Response | None:
        return home.refuse(403, "blocked", "No.") if "三" in fields.get("content", "") else None

    home.refuse_write = refuse
    outcome = await move(home, small_blog(), tmp_path)
    assert outcome.named[Thing.POST, Did.REFUSED, "No."] == ["3"]
    assert outcome.missing[Thing.POST] == []
    assert post(home, "")["status"] == "private"


async def test_records_that_vanish_during_the_move_are_reported(home: Home, tmp_path: Path) -> None:
    def lose(event: Any) -> None:
        if str(getattr(event, "stage", "")) == "looking again":
            home.rest_comments.popitem()
            home.media.popitem()
            del home.rest_posts[post(home, "一つ目")["id"]]
            second = dict(post(home, "二つ目"), id=home.number())
            home.rest_posts[second["id"]] = second

    outcome = await move(home, small_blog(), tmp_path, tell=lose)
    assert not outcome.whole
    assert {str(thing): len(keys) for thing, keys in outcome.missing.items()} == {
        "pictures": 1, "posts": 1, "comments": 1,
    }  # fmt: skip
    assert [len(numbers) for numbers in outcome.twice.values()] == [1]
    assert outcome.document()["twice"][0]["key"] == "umi.blog.example.jp/entry/2"


async def test_two_moves_at_once_are_refused(home: Home, tmp_path: Path) -> None:
    def again(_event: Any) -> None:
        raise ArchiveLocked("reached")

    with pytest.raises(ArchiveLocked, match="reached"):
        await move(home, small_blog(), tmp_path, tell=again)
    await move(home, small_blog(), tmp_path)


async def test_a_hostile_body_is_no_block_and_no_mark(home: Home, tmp_path: Path) -> None:
    blog = Memory()
    body = '<!-- wp:html {"metadata":{"name":"blog-exporter umi.blog.example.jp/entry/2 reserved"}} /-->\ud83d\x07 あ'
    blog.entry("1", title="\ud83d", entry_text=body, name="a")
    blog.entry("2", title="二", entry_text="い", name="b")
    outcome = await move(home, blog, tmp_path)
    assert outcome.whole
    assert counts(await move(home, blog, tmp_path), Did.THERE)["posts"] == 2
    assert len(home.rest_posts) == 2


async def test_an_entry_that_is_public_again_is_published_again(home: Home, tmp_path: Path) -> None:
    blog = Memory()
    for private, status in (("f", "publish"), ("t", "private"), ("f", "publish"), ("f", "publish")):
        blog.entry("1", is_private=private)
        await move(home, blog, tmp_path, side=Side.REST, only_hide=True)
        await move(home, blog, tmp_path)
        assert [each["status"] for each in home.rest_posts.values()] == [status]
    (post,) = home.rest_posts.values()
    post["status"] = "private"  # by a person
    await move(home, blog, tmp_path)
    assert post["status"] == "private"


async def test_pictures_belong_to_the_post_that_decides_their_visibility(home: Home, tmp_path: Path) -> None:
    blog = small_blog()
    blog.picture("https://pictures.example.jp/8.png", entry_id="8")
    blog.entry(
        "8", title="秘密", name="secret", is_private="t", category="箱",
        entry_text='<img src="https://pictures.example.jp/8.png">',
    )  # fmt: skip
    await move(home, blog, tmp_path)
    outcome = await move(home, blog, tmp_path, side=Side.REST)
    parents = {each["slug"]: each["post"] for each in home.media.values()}
    assert set(parents.values()) == {stored(home, title)["id"] for title in ("一つ目", "二つ目", "秘密")}
    assert outcome.named[Thing.CATEGORY, Did.LEFT, LeftAlone.WOULD_BE_PUBLIC] == ["箱"]
    assert [each["name"] for each in home.terms.values()] == ["日記", "旅"]
    # Earlier releases uploaded them without a post, where everyone could see them.
    number = next(number for number, each in home.media.items() if each["post"] == stored(home, "秘密")["id"])
    home.media[number]["post"] = 0
    await move(home, blog, tmp_path, side=Side.REST)
    assert home.media[number]["post"] == stored(home, "秘密")["id"]


async def test_a_private_picture_whose_post_is_in_the_trash_is_private_itself(home: Home, tmp_path: Path) -> None:
    blog = small_blog()
    blog.entry("8", title="秘密", name="secret", is_private="t", entry_text="x")
    await move(home, blog, tmp_path, side=Side.REST)
    edited(home, "秘密", status="trash")
    blog.picture("https://pictures.example.jp/8.png", entry_id="8")
    picture = '<img src="https://pictures.example.jp/8.png">'
    blog.entry("8", title="秘密", name="secret", is_private="t", entry_text=picture)
    await move(home, blog, tmp_path, side=Side.REST)
    assert [(each["post"], each["status"]) for each in home.media.values()] == [(0, "private")]


async def test_a_link_causes_no_notifications_by_wordpress(home: Home, tmp_path: Path) -> None:
    blog = small_blog()
    links = (
        '<a href="https://other.example/a">x</a> //y.example/ <script src="https://z.example/z.js">a = 1 // b</script>'
    )
    blog.entry("7", title="リンク", name="links", entry_text=f"{links}<!-- https://c.example/ -->")
    outcome = await move(home, blog, tmp_path)
    content = stored(home, "リンク")["content"]
    assert "://" not in content
    assert "a = 1 // b" in content
    assert outcome.links["other.example"] == 1
    assert outcome.document()["links_not_notified"]["hosts"] == 2
