"""Pages of a blog at a public address that still show a forgotten record: those that are kept, and those captured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from exporter.archive.archive import Archive
from exporter.crawl.kept_out import KeptOut
from exporter.http.engine import Engine
from exporter.library.capture import capture
from exporter.library.forget import ForgettingRequest, forget
from exporter.model.kinds import Kind
from tests.capture.running import answers
from tests.library.test_forget import places_with
from tests.library.test_public_site import BLOG, back_up, records, settings
from tests.support.public_blog import PublicBlog, posts, serving
from tests.support.runs import findings

ENTRY, TITLE = "1005", "第1005話"


@dataclass
class Margins(PublicBlog):
    """A blog with a line in the margin of every page."""

    margin: str = ""

    def framed(self, title: str, content: str, head: str = "") -> str:
        return super().framed(title, content + f'<div class="recent">{self.margin}</div>', head)


async def captured(root: Path, origin: str) -> dict[str, int]:
    wanted = settings(origin, "livedoor", allow_private_network="yes")
    async with Engine() as engine:
        made = capture(root, BLOG, wanted, engine)
        async for _ in made:
            pass
    assert made.outcome.exit_code == 0, made.outcome.problems
    return made.outcome.left_out


def forgotten(root: Path, origin: str) -> None:
    forget(Archive.open(root), settings(origin, "livedoor"), ForgettingRequest(entries=(ENTRY,)))


@pytest.mark.parametrize("margin", ["link", "text"])
async def test_a_page_of_another_entry_that_names_it_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, margin: str
) -> None:
    text = "忘れてほしい人が書いた、とても長くてほかにはない本文のはじまりです。"
    blog, root = Margins("livedoor", posts(6), dead_every=0), tmp_path / "archive"
    blog.posts[1005].text = f"<p>{text}</p>"
    async with serving(blog) as origin:
        assert (await back_up(origin, root, "livedoor")).outcome.exit_code == 0
        forgotten(root, origin)
        assert places_with([root], TITLE, text) == []
        link = f'<a href="/archives/{ENTRY}.html">{TITLE}</a>'
        blog.margin = link if margin == "link" else f"<p>最新：{text[:28]}…</p>"
        shown = TITLE if margin == "link" else text[:28]

        blog.posts[1002].text = "<p>直した本文です。</p>"
        assert (await back_up(origin, root, "livedoor", refresh="all")).outcome.version == 2
        assert records(root, Kind.ENTRIES)["1002"]
        assert places_with([root], shown) == []

        with monkeypatch.context() as earlier:
            earlier.setattr(KeptOut, "is_on", lambda *_: False)
            blog.posts[1003].text = "<p>これも直しました。</p>"
            assert (await back_up(origin, root, "livedoor", refresh="all")).outcome.version == 3
        assert places_with([root], shown) != []
        forgotten(root, origin)
        assert places_with([root], shown) == []
        assert "直しました" in str(records(root, Kind.ENTRIES)["1003"])
    assert findings(root) == []


async def test_the_pictures_of_a_forgotten_entry_leave_the_captures(tmp_path: Path) -> None:
    blog, root = Margins("livedoor", posts(6), dead_every=0), tmp_path / "archive"
    async with serving(blog) as origin:
        await back_up(origin, root, "livedoor")
        assert await captured(root, origin) == {}
        picture, other = f"{origin}/img/{ENTRY}.png", f"{origin}/img/1004.png"
        assert {picture, other} <= answers(root / "captures").keys()
        forgotten(root, origin)
        assert picture not in answers(root / "captures")
        blog.margin = f'<img src="/img/{ENTRY}.png">'
        assert (await captured(root, origin))["forgotten"] > 1
        assert picture not in answers(root / "captures")
        assert other in answers(root / "captures")
        assert places_with([root], picture, f"/{ENTRY}.", TITLE) == []
    assert findings(root) == []


async def test_a_recorded_backup_leaves_out_the_pages_that_name_it(tmp_path: Path) -> None:
    blog, root = Margins("livedoor", posts(6), dead_every=0), tmp_path / "archive"
    async with serving(blog) as origin:
        await back_up(origin, root, "livedoor", warc="yes")
        forgotten(root, origin)
        assert places_with([root / "captures"], TITLE) == []
        blog.margin = f'<a href="/archives/{ENTRY}.html">{TITLE}</a>'
        blog.posts[1002].text = "<p>直した本文です。</p>"
        run = await back_up(origin, root, "livedoor", refresh="all", warc="yes")
        assert (run.outcome.exit_code, run.outcome.version) == (0, 2)
        assert run.outcome.warc is not None
        assert run.outcome.warc["error"] is None
        assert run.outcome.warc["left_out"]["forgotten"] > 5
        assert places_with([root / "captures"], TITLE, f"/archives/{ENTRY}.html") == []
    assert findings(root) == []
