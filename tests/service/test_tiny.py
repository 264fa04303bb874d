"""A second service works from its server to the exports, with no change outside of one file."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from exporter.archive.archive import Archive
from exporter.archive.verify import verify
from exporter.cli.main import main
from exporter.clock import SystemClock
from exporter.crawl.assets.plan import AssetSettings
from exporter.crawl.backup import BackupRun
from exporter.crawl.ingest import BackupSettings
from exporter.crawl.outcome import Outcome
from exporter.errors import UsageError
from exporter.export.interface import ExportOptions
from exporter.html.links import AddressPattern
from exporter.http.engine import Engine
from exporter.library.export import copy_site, export_blog
from exporter.message import message
from exporter.model.kinds import Kind
from exporter.service.blog_v1 import BlogV1
from exporter.service.declarations import DECLARATIONS, Declaration
from exporter.service.interface import BlogService
from exporter.service.registry import SERVICE_SETTINGS
from exporter.setting_types import Setting, some_text
from exporter.settings import Settings
from tests.service.tiny import TinyService
from tests.service.tiny_server import TinyBlog, served, tiny_blog
from tests.support.pictures import png

BLOG = "tiny.example"
TINY = Declaration(
    "tiny",
    "tests.service.tiny",
    "TinyService",
    settings={"token_param": Setting(some_text, "after", message("Parameter that carries the token of a page."))},
    options=("token_param",),
    defaults={"timezone": "UTC"},
)


@pytest.fixture
async def blog() -> AsyncIterator[TinyBlog]:
    async with served(tiny_blog()) as running:
        yield running


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DECLARATIONS, TINY.name, TINY)
    for name, setting in TINY.settings.items():
        monkeypatch.setitem(SERVICE_SETTINGS, name, setting)


async def back_up(root: Path, blog: TinyBlog, service: BlogService | None = None, **given: Any) -> Outcome:
    blog.asked.clear()
    async with Engine() as engine:
        settings = BackupSettings(BLOG, blog.url, **given)
        run = BackupRun(root, service or TinyService(), engine.client(blog.url), settings, SystemClock())
        async for _ in run.events():
            pass
    return run.outcome


def records(root: Path, kind: Kind) -> dict[str, dict[str, Any]]:
    return dict(Archive.open(root).records(kind))


async def test_it_is_backed_up_completely(tmp_path: Path, blog: TinyBlog) -> None:
    root = tmp_path / "archive"
    outcome = await back_up(root, blog)
    assert (outcome.outcome, outcome.version, outcome.problems) == ("saved", 1, [])
    assert list(records(root, Kind.ENTRIES).values()) == list(records(root, Kind.ENTRY_LIST).values()) == blog.notes
    assert list(records(root, Kind.COMMENTS).values()) == blog.replies
    assert json.loads((root / "archive.json").read_bytes())["service"] == "tiny"
    assert set(blog.asked) == {"/notes", "/media", *(f"/notes/n-{number}/replies" for number in range(1, 6))}
    assert not [found for found in verify(Archive.open(root)) if found.damage]
    again = await back_up(root, blog)
    assert (again.outcome, again.version) == ("unchanged", None)


async def test_without_totals_completeness_is_not_proven(
    tmp_path: Path, blog: TinyBlog, capfd: pytest.CaptureFixture[str]
) -> None:
    completeness = (await back_up(tmp_path / "archive", blog)).completeness
    assert completeness is not None
    assert (completeness["complete"], completeness["provable"]) == (True, False)
    assert completeness["comments"]["expected"] is completeness["files"]["expected"] is None
    assert main(["rebuild", str(tmp_path / "archive"), "--quiet"]) == 0
    assert main(["status", str(tmp_path / "archive")]) == 0
    said = "".join(capfd.readouterr())
    assert "Not provable: the service states no totals to compare with." in said
    assert said.startswith("OK, but not proven complete · ")
    assert "Complete: everything asked for" not in said
    assert main(["status", str(tmp_path / "archive"), "--json"]) == 0
    assert json.loads("".join(capfd.readouterr()))["completeness"]["provable"] is False


@pytest.mark.parametrize(("size", "counted"), [(7, 7), (-7, 0), (10**50, 2**40), ("7", None)])
async def test_invalid_sizes_are_clamped_or_unknown(
    tmp_path: Path, blog: TinyBlog, size: object, counted: int | None
) -> None:
    blog.media.append({"mid": "m1", "file": "one.png", "size": size})
    completeness = (await back_up(tmp_path / "archive", blog)).completeness
    assert completeness is not None
    assert completeness["files"]["bytes_listed"] == counted


async def test_changes_and_removals_make_a_version(tmp_path: Path, blog: TinyBlog) -> None:
    root = tmp_path / "archive"
    await back_up(root, blog)
    blog.notes[1] = {**blog.notes[1], "html": "<p>Changed</p>"}
    del blog.notes[4], blog.replies[0]
    outcome = await back_up(root, blog)
    counts = {
        kind: (found.changed, found.gone) for kind, found in outcome.counts.items() if found.changed or found.gone
    }
    assert counts == {"entries": (1, 1), "entry_list": (1, 1), "comments": (0, 1)}
    assert records(root, Kind.ENTRIES)["n-2"]["html"] == "<p>Changed</p>"
    assert "r1" not in records(root, Kind.COMMENTS)


async def test_an_interrupted_run_is_resumed(tmp_path: Path, blog: TinyBlog) -> None:
    root = tmp_path / "archive"
    async with Engine() as engine:
        settings = BackupSettings(BLOG, blog.url)
        run = BackupRun(root, TinyService(), engine.client(blog.url), settings, SystemClock())
        events = run.events()
        async for _ in events:
            if len(blog.asked) > 3:
                break
        await events.aclose()
    outcome = await back_up(root, blog)
    assert (outcome.outcome, outcome.resumed_from is not None) == ("saved", True)
    assert list(records(root, Kind.COMMENTS).values()) == blog.replies


async def test_a_circular_list_ends_with_a_problem(tmp_path: Path, blog: TinyBlog) -> None:
    class Circle(TinyService):
        def _page(self, path: str, token: str) -> Any:
            call = super()._page(path, token)
            return call._replace(parse=lambda response: type(page := call.parse(response))(page.items, next="t:0"))

    outcome = await back_up(tmp_path / "archive", blog, Circle())
    assert outcome.exit_code == 3
    assert any("leads back" in problem.reason for problem in outcome.problems)


async def test_pictures_are_found_through_the_service(tmp_path: Path, blog: TinyBlog) -> None:
    blog.files["m1"] = png(1)
    blog.notes[0]["html"] = f'<img src="{blog.url}/media/m1">'
    blog.media.append({"mid": "m1", "file": "one.png", "size": len(blog.files["m1"])})
    root = tmp_path / "archive"
    pattern = AddressPattern(f"{blog.url}/media/{{mid}}", "file_url")
    assets = AssetSettings("https://tiny.example/", file_url=pattern, allow_private_network=True)
    outcome = await back_up(root, blog, assets=assets)
    assert (outcome.problems, outcome.assets is not None and outcome.assets.uploads.saved) == ([], 1)
    (asset,) = records(root, Kind.ASSETS).values()
    assert asset["refs"] == [{"entry": "n-1"}, {"file": "m1"}]


async def test_an_archive_keeps_its_service(tmp_path: Path, blog: TinyBlog) -> None:
    root = tmp_path / "archive"
    await back_up(root, blog)
    with pytest.raises(UsageError, match="is of the blog service 'tiny'"):
        await back_up(root, blog, BlogV1())


async def test_it_is_shown_and_exported(tmp_path: Path, blog: TinyBlog, capfd: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "archive"
    await back_up(root, blog)
    assert main(["show", str(root), "entry", "n-3", "--markdown"]) == 0
    assert "Text 3" in capfd.readouterr().out
    options = ExportOptions(service=TinyService())
    written: dict[str, str] = {}
    for form in ("wxr", "jsonl", "markdown"):
        export_blog(root, form, tmp_path / form, options)
        files = sorted(path for path in (tmp_path / form).rglob("*") if path.is_file())
        written[form] = "".join(path.read_text("utf-8") for path in files)
    for text in written.values():
        assert all(f"Note {number}" in text for number in range(1, 5))
        assert "Note 5" not in text
    assert written["wxr"].count("<wp:comment>") == 4
    assert "Reply 2" in written["markdown"]
    assert sum(bool(json.loads(line)) for line in written["jsonl"].splitlines()) >= 4
    copy_site(root, tmp_path / "site", Settings())
    pages = [path.read_text("utf-8") for path in (tmp_path / "site").rglob("*.html")]
    assert any("Text 5" in page for page in pages)
    assert any("Reply 4" in page for page in pages)
