"""Two ways feed one archive: texts and comments from an export file, pictures and addresses from the blog's pages."""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import exporter
from exporter.archive.archive import Archive
from exporter.archive.verify import verify
from exporter.clock import SystemClock
from exporter.crawl.events import RecordsJoined
from exporter.errors import JoinRefused, MassDisappearance, UsageError
from exporter.library.backup import Backup
from exporter.library.unjoin import unjoin
from exporter.model.kinds import Kind
from exporter.model.records import Audience
from exporter.service.registry import service_of
from exporter.settings import Settings, resolve
from exporter.source.export_files import find_export_files
from tests.archive.versions import plain_states
from tests.support.public_blog import JST, BlogPost, PublicBlog, posts, serving

BLOG = "sample.example"
SAMPLE = Path(__file__).parents[2] / "sample_output"


def exported(blog: PublicBlog, path: Path, *, draft: bool = True) -> Path:
    """Write the blog's posts as a file in Movable Type's format, without addresses, and a draft that no page shows."""
    made = []
    for post in sorted(blog.posts.values(), key=lambda each: each.date):
        comments = "".join(
            f"COMMENT:\nAUTHOR: {name}\nDATE: {at(post.date)}\n<p>{text}</p>\n-----\n" for name, text in post.comments
        )
        text = post.text.partition("<script>")[0]
        made.append(
            f"AUTHOR: umi\nTITLE: {post.title}\nSTATUS: Publish\nCATEGORY: {post.category}\nDATE: {at(post.date)}\n-----\n"
            f"BODY:\n{text}\n-----\n{comments}--------\n"
        )
    if draft:
        made.append(
            "AUTHOR: umi\nTITLE: 下書き\nSTATUS: Draft\nDATE: 02/03/2020 01:02:03\n-----\nBODY:\n秘密\n-----\n--------\n"
        )
    path.write_text("".join(made), "utf-8")
    return path


def at(date: datetime) -> str:
    return f"{date:%m/%d/%Y %H:%M:%S}"


def settings(**options: str) -> Settings:
    return resolve({"site": "no", "markdown": "no", "retries": "8", **options}, environ={})


async def from_file(path: Path, root: Path, **how: Any) -> Backup:
    wanted = settings(service="movable-type")
    async with exporter.open_service(BLOG, wanted, files=find_export_files(path)) as opened:
        return await finished(exporter.backup(root, opened, wanted, **how))


async def from_pages(origin: str, root: Path, **how: Any) -> Backup:
    wanted = settings(service="public-site", base_url=origin, page_rules="livedoor", rate="10000", concurrency="8")
    async with exporter.open_service(BLOG, wanted) as opened:
        return await finished(exporter.backup(root, opened, wanted, **how))


EVENTS: list[Any] = []


async def finished(made: Backup) -> Backup:
    EVENTS[:] = [event async for event in made]
    return made


def joined() -> RecordsJoined:
    return next(event for event in EVENTS if isinstance(event, RecordsJoined))


def read(root: Path) -> dict[str, Any]:
    archive = Archive.open(root)
    service, state = service_of(settings(), archive.info.service), archive.state()
    items = dict(state.scan(Kind.ENTRY_LIST))
    return {entry_id: service.post(raw, items.get(entry_id)) for entry_id, raw in state.scan(Kind.ENTRIES)}


async def test_texts_come_from_the_file_and_addresses_and_pictures_from_the_pages(tmp_path: Path) -> None:
    blog, root = PublicBlog("livedoor", posts(60), refused_every=17), tmp_path / "archive"
    first = await from_file(exported(blog, tmp_path / "export.txt"), root)
    assert (first.outcome.exit_code, first.outcome.version) == (0, 1)
    async with serving(blog) as origin:
        del blog.posts[1003]
        blog.posts[1100] = BlogPost(
            1100, "ファイルのあとの記事", "<p>新しい。</p>", datetime(2021, 5, 6, 7, 8, tzinfo=JST)
        )
        second = await from_pages(origin, root)
        assert (second.outcome.exit_code, second.outcome.version) == (0, 2), second.outcome.problems
        assert (joined().matched, joined().new, joined().only_archived) == (59, 1, 2)
        found = read(root)
        assert len(found) == 62
        for number, post in blog.posts.items():
            entry = next(each for each in found.values() if each.title == post.title)
            assert entry.permalink == blog.address(number)
            if number != 1100:
                assert entry.sources == ("movable-type", "public-site")
                assert f"{number}日目の本文です" in entry.body
                assert entry.author == "umi"
        draft = next(each for each in found.values() if each.title == "下書き")
        assert (draft.audience, draft.permalink) == (Audience.DRAFT, "")
        comments = dict(Archive.open(root).records(Kind.COMMENTS))
        assert len(comments) == 24
        assert sum("sources" in raw for raw in comments.values()) == 24
        pictures = [raw for url, raw in Archive.open(root).records(Kind.ASSETS) if "/img/" in url]
        assert [raw["status"] for raw in pictures].count(404) == 4
        assert all(raw["refs"] for raw in pictures)
        manifest = Archive.open(root).manifest(2)
        assert manifest.sources == ["movable-type", "public-site"]

        again = await from_pages(origin, root)
        assert (again.outcome.exit_code, again.outcome.version) == (0, None), again.outcome.counts
        same = await from_file(tmp_path / "export.txt", root)
        assert (same.outcome.exit_code, same.outcome.version) == (0, None), same.outcome.counts

        blog.posts[1010].text = "<p>ページだけで書き直した。</p>"
        third = await from_pages(origin, root)
        assert third.outcome.version == 3
        assert third.outcome.counts["entries"].changed == 1
        assert [text for text in joined().conflicts if "differs" in text]
        entry = next(each for each in read(root).values() if each.permalink == blog.address(1010))
        assert "1010日目の本文です" in entry.body
    assert list(verify(Archive.open(root))) == []


async def test_what_only_one_way_gave_is_removed_on_its_evidence_alone(tmp_path: Path) -> None:
    blog, root = PublicBlog("livedoor", posts(20)), tmp_path / "archive"
    await from_file(exported(blog, tmp_path / "export.txt"), root)
    async with serving(blog) as origin:
        blog.posts[1100] = BlogPost(1100, "ページだけの記事", "<p>新しい。</p>", datetime(2021, 5, 6, 7, 8, tzinfo=JST))
        await from_pages(origin, root)
        del blog.posts[1100], blog.posts[1001]
        run = await from_pages(origin, root)
        assert run.outcome.counts["entries"].gone == 1
        assert len(read(root)) == 21
        # The file still has the entry whose page is gone. Its owner took it back, so it is private.
        assert joined().withdrawn == 1
        left = next(each for each in read(root).values() if each.title.startswith("第1001話"))
        assert (left.audience, left.permalink) == (Audience.PRIVATE, "")
        again = await from_pages(origin, root)
        assert (again.outcome.version, joined().withdrawn) == (None, 0)
        same = await from_file(tmp_path / "export.txt", root)
        assert same.outcome.version is None, same.outcome.counts
        for number in [*blog.posts][4:]:
            del blog.posts[number]
        with pytest.raises(MassDisappearance):
            await from_pages(origin, root)
    lines = (root / "runs.jsonl").read_text("utf-8").splitlines()
    assert json.loads(lines[-1])["outcome"] == "refused"
    assert unjoin(Archive.open(root), settings(), "public-site", SystemClock()).shown_again == 1


async def test_another_blog_is_not_joined(tmp_path: Path) -> None:
    blog, other, root = PublicBlog("livedoor", posts(20)), PublicBlog("livedoor", posts(4, 2001)), tmp_path / "archive"
    await from_file(exported(blog, tmp_path / "export.txt"), root)
    for post in other.posts.values():
        post.title = f"別のブログの{post.title}"
    async with serving(other) as origin:
        with pytest.raises(JoinRefused, match="Of 4 entries at public-site, 0 are among the 21 of the archive"):
            await from_pages(origin, root)
        assert Archive.open(root).versions() == [1]
        assert Archive.open(root).runs()[-1]["outcome"] == "refused"
        asked = len(other.asked)
        done = await from_pages(origin, root, accept_join=True)
        assert (done.outcome.version, joined().new) == (2, 4)
        assert not any("/archives/" in path for path in other.asked[asked:]), "the refused run's pages are still there"
        again = await from_pages(origin, root)
        assert (again.outcome.exit_code, again.outcome.version) == (0, None)


async def test_a_join_can_be_undone(tmp_path: Path) -> None:
    blog, other, root = PublicBlog("livedoor", posts(12)), PublicBlog("livedoor", posts(2, 2001)), tmp_path / "archive"
    await from_file(exported(blog, tmp_path / "export.txt"), root)
    before = plain_states(root)[1]
    other.posts |= {number: post for number, post in blog.posts.items() if number % 2}
    async with serving(other) as origin:
        assert (await from_pages(origin, root)).outcome.exit_code == 0
    with pytest.raises(UsageError, match="has no second source 'wordpress'; it has public-site"):
        unjoin(Archive.open(root), settings(), "wordpress", SystemClock())
    done = unjoin(Archive.open(root), settings(), "public-site", SystemClock())
    assert done.version == 3
    after = plain_states(root)[3]
    for kind in Kind:
        if kind is not Kind.ASSETS:
            assert after[kind] == before[kind], kind
    assert Archive.open(root).manifest(3).sources is None
    assert (root / "runs.jsonl").read_text("utf-8").splitlines()[-1].count('"unjoined":"public-site"') == 1
    assert list(verify(Archive.open(root))) == []
    same = await from_file(tmp_path / "export.txt", root)
    assert same.outcome.exit_code == 0
    assert {
        kind: (each.new, each.changed, each.gone) for kind, each in same.outcome.counts.items() if kind != "assets"
    } == {str(kind): (0, 0, 0) for kind in Kind if kind is not Kind.ASSETS}
    with pytest.raises(UsageError, match="it has movable-type"):
        unjoin(Archive.open(root), settings(), "public-site", SystemClock())


async def test_an_archive_whose_flags_its_owner_declares_is_not_joined(tmp_path: Path) -> None:
    root = tmp_path / "archive"
    shutil.copytree(SAMPLE, root)
    blog_id, wanted = Archive.open(root).info.blog_id, settings(service="movable-type")
    path = exported(PublicBlog("livedoor", posts(3)), tmp_path / "export.txt")
    async with exporter.open_service(blog_id, wanted, files=find_export_files(path)) as opened:
        with pytest.raises(UsageError, match="cannot be joined"):
            await finished(exporter.backup(root, opened, wanted))
