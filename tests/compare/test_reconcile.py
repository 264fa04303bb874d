"""Each difference between a pair is named, and fields that could not be compared are never reported as equal."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest

from exporter.compare.archived import players
from exporter.compare.matching import match
from exporter.compare.pages import read_page
from exporter.compare.posts import (
    Aspect,
    Difference,
    Fault,
    HomeState,
    NewPost,
    OldPost,
    Scope,
    ShownAs,
    Unchecked,
    When,
)
from exporter.compare.reconcile import Comparison, reconcile
from exporter.compare.report import document, lines, verdict
from exporter.compare.texts import body_pieces, lettered_body
from tests.compare.posts import TEXT, THEN, new, new_comment, old, old_comment

SHOWN = THEN.replace(tzinfo=None) + timedelta(days=1)


def compared(olds: list[OldPost], news: list[NewPost], scope: Scope | None = None, **home: Any) -> Comparison:
    state = replace(HomeState("home", news), **home)
    return reconcile(olds, state, match(olds, news), {}, scope or Scope(old_hosts=frozenset({"old.example"})))


def faults(found: Comparison) -> list[Fault]:
    return [each.change for result in found.results for each in result.differences]


@pytest.mark.parametrize(
    ("seconds", "found"),
    [(0, []), (120, []), (-120, []), (121, [Fault.DATE]), (-121, [Fault.DATE]), (3600, [Fault.DATE])],
)
@pytest.mark.parametrize("as_instant", [True, False])
def test_dates_may_differ_by_two_minutes(seconds: int, found: list[Fault], *, as_instant: bool) -> None:
    shift = timedelta(seconds=seconds)
    when = When(SHOWN + shift) if not as_instant else When(SHOWN - timedelta(days=9), THEN + timedelta(days=1) + shift)
    assert faults(compared([old(1)], [new(1, when=when)])) == found


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"titles": ("ほか",)}, Fault.TITLE),
        ({"text": TEXT}, Fault.TEXT),
        ({"when": When(SHOWN + timedelta(hours=9))}, Fault.DATE),
        ({"when": When(date(2020, 1, 4))}, Fault.DATE),
        ({"status": ShownAs.DRAFT}, Fault.STATUS),
        ({"status": ShownAs.PASSWORD}, Fault.STATUS),
        ({"names": ("未分類",)}, Fault.CATEGORY),
        ({"links": ("https://new.example/", "https://old.example/Entry/3/")}, Fault.LINK_ON_OLD_HOST),
        ({"comments": ()}, Fault.COMMENT_MISSING),
    ],
)
def test_each_difference_is_named(changed: dict[str, Any], fault: Fault) -> None:
    found = compared([old(1, comments=(old_comment(),))], [new(1, **({"comments": (new_comment(),)} | changed))])
    assert faults(found) == [fault]


def test_the_same_in_other_words_is_no_difference() -> None:
    ways: list[dict[str, Any]] = [
        {"when": When(SHOWN + timedelta(seconds=90))},
        {"when": When(SHOWN - timedelta(hours=9), THEN + timedelta(days=1))},
        {"when": When(date(2020, 1, 3))},
        {"names": ("旅", "日記")},
        {"titles": ("題 1 | 新しい家", "題1")},
    ]
    for way in ways:
        found = compared([old(1)], [new(1, **way)])
        assert (faults(found), found.whole) == ([], True)


def test_fields_that_the_home_hides_are_named_and_make_it_incomplete() -> None:
    shy = new(1, when=None, names=None, slug="", comments=None, page="本文だけ")
    found = compared([old(1, comments=(old_comment(),), slugs=())], [shy])
    assert faults(found) == []
    assert {each.aspect for each in found.unchecked} == {Aspect.DATE, Aspect.CATEGORY, Aspect.SLUG, Aspect.COMMENTS}
    assert not found.whole
    assert verdict(found).startswith(
        "nothing is missing or changed in the compared parts, but these could not be compared"
    )


def test_content_left_out_by_choice_is_named_and_counts_as_complete() -> None:
    scope = Scope(frozenset(Aspect) - {Aspect.COMMENTS})
    found = compared([old(1, comments=(old_comment(),))], [new(1)], scope)
    assert found.unchecked == [Unchecked(Aspect.COMMENTS, 0, "left out by choice", asked=False)]
    assert found.whole
    assert verdict(found) == "1 entry arrived unchanged, except for the parts listed as not compared"


def test_names_by_a_rule_of_its_own_are_named_once() -> None:
    found = compared([old(n) for n in range(1, 6)], [new(n, slug=f"2020/{n}") for n in range(1, 6)])
    assert faults(found) == []
    assert [(each.aspect, each.count) for each in found.unchecked] == [(Aspect.SLUG, 5)]
    one = compared([old(n) for n in range(1, 6)], [new(n, slug="p1" if n == 1 else f"entry-{n}") for n in range(1, 6)])
    assert faults(one) == [Fault.SLUG]


def test_private_posts_must_not_be_shown_and_are_not_missing() -> None:
    private = old(1, status=ShownAs.PRIVATE, asked=False)
    found = compared([private], [])
    assert (found.not_asked, list(found.results), found.whole) == (1, [], True)
    assert verdict(found).startswith("no entry was expected")
    assert compared([private], [new(1, status=ShownAs.PRIVATE, titles=("ほか",))]).not_asked == 1
    assert faults(compared([private], [new(1)])) == [Fault.STATUS]


def test_posts_that_cannot_be_seen_are_not_called_missing() -> None:
    draft = old(1, status=ShownAs.DRAFT)
    found = compared([draft, old(2)], [new(2)], withheld="no password")
    assert (faults(found), found.unchecked) == ([], [Unchecked(Aspect.HELD_BACK, 1, "no password")])
    found = compared([draft, old(2)], [], partial="only a feed")
    assert faults(found) == [Fault.MISSING]
    assert found.unchecked == [Unchecked(Aspect.TEXT, 1, "only a feed")]
    assert faults(compared([draft], [new(1)])) == [Fault.STATUS]


def test_a_text_cut_on_a_page_is_shown_from_there() -> None:
    page = new(1, whole=False, text="見出し" + TEXT[:20] + "フッター")
    result = compared([old(1)], [page]).results[0]
    assert [each.change for each in result.differences] == [Fault.TEXT]
    assert result.differences[0].after.endswith("フッター")
    assert result.differences[0].before.startswith("…")
    gone = compared([old(1)], [new(1, whole=False, text="zzz")]).results[0].differences[0]
    assert gone.after == ""


def test_the_document_and_the_lines_say_the_same() -> None:
    olds = [old(n) for n in range(1, 10)]
    news = [new(n, titles=("ほか",)) for n in range(2, 10)] + [
        new(1, text="ほかの話", titles=("!",), slug="x", when=None)
    ]
    found = compared(olds, news)
    written = document(found, archive="a")
    assert written["counts"] == {
        "entries": 9, "identical": 0, "missing": 1, "changed": 8, "extra": 1, "not_asked": 0, "later_comments": 0,
    }  # fmt: skip
    assert written["changes"] == {"missing": 1, "title": 8}
    assert written["entries"][0]["differences"] == [{"change": "missing", "before": "", "after": ""}]
    assert written["extra"] == [{"address": "https://new.example/1", "title": "!"}]
    text = "\n".join(lines(found))
    assert "… 3 more (-v names all)" in text
    assert "… 3 more" not in "\n".join(lines(found, every=True))
    assert "2 題2: 題2 -> ほか" in text
    assert verdict(found) == "of 9 entries 1 are missing and 8 changed"


@pytest.mark.parametrize(
    ("html", "lost"),
    [
        ("<p>海が見える<br>朝だった</p><p>風</p>", ""),
        ("<div>海が見える</div>\n朝だった\n<ul><li>風</li></ul>", ""),
        ("<p>海が見える 朝だった</p><p>風</p>", "海が見える / 朝だった風"),
        ("<p>海が見える\n朝だった</p><p>風</p>", "海が見える / 朝だった風"),
        ("<p>海が見える<br>朝だった風</p>", "海が見える朝だった / 風"),
    ],
)
def test_lines_that_run_together_are_a_difference(html: str, lost: str) -> None:
    (before,) = body_pieces("海が見える\n朝だった\n風").texts
    entry = replace(old(text=before.letters), starts=(before.starts,))
    page = read_page(f"<h1>題1</h1><article>{html}</article><p>足</p>", "https://new.example/1")
    text, _ = lettered_body(html)
    for there in (
        replace(new(), letters=text.letters, starts=text.starts),
        replace(new(whole=False), letters=page.letters, starts=page.starts),
    ):
        found = compared([entry], [there]).results[0].differences
        assert [(each.change, each.before) for each in found] == ([(Fault.LINE_BREAKS, lost)] if lost else [])


ONE, TWO, THREE = (f"https://new.example/{number}/" for number in (1, 2, 3))


@pytest.mark.parametrize(
    ("links", "astray"),
    [
        ([TWO], None),
        (["http://www.new.example/2?#x", THREE], None),
        (["https://new.example/blog/2/index.html"], None),
        (["https://new.example/?p=2"], None),
        ([THREE], THREE),
        (["https://new.example/404/"], "https://new.example/404/"),
        (["https://elsewhere.example/", "https://new.example/?p=20"], "https://new.example/?p=20"),
        ([], ""),
    ],
)
def test_a_link_to_another_post_must_lead_there(links: list[str], astray: str | None) -> None:
    olds = [old(1, own_links=("2", "2", "9")), old(2), old(3)]
    news = [new(n, addresses=(f"https://new.example/{n}/", f"https://new.example/?p={n}")) for n in (1, 2, 3)]
    news[0] = replace(news[0], links=tuple(links))
    found = compared(olds, news).results[0].differences
    assert found == (() if astray is None else (Difference(Fault.LINK_ASTRAY, "題2", astray),))


def test_a_link_that_leads_to_the_old_host_is_named_once() -> None:
    news = [new(n, addresses=(f"https://new.example/{n}/",)) for n in (1, 2)]
    news[0] = replace(news[0], links=("https://old.example/2",))
    found = compared([old(1, own_links=("2",)), old(2)], news, Scope(old_hosts=frozenset({"old.example"})))
    assert faults(found) == [Fault.LINK_ON_OLD_HOST]


def test_a_video_that_is_gone_is_a_difference() -> None:
    for there, faults in ((1, [Fault.PLAYER_MISSING]), (2, []), (3, []), (None, [])):
        found = compared([old(players=("https://video.example/1", ""))], [new(players=there)])
        assert [each.change for each in found.results[0].differences] == faults
    embeds = ("https://video.example/embed/1", "https://parts.example/embed?url=https%3A%2F%2Fpage.example%2F")
    links = ("https://video.example/watch?v=1", "https://page.example/")
    assert compared([old(players=embeds)], [new(players=0, links=links)]).results[0].differences == ()
    assert len(compared([old(players=embeds)], [new(players=0, links=links[1:])]).results[0].differences) == 1
    assert players("<p>x</p>") == []
    html = '<iframe src="https://video.example/1"></iframe><video controls></video><!-- <iframe> --><p>&lt;iframe></p>'
    assert players(html) == ["https://video.example/1", ""]
    assert read_page(f"<article>{html}</article>", "https://new.example/1").players == 2
