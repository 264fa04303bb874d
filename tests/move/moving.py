"""Move blogs in memory to a WordPress on loopback."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from exporter.clock import Clock, FixedClock
from exporter.export.interface import ExportOptions, Side
from exporter.export.names import wordpress_name
from exporter.export.posts import Posts
from exporter.export.report import Report
from exporter.html.links import AddressPattern
from exporter.http.engine import Engine
from exporter.http.retry import RetryPolicy
from exporter.move.home import read_home
from exporter.move.map_file import MapFile
from exporter.move.outcome import Did, MoveOutcome, Thing
from exporter.move.plan import Plan
from exporter.move.transfer import MoveRun
from exporter.move.writer import Writer
from exporter.wordpress import application_password, open_wordpress
from tests.export.memory import BLOG, SAID, Memory
from tests.wordpress.fake import LOGIN

NOW = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
OLD = AddressPattern("https://umi.blog.example.jp/Entry/{entry_id}/", "--old-url")


def small_blog() -> Memory:
    """Return three entries that link to each other, with two pictures, two categories and three comments."""
    blog = Memory()
    first = blog.picture("https://pictures.example.jp/1.png", entry_id="1")
    assert first
    blog.picture("https://pictures.example.jp/2.png", entry_id="2")
    one = '<img src="https://pictures.example.jp/1.png"> <a href="https://umi.blog.example.jp/Entry/2/">二</a>'
    two = '<img src="https://pictures.example.jp/2.png"> <a href="https://umi.blog.example.jp/Entry/1/">一</a> <a href="#x">x</a>'
    blog.entry("1", title="一つ目", name="first", entry_text=one)
    blog.entry(
        "2", title="二つ目", name="second", entry_text=two, ps_text="続き", ps_title="もっと", cm_receipt_flg="f"
    )
    blog.entry("3", title="", name="", entry_text="三\n行", category="旅")
    blog.comment("1", "1", name="<管理人>", cm_text="どうも")
    blog.comment("2", "1", name="", cm_text="どうも")
    blog.comment("3", "2", name="<管理人>", cm_text="どうも")
    return blog


class Place(Protocol):
    """The part of a WordPress that a move needs."""

    @property
    def url(self) -> str:
        """The address of the WordPress."""


async def move(
    home: Place,
    blog: Memory,
    folder: Path,
    *,
    dry_run: bool = False,
    concurrency: int = 1,
    retries: int = 0,
    clock: Clock | None = None,
    settling: timedelta = timedelta(),
    report: Report | None = None,
    tell: Callable[[Any], None] = lambda _: None,
    login: tuple[str, str] = LOGIN,
    brought: Container[str] | None = None,
    authors: Mapping[str, int] | None = None,
    now: datetime = NOW,
    only_hide: bool = False,
    **options: Any,
) -> MoveOutcome:
    """Move the public content of a blog; ``options`` can include more. ``folder`` holds the map and the pictures.

    With ``only_hide``, only hide the posts that are private now, as every move does before it begins.
    """
    blog.write_pictures(folder)
    clock = clock or FixedClock(NOW)
    report = report or Report()
    chosen = ExportOptions(**{"declared": SAID, "side": Side.PUBLIC, "old_urls": (OLD,), **options})
    plan = Plan(Posts(blog, chosen, report, holds_back=True, spelling=wordpress_name), report)
    plan.now = now
    async with Engine(clock=clock) as engine:
        client = engine.client(home.url, application_password(*login), policy=RetryPolicy(retries=retries))
        api = await open_wordpress(client)
        with MapFile(folder / "map.jsonl", BLOG, "home", clock.now(), keep=not dry_run) as mapped:
            run = MoveRun(
                api,
                plan,
                mapped,
                None if dry_run else Writer(api, api, mapped, clock, settling),
                read=lambda picture: (folder / (picture.source or "")).read_bytes(),
                concurrency=concurrency,
                report=report,
                tell=tell,
                brought=brought,
                authors=authors or {},
                home=await read_home(api, tags=False) if only_hide else None,
            )
            if only_hide:
                await run.hide()
                return run.outcome
            return await run.run()


def plans(blog: Memory, *sides: Side, **options: Any) -> list[Plan]:
    """Return the plans of some sides of a blog."""
    found = []
    for side in sides:
        chosen = ExportOptions(**{"declared": SAID, "old_urls": (OLD,), **options, "side": side})
        found.append(Plan(Posts(blog, chosen, Report(), holds_back=True, spelling=wordpress_name), Report()))
    return found


def counts(outcome: MoveOutcome, did: Did) -> dict[str, int]:
    """Return the number of records of each kind with this result, without zeros."""
    return {str(thing): outcome.counts[thing][did] for thing in Thing if outcome.counts[thing][did]}
