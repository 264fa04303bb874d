"""The parts that only some services state: each difference is named, and each part that a home does not show."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from exporter.compare.archived import old_posts
from exporter.compare.comments import compare_comments, notices_as_comments
from exporter.compare.folder import FolderHome
from exporter.compare.matching import match
from exporter.compare.pages import read_markdown, read_page
from exporter.compare.posts import (
    Aspect,
    Difference,
    Fault,
    HomeState,
    NewComment,
    Picture,
    PictureFacts,
    Scope,
    ShownAs,
    StatedParts,
    When,
)
from exporter.compare.reconcile import Comparison, reconcile
from exporter.compare.texts import letters
from exporter.export.interface import ExportOptions, Side
from exporter.export.names import wordpress_name
from exporter.export.posts import Posts
from exporter.export.report import Report
from exporter.model.publication import Declared
from exporter.model.records import CommentKind
from tests.compare.posts import new, old, old_comment
from tests.move.wide_blog import OLD, PICTURE, WIDE, wide_blog

SEA = Picture("https://old.example/sea.png", "a" * 64, 40, 30, "sea.png")
SHOWN = "https://new.example/sea.png"
STATED = StatedParts(
    ShownAs.PUBLISH, (("旅", "海"), ("日記",)), ("夏", "foo"), "海子", page=False, excerpt=letters("抜粋"), featured=SEA,
    permalink="https://old.example/2020/sea.html",
)  # fmt: skip
THERE: dict[str, Any] = {
    "categories": (("旅", "海"), ("日記",)), "tags": ("foo", "夏", "more"), "author": "海子", "is_page": False,
    "excerpt": letters("抜粋"), "featured": SHOWN, "addresses": ("https://new.example/2020/sea/",),
}  # fmt: skip
WORDPRESS = HomeState("WordPress", (), host="new.example", categories=("旅", "海", "日記", "夏", "foo"), exact=True)
FACTS = {SHOWN: PictureFacts("a" * 64, 40, 30)}


def compared(
    stated: StatedParts = STATED,
    home: HomeState = WORDPRESS,
    followed: dict[str, str] | None = None,
    *,
    before: dict[str, Any] | None = None,
    **there: Any,
) -> Comparison:
    olds = [old(1, stated=stated, **(before or {}))]
    state = replace(home, posts=[new(1, **{**THERE, **there})])
    return reconcile(olds, state, match(olds, state.posts), FACTS, Scope(), followed)


def faults(found: Comparison) -> list[Difference]:
    return [each for result in found.results for each in result.differences]


def unseen(found: Comparison) -> dict[Aspect, bool]:
    return {each.aspect: each.asked for each in found.unchecked}


def test_equal_parts_differ_in_nothing() -> None:
    found = compared()
    assert (faults(found), unseen(found)) == ([], {})


@pytest.mark.parametrize(("there", "difference"), [
    ({"categories": (("海",), ("日記",))}, (Fault.CATEGORY, "旅 / 海", "海, 日記")),
    ({"tags": ("夏",)}, (Fault.TAGS, "foo", "夏")),
    ({"author": "owner"}, (Fault.AUTHOR, "海子", "owner")),
    ({"is_page": True}, (Fault.KIND, "post", "page")),
    ({"excerpt": letters("別の抜粋")}, (Fault.EXCERPT, "抜粋", "別の抜粋")),
    ({"featured": ""}, (Fault.FEATURED, SEA.address, "")),
    ({"status": ShownAs.PRIVATE}, (Fault.STATUS, "publish", "private")),
])  # fmt: skip
def test_each_difference_is_named(there: dict[str, Any], difference: tuple[Fault, str, str]) -> None:
    assert faults(compared(**there)) == [Difference(*difference)]


def test_what_a_home_cannot_hold_is_announced_once() -> None:
    long = "長" * 60
    cut: dict[str, Any] = {"categories": ((long[:50],),), "tags": (long[:50],), "names": (long[:50],)}
    page: dict[str, Any] = {"is_page": True, "categories": (), "tags": ()}
    player: dict[str, Any] = {"players": ("https://video.example/1",)}
    for found, announced in (
        (compared(replace(STATED, page=True), **page), [(Aspect.CATEGORY, 1), (Aspect.TAGS, 1)]),
        (
            compared(replace(STATED, categories=((long,),), tags=(long,)), **cut),
            [(Aspect.CATEGORY, 1), (Aspect.TAGS, 1)],
        ),
        (compared(home=replace(WORDPRESS, strips_frames=True), before=player, players=0), [(Aspect.TEXT, 1)]),
        (compared(before={"given_name": "entry-1-2"}, slug="entry-1-2"), [(Aspect.SLUG, 1)]),
        (compared(before={"slugs": ("404",)}, slug="404-2"), [(Aspect.SLUG, 1)]),
    ):
        assert [(each.aspect, each.count) for each in found.announced] == announced
        assert (faults(found), found.whole) == ([], True)
    assert [each.change for each in faults(compared(before=player, players=0))] == [Fault.PLAYER_MISSING]


def test_parts_that_a_home_does_not_show_are_named() -> None:
    missing: dict[str, Any] = dict.fromkeys(("categories", "tags", "author", "is_page", "excerpt", "featured"))
    found = compared(replace(STATED, page=True), names=("海", "日記", "夏", "foo"), **missing)
    assert faults(found) == []
    assert unseen(found) == dict.fromkeys(
        (Aspect.CATEGORY, Aspect.AUTHOR, Aspect.KIND, Aspect.EXCERPT, Aspect.FEATURED), False
    )
    found = compared(names=None, **missing)
    assert {aspect for aspect, asked in unseen(found).items() if asked} == {Aspect.CATEGORY, Aspect.TAGS}


@pytest.mark.parametrize(("audience", "there", "fits"), [
    (ShownAs.PRIVATE, ShownAs.PRIVATE, True), (ShownAs.PRIVATE, ShownAs.DRAFT, False),
    (ShownAs.DRAFT, ShownAs.DRAFT, True), (ShownAs.DRAFT, ShownAs.PRIVATE, False),
    (ShownAs.SCHEDULED, ShownAs.SCHEDULED, True), (ShownAs.SCHEDULED, ShownAs.PUBLISH, True),
    (ShownAs.SCHEDULED, ShownAs.PRIVATE, False), (ShownAs.DRAFT, ShownAs.SCHEDULED, False),
])  # fmt: skip
def test_a_wordpress_tells_private_posts_and_drafts_apart(audience: ShownAs, there: ShownAs, fits: bool) -> None:
    status = ShownAs.PRIVATE if audience is ShownAs.PRIVATE else ShownAs.DRAFT
    found = compared(replace(STATED, audience=audience), before={"status": status}, status=there)
    assert [each.change for each in faults(found)] == ([] if fits else [Fault.STATUS])


def test_a_scheduled_post_on_a_site_is_shown_too_early() -> None:
    site = replace(WORDPRESS, exact=False)
    found = compared(replace(STATED, audience=ShownAs.SCHEDULED), site, before={"status": ShownAs.DRAFT})
    assert [each.change for each in faults(found)] == [Fault.STATUS]


def test_terms_and_authors_that_the_home_cannot_have_are_no_difference() -> None:
    home = replace(WORDPRESS, categories=("日記",), authors=("owner",))
    private = replace(STATED, audience=ShownAs.PRIVATE)
    found = compared(private, home, before={"status": ShownAs.PRIVATE}, status=ShownAs.PRIVATE,
                     categories=(("日記",),), tags=(), author="owner", names=("日記",))  # fmt: skip
    assert faults(found) == []
    assert unseen(found) == dict.fromkeys((Aspect.CATEGORY, Aspect.TAGS, Aspect.AUTHOR), False)


@pytest.mark.parametrize(("host", "target", "wanted"), [
    ("old.example", "https://old.example/2020/sea/", ([], {})), ("old.example", "", ([Fault.ADDRESS], {})),
    ("old.example", "https://old.example/other/", ([Fault.ADDRESS], {})),
    ("old.example", None, ([], {Aspect.ADDRESS: False})), ("new.example", None, ([], {Aspect.ADDRESS: False})),
])  # fmt: skip
def test_old_addresses_are_followed_if_the_host_stays(host: str, target: str | None, wanted: Any) -> None:
    stated = replace(STATED, permalink="https://old.example/?p=1")
    followed = {} if target is None else {stated.permalink: target}
    found = compared(stated, replace(WORDPRESS, host=host), followed)
    assert ([each.change for each in faults(found)], unseen(found)) == wanted


def answered(comment_id: str, parent: str | None, text: str, **changes: Any) -> NewComment:
    when = datetime(2020, 1, 5, 3, tzinfo=UTC)
    return NewComment("umi", letters(text), When(when, when), id=comment_id, parent=parent, kind="comment", **changes)


def asked(comment_id: str, parent: str, text: str, **changes: Any) -> Any:
    moment = datetime(2020, 1, 5, 3, tzinfo=UTC)
    return old_comment(text=text, id=comment_id, parent=parent, moment=moment, spam=False, url="", **changes)


def test_threads_are_compared_by_the_comments_that_are_answered() -> None:
    olds = [asked("1", "", "一"), asked("2", "1", "二"), asked("3", "2", "三"), asked("4", "gone", "四")]
    news = [answered("9", "8", "三"), answered("8", "7", "二"), answered("7", "", "一"), answered("6", "", "四")]
    assert compare_comments(olds, news) == ([], 0)
    news[0] = answered("9", "7", "三")
    assert compare_comments(olds, news).differences == [Difference(Fault.COMMENT_PARENT, "umi: 三", "umi: 一")]
    news[0] = answered("9", None, "三")
    assert compare_comments(olds, news).differences == [], "the home does not say"


def test_equal_words_at_different_times_are_told_apart() -> None:
    later = datetime(2020, 1, 5, 9, tzinfo=UTC)
    olds = [asked("1", "", "一"), asked("2", "1", "ね"), replace(asked("3", "", "ね"), moment=later)]
    news = [
        replace(answered("9", "", "ね"), when=When(later, later)), answered("8", "7", "ね"), answered("7", "", "一"),
    ]  # fmt: skip
    assert compare_comments(olds, news) == ([], 0)


@pytest.mark.parametrize(("there", "before", "after"), [
    ({"url": "https://x.example/"}, "", "https://x.example/"), ({"held": True, "spam": True}, "waiting for approval", "spam"),
])  # fmt: skip
def test_the_address_and_the_state_of_a_comment_are_compared(there: dict[str, Any], before: str, after: str) -> None:
    hidden = {"visible": False, "asked": True} if "spam" in there else {}
    found = compare_comments([asked("1", "", "一", **hidden)], [answered("9", "", "一", **there)])
    assert found.differences == [Difference(Fault.COMMENT_CHANGED, before, after)]


def test_the_minute_of_a_comment_is_compared() -> None:
    late = datetime(2020, 1, 5, 4, tzinfo=UTC)
    found = compare_comments([asked("1", "", "一")], [replace(answered("9", "", "一"), when=When(late, late))])
    assert [each.change for each in found.differences] == [Fault.COMMENT_CHANGED]


def test_trackbacks_that_became_comments_are_counted() -> None:
    olds = [asked("1", "", "一", kind=CommentKind.TRACKBACK), asked("2", "", "二", kind=CommentKind.PINGBACK)]
    assert notices_as_comments(olds, [answered("9", "", "一"), answered("8", "", "二")]) == 2
    assert notices_as_comments(olds, [replace(answered("9", "", "一"), kind="trackback"), answered("8", "", "二")]) == 1
    assert notices_as_comments(olds, []) == 0


def test_spam_of_strangers_in_the_new_home_is_not_counted() -> None:
    assert compare_comments([asked("1", "", "一")], [answered("9", "", "一"), answered("8", "", "売", spam=True)]) == (
        [], 0,
    )  # fmt: skip


def test_markdown_states_tags_author_summary_and_aliases() -> None:
    found = read_markdown(
        "---\ntitle: 海\ntags: [夏, foo]\nparams: {author: 海子}\nsummary: 抜粋 です\naliases: [/2020/sea.html]\n"
        "layout: page\n---\n本文\n",
        "posts/sea/index.md",
        "https://folder.invalid/posts/sea/index.md",
    )
    assert (found.tags, found.author, found.is_page) == (("夏", "foo"), "海子", True)
    assert (found.excerpt, found.aliases) == ("抜粋です", ("https://folder.invalid/2020/sea.html",))
    plain = read_page("<title>海</title><article>本文</article>", "https://new.example/sea/")
    assert (plain.tags, plain.author, plain.is_page, plain.excerpt) == (None, None, None, None)


async def test_pages_that_lead_elsewhere_are_followed_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "2020").mkdir()
    (tmp_path / "2020" / "sea.html").write_text('<meta http-equiv="refresh" content="0; url=https://new.example/sea/">')
    (tmp_path / "own.html").write_text("<title>x</title>")
    home = FolderHome(tmp_path, lambda _: None)
    followed = await home.follow([f"{OLD}/2020/sea.html", f"{OLD}/own.html", f"{OLD}/../../etc/passwd", f"{OLD}/no\0"])
    assert followed == {f"{OLD}/2020/sea.html": "https://new.example/sea/"}


def test_the_archive_states_what_must_arrive() -> None:
    options = ExportOptions(Declared(), Side.PUBLIC, service=WIDE)
    posts = Posts(wide_blog(), options, Report(), holds_back=True, spelling=wordpress_name)
    one, page = old_posts(posts, asked=True)
    assert one.stated is not None
    assert one.stated.categories == (("日記",), ("旅", "海"), ("旅", "山", "海"))
    assert (one.stated.tags, one.stated.author, one.stated.page) == (("Foo", "foo", "夏"), "海子", False)
    assert (one.stated.excerpt, one.stated.permalink) == ("抜粋", f"{OLD}/2020/01/first.html")
    assert one.stated.featured is not None
    assert one.stated.featured.address == PICTURE
    assert one.slugs[0] == "first"
    assert one.own_links == ("2",)
    assert page.stated is not None
    assert (page.stated.page, page.stated.categories, page.own_links) == (True, (), ("1",))
    parents = {comment.id: comment.parent for comment in one.comments}
    assert parents == {"c1": "", "c2": "c1", "c3": "c2", "c4": "", "c5": "", "c6": "c5", "c7": ""}
