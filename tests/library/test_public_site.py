"""A closing blog at a public address becomes an archive: a real server, the whole backup, several runs."""

from __future__ import annotations

import gzip
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import exporter
from exporter.archive.archive import Archive
from exporter.crawl.events import EntryRead, RecordFailed, SourceNotes, SweepDone
from exporter.errors import AnotherBlog, Interrupted, MassDisappearance, ServiceError
from exporter.library.backup import Backup
from exporter.model.kinds import Kind
from exporter.model.publication import Declared, PostStatus
from exporter.model.records import Audience
from exporter.service.public_site.source import PublicSite
from exporter.settings import Settings, resolve
from tests.support.public_blog import BlogPost, PublicBlog, posts, serving

BLOG = "sample.example"
SERVICE = PublicSite()


def settings(origin: str, form: str, **more: str) -> Settings:
    options = {"base_url": origin, "service": "public-site", "page_rules": form, "rate": "10000", "concurrency": "8"}
    return resolve({**options, "site": "no", "markdown": "no", "retries": "8", **more}, environ={})


class Run:
    """One backup: its outcome and events."""

    def __init__(self, outcome: Any, events: list[Any]) -> None:
        self.outcome = outcome
        self.events = events
        self.notes = [note for event in events if isinstance(event, SourceNotes) for note in event.notes]
        self.changes = {kind: (each.new, each.changed, each.gone) for kind, each in outcome.counts.items()}


async def back_up(origin: str, root: Path, form: str, accept_removals: bool = False, **more: str) -> Run:
    wanted = settings(origin, form, **more)
    async with exporter.open_service(BLOG, wanted) as opened:
        run = exporter.backup(root, opened, wanted, accept_removals=accept_removals)
        events = [event async for event in run]
    return Run(run.outcome, events)


async def stopped_after(run: Backup, entries: int) -> None:
    """Stop a backup after it has read some entries."""
    read = 0
    async for event in run:
        read += isinstance(event, EntryRead)
        if read == entries:
            run.stop(Interrupted("stopped"))


async def edited_between_sweeps(run: Backup, post: BlogPost) -> None:
    async for event in run:
        if event == SweepDone(1, False):
            post.text, post.edited = f"{post.text}<p>more</p>", post.date + timedelta(days=4)


def page_of(root: Path, asset: dict[str, Any]) -> bytes:
    """Return the page that an asset keeps."""
    return gzip.decompress((root / f"assets/{asset['sha256'][:2]}/{asset['sha256']}.gz").read_bytes())


def records(root: Path, kind: Kind) -> dict[str, dict[str, Any]]:
    return dict(Archive.open(root).records(kind))


@pytest.mark.parametrize(
    ("form", "sitemap", "count"),
    [
        ("fc2", True, 60),
        ("livedoor", True, 60),
        ("fc2", False, 60),
        pytest.param("fc2", True, 200, marks=pytest.mark.thorough),
        pytest.param("livedoor", True, 200, marks=pytest.mark.thorough),
    ],
)
@pytest.mark.sample(1)
async def test_a_closing_blog_is_backed_up_whole(tmp_path: Path, form: str, sitemap: bool, count: int) -> None:
    blog = PublicBlog(form, posts(count), sitemap=sitemap, refused_every=29)
    root = tmp_path / "archive"
    async with serving(blog) as origin:
        first = await back_up(origin, root, form)
        assert first.outcome.exit_code == 0, first.outcome.problems[:3]
        entries, comments = records(root, Kind.ENTRIES), records(root, Kind.COMMENTS)
        assert len(entries) == count
        assert len(comments) == 2 * count // 5
        for number, post in blog.posts.items():
            read = SERVICE.post(entries[str(number)])
            assert (read.title, read.date, read.category) == (post.title, post.date, post.category)
            assert f"{number}日目の本文です。表①と㈱の話。" in read.body
            assert f'src="{origin}/img/{number}.png"' in read.body
            assert read.permalink == blog.address(number)
            assert read.raw["how"] == f"rule:{form}"
        texts = {SERVICE.comment(raw).text for raw in comments.values()}
        assert any("感想 1005" in text for text in texts)
        assets = records(root, Kind.ASSETS)
        states = [raw["status"] for url, raw in assets.items() if "/img/" in url]
        assert (states.count(200), states.count(404)) == (count - count // 20, count // 20)
        assert sum(url.startswith("page:") for url in assets) == count
        kept = page_of(root, assets[f"page:{blog.address(1001)}"])
        assert "1001日目の本文です" in kept.decode(blog.encoding, "replace")

        blog.refused_every = 0
        asked = len(blog.asked)
        second = await back_up(origin, root, form, refresh="all", assets="none")
        assert (second.outcome.exit_code, second.outcome.version) == (0, None)
        assert len(blog.asked) - asked >= count, "all pages were read again, with other side bars"

        blog.posts[1040].text = "<p>書き直した本文です。</p>"
        blog.posts[1040].edited = blog.posts[1040].date + timedelta(days=3000)
        third = await back_up(origin, root, form, assets="none", refresh="changed" if sitemap else "all")
        assert third.outcome.version == 2
        assert third.changes["entries"] == (0, 1, 0)
        assert third.changes["comments"] == (0, 0, 0)

        del blog.posts[1050]
        fourth = await back_up(origin, root, form, assets="none")
        assert fourth.changes["entries"] == (0, 0, 1)
        assert fourth.changes["comments"] == (0, 0, 2)
        assert "1050" not in records(root, Kind.ENTRIES)


async def test_an_interrupted_backup_is_resumed_with_its_comments_and_pages(tmp_path: Path) -> None:
    blog = PublicBlog("livedoor", posts(60))
    root = tmp_path / "archive"
    async with serving(blog) as origin:
        wanted = settings(origin, "livedoor", assets="none")
        async with exporter.open_service(BLOG, wanted) as opened:
            run = exporter.backup(root, opened, wanted)
            with pytest.raises(Interrupted):
                await stopped_after(run, 30)
        asked = len(blog.asked)
        again = await back_up(origin, root, "livedoor", assets="none")
        pages = [path for path in blog.asked[asked:] if blog.number(path) is not None]
        assert again.outcome.exit_code == 0
        assert again.outcome.resumed_from is not None
        assert len(pages) <= 31
    assert len(records(root, Kind.ENTRIES)) == 60
    assert len(records(root, Kind.COMMENTS)) == 24
    assert len(records(root, Kind.ASSETS)) == 60


@pytest.mark.parametrize("edited", [False, True])
async def test_a_comment_that_goes_before_a_resumed_run_is_in_no_version(tmp_path: Path, edited: bool) -> None:
    blog, root = PublicBlog("livedoor", posts(8), dead_every=0), tmp_path / "archive"
    async with serving(blog) as origin:
        wanted = settings(origin, "livedoor", concurrency="1")
        async with exporter.open_service(BLOG, wanted) as opened:
            with pytest.raises(Interrupted):
                await stopped_after(exporter.backup(root, opened, wanted), 7)
        post = blog.posts[1005]
        (name, text), *others = post.comments
        post.edited, post.text = post.date + timedelta(days=400), f"{post.text}<p>追記</p>"
        post.comments = [(name, "書き直した感想"), *others] if edited else others
        again = await back_up(origin, root, "livedoor", concurrency="1")
        texts = [str(each) for each in records(root, Kind.COMMENTS).values() if "1005" in str(each)]
        assert len(texts) == len(post.comments)
        assert not [each for each in texts if text in each]
        lost = [each.reason for each in again.events if isinstance(each, RecordFailed)]
        assert lost == ["comments: gone since they were read, and left out: 1"]
        assert (await back_up(origin, root, "livedoor")).outcome.outcome == "unchanged"


@pytest.mark.parametrize("edited", [False, True])
async def test_an_archived_comment_that_goes_before_a_resumed_run_is_removed(tmp_path: Path, edited: bool) -> None:
    blog, root = PublicBlog("livedoor", posts(8), dead_every=0), tmp_path / "archive"
    async with serving(blog) as origin:
        await back_up(origin, root, "livedoor")
        post = blog.posts[1005]
        wanted = settings(origin, "livedoor", concurrency="1", refresh="all")
        async with exporter.open_service(BLOG, wanted) as opened:
            with pytest.raises(Interrupted):
                await stopped_after(exporter.backup(root, opened, wanted), 7)
        (name, _), *others = post.comments
        post.edited, post.text = post.date + timedelta(days=400), f"{post.text}<p>追記</p>"
        post.comments = [(name, "書き直した感想"), *others] if edited else others
        again = await back_up(origin, root, "livedoor", concurrency="1", refresh="all")
        assert again.outcome.resumed_from is not None
        assert again.changes["comments"] == (int(edited), 0, 1)


async def test_comments_that_a_page_says_it_has_are_kept(tmp_path: Path) -> None:
    blog, root = PublicBlog("livedoor", posts(8), dead_every=0), tmp_path / "archive"
    async with serving(blog) as origin:
        wanted = settings(origin, "livedoor", concurrency="1")
        async with exporter.open_service(BLOG, wanted) as opened:
            with pytest.raises(Interrupted):
                await stopped_after(exporter.backup(root, opened, wanted), 7)
        post = blog.posts[1005]
        post.edited, comments, post.comments = post.date + timedelta(days=400), post.comments, []
        stated = f'<p class="comments-count">コメント({len(comments)})</p>'
        blog.overrides["/archives/1005.html"] = (200, blog.page(post) + stated)
        post.comments = comments
        for _ in range(2):
            again = await back_up(origin, root, "livedoor", concurrency="1", refresh="all")
            assert again.outcome.exit_code == 3
            kept = [str(each) for each in records(root, Kind.COMMENTS).values() if "1005" in str(each)]
            assert len(kept) == len(comments)


async def test_a_new_comment_goes_with_its_entry_before_a_resumed_run(tmp_path: Path) -> None:
    blog, root = PublicBlog("livedoor", posts(8), dead_every=0), tmp_path / "archive"
    async with serving(blog) as origin:
        await back_up(origin, root, "livedoor")
        blog.posts[1003].comments.append(("新", "新しい感想です"))
        wanted = settings(origin, "livedoor", concurrency="1", refresh="all")
        async with exporter.open_service(BLOG, wanted) as opened:
            with pytest.raises(Interrupted):
                await stopped_after(exporter.backup(root, opened, wanted), 7)
        del blog.posts[1003]
        await back_up(origin, root, "livedoor", concurrency="1", refresh="all")
        assert "1003" not in records(root, Kind.ENTRIES)
        assert not [each for each in records(root, Kind.COMMENTS).values() if "1003" in str(each)]


async def test_no_page_of_a_refused_run_stays_even_if_one_was_read_twice(tmp_path: Path) -> None:
    blog, root = PublicBlog("livedoor", posts(8), dead_every=0), tmp_path / "archive"
    async with serving(blog) as origin:
        await back_up(origin, root, "livedoor")
        before = sorted((root / "assets").rglob("*.gz"))
        for number, post in blog.posts.items():
            post.title, post.text, post.date = (
                f"theirs {number}",
                f"<p>theirs {number}</p>",
                post.date.replace(year=1999),
            )
        wanted = settings(origin, "livedoor")
        async with exporter.open_service(BLOG, wanted) as opened:
            with pytest.raises(AnotherBlog):
                await edited_between_sweeps(exporter.backup(root, opened, wanted), blog.posts[1003])
        assert sorted((root / "assets").rglob("*.gz")) == before


async def test_comments_come_and_go_with_their_page(tmp_path: Path) -> None:
    blog = PublicBlog("livedoor", posts(20))
    root = tmp_path / "archive"
    async with serving(blog) as origin:
        await back_up(origin, root, "livedoor", assets="none")
        del blog.posts[1005].comments[0]
        blog.posts[1006].comments.append(("次郎", "はじめまして"))
        run = await back_up(origin, root, "livedoor", assets="none", refresh="all")
    # The anchors only count the comments; the one that moved up is still the same.
    assert run.changes["comments"] == (1, 0, 1)
    assert run.changes["entries"] == (0, 0, 0)


async def test_thumbnails_and_the_originals_that_exist_are_kept(tmp_path: Path) -> None:
    blog = PublicBlog("livedoor", posts(6), dead_every=0)
    for number, post in blog.posts.items():
        post.text += f'<img src="/wp-content/uploads/{number}-300x200.png">'
    root = tmp_path / "archive"
    async with serving(blog) as origin:
        run = await back_up(origin, root, "livedoor")
        assert (run.outcome.exit_code, run.outcome.assets.addresses.lost) == (0, 0)
        assert run.outcome.assets.originals == 3
        assets = records(root, Kind.ASSETS)
        original = assets[f"{origin}/wp-content/uploads/1002.png"]
        assert original["original_of"] == f"{origin}/wp-content/uploads/1002-300x200.png"
        assert original["refs"] == [{"entry": "1002"}]
        assert f"{origin}/wp-content/uploads/1001.png" not in assets
        again = await back_up(origin, root, "livedoor")
        assert (again.outcome.version, again.outcome.assets.originals) == (None, 3)


async def test_what_robots_txt_forbids_is_named(tmp_path: Path) -> None:
    blog = PublicBlog("livedoor", posts(12), robots="User-agent: *\nDisallow: /archives/1003.html\n")
    root = tmp_path / "archive"
    async with serving(blog) as origin:
        run = await back_up(origin, root, "livedoor", assets="none")
        assert run.outcome.exit_code == 3
        assert "forbids this program 1 entry, which is left out (/archives/1003.html)" in run.outcome.problems[0].reason
        assert "/archives/1003.html" not in blog.asked
        assert len(records(root, Kind.ENTRIES)) == 11
        run = await back_up(origin, root, "livedoor", assets="none", obey_robots="no")
        assert (run.outcome.exit_code, len(records(root, Kind.ENTRIES))) == (0, 12)


async def test_a_crawl_delay_counts(tmp_path: Path) -> None:
    blog = PublicBlog("livedoor", posts(4), robots="User-agent: *\nCrawl-delay: 0.2\n")
    async with serving(blog) as origin:
        begun = time.monotonic()
        await back_up(origin, tmp_path / "archive", "livedoor", assets="none")
        took = time.monotonic() - begun
    # Robots.txt itself is read before the delay is known; requests may follow at nine tenths of the delay.
    assert took > 0.2 * 0.9 * (len(blog.asked) - 2)


async def test_pages_that_cannot_be_read_are_named_or_taken_from_the_feed(tmp_path: Path) -> None:
    blog = PublicBlog("livedoor", posts(12))
    form = '<form class="article-password"><input type="password"></form>'
    blog.overrides["/archives/1004.html"] = (200, blog.framed("秘密 : ブログ", form))
    blog.overrides["/archives/1012.html"] = (403, "forbidden")
    blog.overrides["/archives/1002.html"] = (403, "forbidden")
    root = tmp_path / "archive"
    async with serving(blog) as origin:
        full = blog.feed().replace(
            "<summary>要約</summary>", '<content type="html">&lt;p&gt;全文です&lt;/p&gt;</content>'
        )
        blog.overrides["/atom.xml"] = (200, full)
        run = await back_up(origin, root, "livedoor", assets="none")
        entries = records(root, Kind.ENTRIES)
    assert run.outcome.exit_code == 3
    assert [problem.id for problem in run.outcome.problems] == ["1002"]
    hidden = SERVICE.post(entries["1004"])
    assert (hidden.audience, hidden.body) == (Audience.PASSWORD, "")
    assert SERVICE.publication(hidden, Declared()).status is PostStatus.PRIVATE
    assert (entries["1012"]["how"], entries["1012"]["body"]) == ("feed", "<p>全文です</p>")
    assert any("its text is that of the feed" in note for note in run.notes)
    assert any("asks for a password" in note for note in run.notes)


async def test_a_gone_post_that_leads_home_is_gone(tmp_path: Path) -> None:
    blog = PublicBlog("livedoor", posts(20))
    root = tmp_path / "archive"
    async with serving(blog) as origin:
        await back_up(origin, root, "livedoor", assets="none")
        del blog.posts[1003]
        home = (blog.list_page("/") or "").replace("<head>", f'<head><link rel="canonical" href="{origin}/">')
        blog.overrides |= {"/archives/1003.html": (302, "/"), "/": (200, home)}
        run = await back_up(origin, root, "livedoor", assets="none")
    assert run.outcome.exit_code == 0
    assert run.changes["entries"] == (0, 0, 1)


async def test_comments_that_a_page_keeps_back_are_a_problem_until_they_are_shown(tmp_path: Path) -> None:
    blog = PublicBlog("livedoor", posts(12))
    root = tmp_path / "archive"
    async with serving(blog) as origin:
        page = blog.page(blog.posts[1005])
        blog.overrides["/archives/1005.html"] = (200, page + '<p class="comments-count">コメント(3)</p>')
        run = await back_up(origin, root, "livedoor", assets="none")
        assert run.outcome.exit_code == 3
        assert run.outcome.problems[0].reason == "its page states 3 comments and shows 2"
        blog.posts[1005].comments.append(("花子", "三つ目"))
        del blog.overrides["/archives/1005.html"]
        run = await back_up(origin, root, "livedoor", assets="none", refresh="changed")
        assert (run.outcome.exit_code, run.changes["comments"]) == (0, (1, 0, 0))


async def test_error_notices_in_place_of_pages_are_refused(tmp_path: Path) -> None:
    blog = PublicBlog("livedoor", posts(40))
    root = tmp_path / "archive"
    async with serving(blog) as origin:
        await back_up(origin, root, "livedoor", assets="none")
        notice = blog.framed("お知らせ", '<div class="article-body"><p>ただいまメンテナンス中です。</p></div>')
        for number in blog.posts:
            blog.overrides[f"/archives/{number}.html"] = (200, notice)
        with pytest.raises(MassDisappearance):
            await back_up(origin, root, "livedoor", assets="none", refresh="all")
        assert Archive.open(root).versions() == [1]


async def test_a_site_that_is_no_blog_makes_no_archive(tmp_path: Path) -> None:
    blog = PublicBlog("livedoor", {}, sitemap=False)
    blog.overrides["/"] = (200, "<p>いらっしゃいませ</p>")
    async with serving(blog) as origin:
        with pytest.raises(ServiceError, match="no entry was found"):
            await back_up(origin, tmp_path / "archive", "livedoor", assets="none")


def test_the_settings_are_polite_by_default() -> None:
    found = resolve({"base_url": "https://a.example", "service": "public-site"}, environ={})
    assert (found.rate, found.concurrency) == (2.0, 2)
