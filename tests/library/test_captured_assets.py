"""Pictures that only a capture has complete the archive's own, and later backups keep them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import exporter
from exporter.archive.archive import Archive
from exporter.archive.captures import captures
from exporter.capture.events import AssetsCompleted
from exporter.clock import SystemClock
from exporter.demo.content import fields
from exporter.http.engine import Engine
from exporter.library.capture import capture
from exporter.library.captured_assets import complete_assets
from exporter.library.status import status
from exporter.library.views import refresh_latest
from exporter.model.asset import Asset, AssetState, capture_of
from exporter.model.kinds import Kind
from exporter.settings import Settings
from exporter.warc.checks import record_checks
from tests.support.captures import captured
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.pictures import png
from tests.support.styled_blog import StyledBlog, styled_blog

LOST, LATER = "/img/lost.png", "/img/later.png"


@dataclass
class Place:
    """An archive, its service, and the blog's public pages."""

    root: Path
    service: DemoService
    pages: StyledBlog

    @property
    def settings(self) -> Settings:
        return Settings(base_url=self.service.base_url, allow_private_network=True, site=False, retries=0)

    def show(self, number: int, *paths: str) -> None:
        """Let the entry with this position embed pictures of the public pages."""
        [blog] = self.service.blogs.values()
        key = list(blog.entries)[number]
        pictures = "".join(f'<img src="{self.pages.origin}{path}">' for path in paths)
        blog.entries[key] = {**fields(blog.entries[key]), "open_flg": "1", "entry_text": f"<p>{pictures}</p>"}

    def back_up(self) -> dict[str, Any]:
        """Back up and return the line of the run."""

        async def run() -> dict[str, Any]:
            blog_id = next(iter(self.service.blogs))
            async with exporter.open_service(blog_id, self.settings) as opened:
                made = exporter.backup(self.root, opened, self.settings)
                async for _ in made:
                    pass
                return made.outcome.line()

        return asyncio.run(run())

    def complete(self) -> tuple[str, ...]:
        archive = Archive.open(self.root)
        with archive.lock() as lock:
            lock.acquire(SystemClock().now())
            done = complete_assets(archive, self.settings, SystemClock())
            refresh_latest(archive, [], segments=done.segments)
        return done.addresses

    def asset(self, path: str) -> Asset:
        return Asset.from_raw(dict(Archive.open(self.root).records(Kind.ASSETS))[self.pages.origin + path])

    def damage(self) -> list[str]:
        archive = Archive.open(self.root)
        return [f"{each.path}: {each.detail}" for each in archive.verify(records=record_checks(archive.layout))]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    pages = styled_blog(1)
    pages.pictures |= {LOST: png(7), LATER: png(8)}
    pages.missing |= {LOST, LATER}
    with pages.serving_in_thread(), DemoService(generated_blog(2, 0, 0)).run_in_thread() as service:
        made = Place(tmp_path / "archive", service, pages)
        made.show(0, LOST)
        line = made.back_up()
        assert line["completeness"]["assets"]["left_out"]["lost"] == 1
        yield made


def shot(place: Place, *paths: str) -> None:
    """Capture pictures while their server has them."""
    place.pages.missing.clear()
    captured(place.root, place.pages, paths)
    place.pages.missing |= {LOST, LATER}


def test_a_lost_picture_comes_from_a_capture(place: Place) -> None:
    shot(place, LOST, LATER)
    before = status(Archive.open(place.root)).document
    assert place.complete() == (place.pages.origin + LOST,)
    asset = place.asset(LOST)
    assert (asset.state, asset.source, capture_of(asset)) == (AssetState.SAVED, "capture:000001", 1)
    assert (asset.width, asset.height, asset.content_type) == (2, 3, "image/png")
    assert asset.path is not None
    assert (place.root / asset.path).read_bytes() == png(7)
    archive = Archive.open(place.root)
    manifest = archive.manifest(2)
    assert (manifest.from_capture, manifest.counts["assets"].changed, manifest.counts["entries"].total) == (1, 1, 2)
    found = status(archive).document
    assert found["completeness"]["assets"] == {
        "listed": 1, "saved": 1, "left_out": {"pending": 0, "lost": 0, "by_choice": 0},
    }  # fmt: skip
    assert found["last_success"] == before["last_success"]
    assert found["last_run"] == before["last_run"]
    assert place.damage() == []
    assert place.complete() == ()


def test_the_next_backup_does_not_undo_it(place: Place) -> None:
    shot(place, LOST)
    place.complete()
    line = place.back_up()
    assert (line["outcome"], line["version"], line["exit_code"]) == ("unchanged", None, 0)
    assert line["completeness"]["assets"]["saved"] == 1
    assert place.asset(LOST).source == "capture:000001"
    assert place.damage() == []


def test_a_backup_takes_a_lost_picture_from_a_capture_itself(place: Place) -> None:
    shot(place, LOST, LATER)
    place.show(1, LATER)
    line = place.back_up()
    assert line["completeness"]["assets"]["saved"] == 2
    assert place.asset(LATER).source == place.asset(LOST).source == "capture:000001"
    assert place.damage() == []


def test_nothing_is_written_without_a_fitting_answer(place: Place) -> None:
    captured(place.root, place.pages, [LOST, "/"])  # 404, and a page
    place.show(1, "/")
    place.back_up()
    versions = Archive.open(place.root).versions()
    assert place.complete() == ()
    assert Archive.open(place.root).versions() == versions


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "index.cdxj").write_bytes(b"x\n"),
        lambda folder: next(folder.glob("*.warc.gz")).write_bytes(b"x"),
        lambda folder: (folder / "index.cdxj").unlink(),
    ],
)
def test_a_damaged_capture_completes_nothing(place: Place, damage: Callable[[Path], object]) -> None:
    shot(place, LOST)
    damage(Path(captures(Archive.open(place.root).layout)[0].folder))
    assert place.complete() == ()
    assert place.back_up()["completeness"]["assets"]["left_out"]["lost"] == 1


def test_an_interrupted_backup_is_not_disturbed(place: Place) -> None:
    shot(place, LOST)
    archive = Archive.open(place.root)
    archive.layout.checkpoint.mkdir(parents=True)
    assert place.complete() == ()


def test_a_kill_after_the_version_leaves_it_as_that_of_a_capture(place: Place) -> None:
    shot(place, LOST)
    place.complete()
    layout = Archive.open(place.root).layout
    lines = layout.runs.read_bytes().splitlines(keepends=True)
    assert json.loads(lines[-1])["from_capture"] == 1
    layout.runs.write_bytes(b"".join(lines[:-1]))
    layout.sums.unlink()
    place.back_up()
    runs = Archive.open(place.root).runs()
    assert [run.get("from_capture") for run in runs] == [None, 1, None]


@pytest.mark.thorough
def test_a_capture_completes_the_archive_itself(place: Place) -> None:
    place.pages.edit(min(place.pages.posts), body=f'<p><img src="{LOST}"></p>')
    place.pages.missing.clear()
    settings = replace(place.settings, home_url=place.pages.origin + "/", rate=10_000.0)

    async def run() -> list[object]:
        async with Engine() as engine:
            made = capture(place.root, Archive.open(place.root).info.blog_id, settings, engine)
            async with made:
                return [event async for event in made]

    events = asyncio.run(run())
    assert events[-1] == AssetsCompleted((place.pages.origin + LOST,), 2)
    assert place.asset(LOST).source == "capture:000001"
    assert place.damage() == []
