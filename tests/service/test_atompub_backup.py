"""A blog with AtomPub is backed up from its real server, with each way to prove the user."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import exporter
from exporter.archive.archive import Archive
from exporter.archive.verify import verify
from exporter.check.service_check import check
from exporter.crawl.events import Event
from exporter.crawl.outcome import Outcome
from exporter.errors import BlogGone, MassDisappearance, NotAuthorised, ServiceError, UsageError
from exporter.http.engine import Engine
from exporter.model.kinds import Kind
from exporter.model.records import Audience, PostKind
from exporter.service.atompub.source import AtomPub
from exporter.service.registry import service_of, way_of
from exporter.settings import Settings, resolve
from tests.http.clocks import JumpClock
from tests.support.atompub_server import (
    API_KEY,
    CONSUMER_KEY,
    CONSUMER_SECRET,
    TOKEN,
    TOKEN_SECRET,
    USER,
    AtomPubBlog,
    LivedoorBlog,
    example_blog,
    served,
)

SECRETS = (API_KEY, CONSUMER_SECRET, TOKEN, TOKEN_SECRET)
ENTRIES, PAGES = 36, 2
FAST = {"rate": "1000", "concurrency": "8", "allow_private_network": "yes", "markdown": "no", "site": "no"}


@pytest.fixture
async def blog() -> AsyncIterator[AtomPubBlog]:
    """A blog of 36 entries, of which six are drafts and one of these is scheduled, and two pages."""
    async with served(AtomPubBlog()) as running:
        made = example_blog(ENTRIES, origin=running.origin)
        running.entries, running.pages = made.entries, made.pages
        yield running


def settings(blog: AtomPubBlog, scheme: str = "basic", environ: dict[str, str] | None = None, **more: Any) -> Settings:
    blog.scheme = scheme
    given = {"profile": "hatena", "base_url": blog.origin, "auth": scheme, "user": USER, **FAST, **more}
    variables = {"BLOG_EXPORTER_TOKEN": API_KEY}
    if scheme == "oauth1":
        given["oauth_client_id"] = CONSUMER_KEY
        variables = {
            "BLOG_EXPORTER_TOKEN": TOKEN,
            "BLOG_EXPORTER_TOKEN_SECRET": TOKEN_SECRET,
            "BLOG_EXPORTER_CLIENT_SECRET": CONSUMER_SECRET,
        }
    return resolve(given, blog_id=blog.blog_id, environ=variables if environ is None else environ)


async def back_up(
    root: Path, blog: AtomPubBlog, wanted: Settings, clock: JumpClock | None = None, **how: Any
) -> tuple[Outcome, list[Any]]:
    blog.asked.clear()
    clock = clock or JumpClock()
    async with Engine(clock=clock) as engine, exporter.open_service(blog.blog_id, wanted, engine=engine) as opened:
        run = exporter.backup(root, opened, wanted, **how)
        events = [event async for event in run]
        return run.outcome, events


def records(root: Path, kind: Kind) -> dict[str, dict[str, Any]]:
    return dict(Archive.open(root).records(kind))


def everything_in(root: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file())


@pytest.mark.parametrize("scheme", ["basic", "wsse", "oauth1"])
async def test_a_whole_blog_is_saved_once_with_each_authentication(
    tmp_path: Path, blog: AtomPubBlog, scheme: str
) -> None:
    root, wanted = tmp_path / "archive", settings(blog, scheme)
    outcome, _ = await back_up(root, blog, wanted)
    assert (outcome.outcome, outcome.version, outcome.problems) == ("saved", 1, [])
    assert not [path for path, status in blog.asked if status != 200]
    entries, items = records(root, Kind.ENTRIES), records(root, Kind.ENTRY_LIST)
    assert list(entries) == list(items) == [*(each.id for each in blog.entries), "page-4000000000000000001",
                                            "page-4000000000000000002"]  # fmt: skip
    assert all("xml" in entry for entry in entries.values())
    assert not any("xml" in item for item in items.values()), "the list repeats the entries"
    assert {asset["status"] for asset in records(root, Kind.ASSETS).values()} == {200}
    assert len(records(root, Kind.ASSETS)) == ENTRIES // 3
    assert blog.proven_pictures == []
    again, _ = await back_up(root, blog, wanted)
    assert (again.outcome, again.version) == ("unchanged", None)
    held = everything_in(root)
    assert not [secret for secret in SECRETS if secret.encode() in held]
    assert not [found for found in verify(Archive.open(root)) if found.damage]
    assert json.loads((root / "archive.json").read_bytes())["service"] == "atompub"


async def test_every_request_has_a_proof_of_its_own(tmp_path: Path, blog: AtomPubBlog) -> None:
    for scheme in ("wsse", "oauth1"):
        blog.authorizations.clear()
        await back_up(tmp_path / scheme, blog, settings(blog, scheme, assets="none"))
        assert len(set(blog.authorizations)) == len(blog.authorizations) > 12


async def test_entries_have_everything_that_the_documents_state(tmp_path: Path, blog: AtomPubBlog) -> None:
    root, wanted = tmp_path / "archive", settings(blog)
    await back_up(root, blog, wanted)
    service = service_of(wanted, "atompub")
    posts = [service.post(raw) for raw in records(root, Kind.ENTRIES).values()]
    by_id = {post.id: post for post in posts}
    for entry in blog.entries:
        post = by_id[entry.id]
        assert (post.title, post.date, post.updated) == (entry.title, entry.updated, entry.edited)
        assert post.body == (entry.content if entry.formatted is None else entry.formatted)
        assert tuple(category.name for category in post.categories) == entry.categories
        assert post.permalink.startswith(f"https://{blog.blog_id}/entry/")
        wanted_audience = Audience.DRAFT if entry.draft else Audience.PUBLIC
        assert post.audience is (Audience.SCHEDULED if entry.scheduled else wanted_audience)
        assert (post.author, post.kind, post.problems) == (USER, PostKind.POST, ())
    assert by_id["page-4000000000000000001"].kind is PostKind.PAGE
    assert sum(post.audience is Audience.DRAFT for post in posts) == 5
    assert sum(post.audience is Audience.SCHEDULED for post in posts) == 1


async def test_the_xml_of_an_entry_is_kept_exactly(tmp_path: Path, blog: AtomPubBlog) -> None:
    root = tmp_path / "archive"
    await back_up(root, blog, settings(blog))
    kept = records(root, Kind.ENTRIES)
    for entry in blog.entries:
        assert kept[entry.id]["xml"] == blog.entry_xml(entry, "entry")
        assert kept[entry.id]["xmlns"] == {"": "http://www.w3.org/2005/Atom", "app": "http://www.w3.org/2007/app"}


async def test_an_edit_is_one_change_and_a_deletion_one_tombstone(tmp_path: Path, blog: AtomPubBlog) -> None:
    root, wanted = tmp_path / "archive", settings(blog)
    await back_up(root, blog, wanted)
    blog.entries[4] = replace(blog.entries[4], content="<p>Other</p>", formatted=None, kind="text/html")
    outcome, _ = await back_up(root, blog, wanted)
    assert outcome.version == 2
    counts = outcome.counts["entries"]
    assert (counts.new, counts.changed, counts.gone) == (0, 1, 0)
    gone = blog.entries.pop(9)
    outcome, _ = await back_up(root, blog, wanted)
    assert outcome.version == 3
    counts = outcome.counts["entries"]
    assert (counts.total, counts.new, counts.changed, counts.gone) == (ENTRIES + PAGES - 1, 0, 0, 1)
    lines = [json.loads(line) for line in (root / "versions/000003/entries.jsonl").read_bytes().splitlines()]
    assert [(line["op"], line["id"]) for line in lines] == [("remove", gone.id)]
    assert lines[0]["evidence"]["absent_in_sweeps"] == [1, 2]
    assert lines[0]["evidence"]["entry_get"]["status"] == 404


async def test_lists_alone_bring_the_texts_of_all_entries(tmp_path: Path, blog: AtomPubBlog) -> None:
    await back_up(tmp_path / "archive", blog, settings(blog, assets="none"))
    members = [path for path, _ in blog.asked if "/entry/" in path or "/page/" in path]
    assert members == []
    feeds = [path for path, _ in blog.asked if path.startswith(f"{blog.root}/entry")]
    assert len(feeds) == 2 * 6, "36 entries are 6 feeds of seven, in two sweeps"


async def test_feeds_that_shorten_are_completed_by_the_entries_own_documents(tmp_path: Path, blog: AtomPubBlog) -> None:
    blog.shortened, blog.etags = True, True
    root, wanted = tmp_path / "archive", settings(blog, atompub_text="entries", assets="none")
    outcome, _ = await back_up(root, blog, wanted)
    assert (outcome.outcome, outcome.problems) == ("saved", [])
    assert sum("/entry/" in path for path, _ in blog.asked) == ENTRIES
    service = service_of(wanted, "atompub")
    kept = {key: service.post(raw).body for key, raw in records(root, Kind.ENTRIES).items()}
    assert all(kept.values())
    again, _ = await back_up(root, blog, wanted)
    assert again.version is None
    assert sum(status == 304 for _, status in blog.asked) == ENTRIES + PAGES


@pytest.mark.parametrize("status", [500, 502, 503, 429])
async def test_failures_that_pass_are_retried(tmp_path: Path, blog: AtomPubBlog, status: int) -> None:
    second = f"{blog.root}/entry?page={int(sorted((e.updated for e in blog.entries), reverse=True)[7].timestamp())}"
    blog.failures[second] = [status, status]
    outcome, _ = await back_up(tmp_path / "archive", blog, settings(blog, assets="none"))
    assert (outcome.outcome, outcome.problems, outcome.retries) == ("saved", [], 2)


async def test_a_page_that_stays_broken_is_named_and_nothing_counts_as_deleted(
    tmp_path: Path, blog: AtomPubBlog
) -> None:
    root, wanted = tmp_path / "archive", settings(blog, assets="none", retries="1")
    await back_up(root, blog, wanted)
    times = sorted((entry.updated for entry in blog.entries), reverse=True)
    blog.failures[f"{blog.root}/entry?page={int(times[7].timestamp())}"] = [500] * 20
    outcome, _ = await back_up(root, blog, wanted)
    assert (outcome.outcome, outcome.version, outcome.exit_code) == ("partial", None, 3)
    assert "entry list, page 3: could not be read" in outcome.problems[0].reason


async def test_a_rate_limit_is_obeyed(tmp_path: Path) -> None:
    clock = JumpClock()
    clock.advance(1.0)
    async with served(example_blog(10, 0)) as blog:
        blog.seconds_per_request, blog.now, blog.has_pages = 0.05, clock.monotonic, False
        outcome, _ = await back_up(tmp_path / "archive", blog, settings(blog, assets="none", rate="15"), clock)
    assert outcome.outcome == "saved"


@pytest.mark.parametrize("scheme", ["basic", "wsse", "oauth1"])
@pytest.mark.parametrize("status", [401, 403])
async def test_a_refusal_says_what_to_check(tmp_path: Path, blog: AtomPubBlog, scheme: str, status: int) -> None:
    wanted = replace(settings(blog, scheme), token="another-key-of-the-blog-000")
    blog.failures[blog.root] = [status] * 9
    with pytest.raises(NotAuthorised) as caught:
        await back_up(tmp_path / "archive", blog, wanted)
    said = str(caught.value)
    assert f"atompub/service answered {status}, not authorised" in said
    assert "BLOG_EXPORTER_TOKEN" in said
    assert "check" in said
    assert not [secret for secret in (*SECRETS, "another-key") if secret in said]
    assert not (tmp_path / "archive").exists()


async def test_without_a_sign_in_the_advice_names_the_key(tmp_path: Path, blog: AtomPubBlog) -> None:
    with pytest.raises(NotAuthorised, match="BLOG_EXPORTER_TOKEN"):
        await back_up(tmp_path / "archive", blog, settings(blog, environ={}))


async def test_a_missing_blog_is_said(tmp_path: Path, blog: AtomPubBlog) -> None:
    blog.failures[blog.root] = [404] * 9
    with pytest.raises(BlogGone, match="check the blog ID and the base URL"):
        await back_up(tmp_path / "archive", blog, settings(blog))


async def test_the_owner_of_the_blog_must_be_known(tmp_path: Path, blog: AtomPubBlog) -> None:
    with pytest.raises(UsageError, match="--user"):
        await back_up(tmp_path / "archive", blog, settings(blog, auth="bearer", user=None))


async def test_the_root_endpoint_may_be_the_base_url(tmp_path: Path, blog: AtomPubBlog) -> None:
    wanted = settings(blog, base_url=f"{blog.origin}{blog.root}", assets="none")
    outcome, _ = await back_up(tmp_path / "archive", blog, wanted)
    assert (outcome.outcome, outcome.problems) == ("saved", [])
    assert len(records(tmp_path / "archive", Kind.ENTRIES)) == ENTRIES + PAGES


async def test_a_page_of_html_is_said(tmp_path: Path, blog: AtomPubBlog) -> None:
    blog.instead[blog.root] = (b"<!DOCTYPE html><html><body>Maintenance</body></html>", "text/html")
    with pytest.raises(ServiceError, match="a page of HTML: is the base URL right"):
        await back_up(tmp_path / "archive", blog, settings(blog, retries="0"))


async def test_a_blog_without_pages_is_complete(tmp_path: Path, blog: AtomPubBlog) -> None:
    blog.has_pages = False
    outcome, _ = await back_up(tmp_path / "archive", blog, settings(blog, assets="none"))
    assert (outcome.outcome, outcome.problems, outcome.counts["entries"].total) == ("saved", [], ENTRIES)
    assert outcome.completeness is not None
    assert outcome.completeness["provable"] is False
    assert outcome.completeness["comments"]["expected"] is None


async def test_a_list_without_a_next_page_that_may_be_cut_is_said(tmp_path: Path, blog: AtomPubBlog) -> None:
    blog.page_size, blog.has_pages = ENTRIES, False
    wanted = settings(blog, assets="none", atompub_list_limit="20")
    outcome, _ = await back_up(tmp_path / "archive", blog, wanted)
    assert (outcome.outcome, outcome.exit_code) == ("partial", 3)
    assert "older ones may be missing" in outcome.problems[0].reason


async def test_an_interrupted_run_is_resumed(tmp_path: Path, blog: AtomPubBlog) -> None:
    root, wanted = tmp_path / "archive", settings(blog, assets="none", retries="0")
    times = sorted((entry.updated for entry in blog.entries), reverse=True)
    seen: list[Event] = []
    async with exporter.open_service(blog.blog_id, wanted) as opened:
        run = exporter.backup(root, opened, wanted)
        async with run:
            async for event in run:
                seen.append(event)  # type: ignore[arg-type]  # events of the library, too
                if type(event).__name__ == "PageRead" and len(blog.asked) > 6:
                    break
    before = {path for path, _ in blog.asked}
    assert f"{blog.root}/entry?page={int(times[7].timestamp())}" in before
    outcome, events = await back_up(root, blog, wanted)
    assert (outcome.outcome, outcome.problems, outcome.counts["entries"].new) == ("saved", [], ENTRIES + PAGES)
    assert "Resumed" in {type(event).__name__ for event in events}
    again, _ = await back_up(root, blog, wanted)
    assert again.version is None


async def test_a_dry_run_counts_the_changes(tmp_path: Path, blog: AtomPubBlog) -> None:
    root, wanted = tmp_path / "archive", settings(blog, assets="none")
    await back_up(root, blog, wanted)
    blog.entries[0] = replace(blog.entries[0], title="Other", edited=blog.entries[0].updated + timedelta(days=9))
    outcome, _ = await back_up(root, blog, wanted, dry_run=True)
    counts = outcome.counts["entry_list"]
    assert (counts.new, counts.changed, counts.gone) == (0, 1, 0)


async def test_a_private_blog_stays_private(tmp_path: Path, blog: AtomPubBlog) -> None:
    root, wanted = tmp_path / "archive", settings(blog, assets="none", atompub_audience="members")
    await back_up(root, blog, wanted)
    service = way_of(wanted, "atompub")
    assert isinstance(service, AtomPub)
    shown = {service.post(raw).audience for raw in records(root, Kind.ENTRIES).values()}
    assert Audience.PUBLIC not in shown
    elsewhere = AtomPub()
    assert {elsewhere.post(raw).audience for raw in records(root, Kind.ENTRIES).values()} == shown


def livedoor_settings(blog: AtomPubBlog, **more: Any) -> Settings:
    return settings(blog, profile="livedoor", assets="none", **more)


async def test_a_small_blog_of_livedoor_is_complete(tmp_path: Path) -> None:
    made = example_blog(12, 2)
    async with served(LivedoorBlog(entries=made.entries)) as blog:
        wanted = livedoor_settings(blog)
        outcome, _ = await back_up(tmp_path / "archive", blog, wanted)
        assert (outcome.outcome, outcome.problems) == ("saved", [])
        assert f"{blog.root}/image" not in {path for path, _ in blog.asked}
    service = service_of(wanted, "atompub")
    posts = {key: service.post(raw) for key, raw in records(tmp_path / "archive", Kind.ENTRIES).items()}
    for entry in blog.entries:
        post = posts[entry.id]
        assert (post.title, post.date, post.updated, post.body) == (
            entry.title,
            entry.updated,
            entry.edited,
            entry.content,
        )
        assert (post.audience in {Audience.DRAFT, Audience.SCHEDULED}) is entry.draft


async def test_a_longer_blog_of_livedoor_is_said_to_be_cut(tmp_path: Path) -> None:
    async with served(LivedoorBlog(entries=example_blog(30, 0).entries)) as blog:
        outcome, _ = await back_up(tmp_path / "archive", blog, livedoor_settings(blog))
        assert (outcome.outcome, outcome.exit_code, outcome.counts["entries"].new) == ("partial", 3, 20)
        assert "older ones may be missing. Use an export file" in outcome.problems[0].reason
        blog.entries = blog.entries[5:]
        again, _ = await back_up(tmp_path / "archive", blog, livedoor_settings(blog))
        assert again.counts["entries"].gone == 0, "a list that may be cut proves no deletion"


async def test_media_link_entries_are_uploads(tmp_path: Path) -> None:
    entries = [replace(entry, content="<p>Text</p>", formatted=None) for entry in example_blog(3, 0).entries]
    async with served(LivedoorBlog(entries=entries, pictures=4)) as blog:
        wanted = settings(blog, profile="livedoor", atompub_skip="")
        outcome, _ = await back_up(tmp_path / "archive", blog, wanted)
        assert (outcome.outcome, outcome.problems) == ("saved", [])
        assert sorted(records(tmp_path / "archive", Kind.FILES)) == ["image/1", "image/2", "image/3", "image/4"]
        saved = {url for url, asset in records(tmp_path / "archive", Kind.ASSETS).items() if asset["status"] == 200}
        assert {f"{blog.origin}/images/{number}.png" for number in range(1, 5)} <= saved
        assert blog.proven_pictures == []


async def test_check_finds_the_service_document_and_the_feed(tmp_path: Path, blog: AtomPubBlog) -> None:
    result = await check(blog.blog_id, settings(blog, atompub_skip="image,draft"), tmp_path / "archive")
    names = [(facts.name, facts.problem) for facts in result.operations]
    requests = ("service", "feed", "feed", "service", "service", "entry")
    assert names == [(f"atompub/{name}", "") for name in requests]
    assert result.exit_code == 0
    assert result.settings["atompub_skip"][0] == "draft,image"


async def test_a_notice_in_place_of_every_text_is_refused(tmp_path: Path, blog: AtomPubBlog) -> None:
    root, wanted = tmp_path / "archive", settings(blog, assets="none")
    await back_up(root, blog, wanted)
    notice = "<p>This service is closed.</p>"
    blog.entries = [replace(entry, content=notice, formatted=None, kind="text/html") for entry in blog.entries]
    with pytest.raises(MassDisappearance, match=f"{ENTRIES} of {ENTRIES + PAGES} entries have the same text"):
        await back_up(root, blog, wanted)
    assert len({raw["xml"] for raw in records(root, Kind.ENTRIES).values()}) == ENTRIES + PAGES


async def test_a_text_that_lost_its_end_without_a_change_is_asked_for_again(tmp_path: Path, blog: AtomPubBlog) -> None:
    root, wanted = tmp_path / "archive", settings(blog, assets="none")
    await back_up(root, blog, wanted)
    whole = blog.entries[2]
    blog.entries[2] = replace(whole, content=whole.content[:10], formatted=None)
    outcome, _ = await back_up(root, blog, wanted)
    assert outcome.exit_code == 3
    assert [problem.id for problem in outcome.problems] == [whole.id]
    assert "a part of its text is missing" in outcome.problems[0].reason
    assert records(root, Kind.ENTRIES)[whole.id]["xml"] == blog.entry_xml(whole, "entry")


async def test_a_control_character_in_an_old_text_breaks_nothing(tmp_path: Path, blog: AtomPubBlog) -> None:
    blog.entries[3] = replace(blog.entries[3], title="A\x08B", content="<p>\x0b</p>", formatted=None, kind="text/html")
    root, wanted = tmp_path / "archive", settings(blog, assets="none")
    outcome, _ = await back_up(root, blog, wanted)
    assert (outcome.outcome, outcome.problems, outcome.counts["entries"].new) == ("saved", [], ENTRIES + PAGES)
    raw = records(root, Kind.ENTRIES)[blog.entries[3].id]
    assert "<title>A\x08B</title>" in raw["xml"]
    assert service_of(wanted, "atompub").post(raw).title == "A B"
    again, _ = await back_up(root, blog, wanted)
    assert again.version is None
