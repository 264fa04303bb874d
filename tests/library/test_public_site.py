"""A closing blog at a public address becomes an archive: a real server, the whole backup, several runs."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import exporter
from exporter.archive.archive import Archive
from exporter.crawl.events import SourceNotes
from exporter.model.kinds import Kind
from exporter.service.public_site import PublicSite
from exporter.settings import Settings, resolve
from tests.support.public_blog import PublicBlog, posts, serving

BLOG = "sample.example"


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


def records(root: Path, kind: Kind) -> dict[str, dict[str, Any]]:
    return dict(Archive.open(root).state().scan(kind))


@pytest.mark.parametrize("form", ["fc2", "livedoor"])
@pytest.mark.parametrize("sitemap", [True, False])
async def test_a_closing_blog_is_backed_up_whole(tmp_path: Path, form: str, sitemap: bool) -> None:
    blog = PublicBlog(form, posts(200), sitemap=sitemap, refused_every=17)
    root = tmp_path / "archive"
    async with serving(blog) as origin:
        first = await back_up(origin, root, form)
        assert first.outcome.exit_code == 0, first.outcome.problems[:3]
        entries, comments = records(root, Kind.ENTRIES), records(root, Kind.COMMENTS)
        assert len(entries) == 200
        assert len(comments) == 80
        service = PublicSite()
        for number, post in blog.posts.items():
            read = service.post(entries[str(number)])
            assert (read.title, read.date, read.category) == (post.title, post.date, post.category)
            assert f"{number}日目の本文です。表①と㈱の話。" in read.body
            assert f'src="{origin}/img/{number}.png"' in read.body
            assert read.permalink == blog.address(number)
            assert read.raw["how"] == f"rule:{form}"
        texts = {service.comment(raw).text for raw in comments.values()}
        assert any("感想 1005" in text for text in texts)
        assets = records(root, Kind.ASSETS)
        states = [raw["status"] for url, raw in assets.items() if "/img/" in url]
        assert (states.count(200), states.count(404)) == (190, 10)
        assert sum(url.startswith("page:") for url in assets) == 200
        page = assets[f"page:{blog.address(1001)}"]
        kept = (root / exporter_path(page)).read_bytes()
        assert "1001日目の本文です" in gzip.decompress(kept).decode(blog.encoding, "replace")

        asked = len(blog.asked)
        second = await back_up(origin, root, form)
        assert (second.outcome.exit_code, second.outcome.version) == (0, None)
        assert len(blog.asked) > asked

        blog.posts[1100].text = "<p>書き直した本文です。</p>"
        blog.posts[1100].edited = blog.posts[1100].date + timedelta(days=3000)
        third = await back_up(origin, root, form)
        assert third.outcome.version == 2
        assert third.changes["entries"] == (0, 1, 0)
        assert third.changes["comments"] == (0, 0, 0)
        assert third.changes["assets"][0] == 0

        del blog.posts[1050]
        fourth = await back_up(origin, root, form)
        assert fourth.changes["entries"] == (0, 0, 1)
        assert fourth.changes["comments"] == (0, 0, 2)
        assert "1050" not in records(root, Kind.ENTRIES)


def exporter_path(asset: dict[str, Any]) -> str:
    return f"assets/{asset['sha256'][:2]}/{asset['sha256']}.gz"


def test_the_settings_are_polite_by_default() -> None:
    found = resolve({"base_url": "https://a.example", "service": "public-site"}, environ={})
    assert (found.rate, found.concurrency) == (2.0, 2)


def lines(root: Path) -> Iterator[str]:
    yield from (root / "runs.jsonl").read_text("utf-8").splitlines()
