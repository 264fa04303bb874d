"""Exported pages: opening them runs no script and sends no request, for any text and upload of a stranger."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from exporter.model.kinds import Kind
from tests.archive.builder import Built, record
from tests.html.payloads import PAYLOADS
from tests.site.browser.hostile import BEACON, REACHING
from tests.site.browser.tabs import ChromiumTab, Tab, told
from tests.site.browser.test_payloads import TOUCH, WITNESS
from tests.site.browser.trap import Trap
from tests.site.building import of_records, stored
from tests.support.pictures import png
from tests.support.runs import Runs

pytestmark = pytest.mark.browser

SVG = f"<svg xmlns='http://www.w3.org/2000/svg' onload='parent.pwned=1'><image href='{BEACON}/s'/><script>pwned=1</script></svg>"
PAGE = f"<script>top.pwned=1;fetch('{BEACON}/p')</script><img src={BEACON}/q>"
FILES = "https://files.example"
UPLOADS = {
    "a.svg": (SVG.encode(), "image/svg+xml"),
    "b.html": (PAGE.encode(), "text/html"),
    "c.png": (png(1, 64, 48), "image/png"),
    "d.pdf": (b"%PDF-1.4\n%%EOF\n", "application/pdf"),
}
EMBEDDING = [
    f"<img src={FILES}/{name}><a href={FILES}/{name}>x</a><iframe src={FILES}/{name}></iframe><object data={FILES}/{name}></object>"
    f"<embed src={FILES}/{name}><video poster={FILES}/{name} src={FILES}/{name} autoplay></video><input type=image src={FILES}/{name}>"
    for name in UPLOADS
]


@pytest.fixture(scope="session")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A blog with only public and hostile entries."""
    root = tmp_path_factory.mktemp("leaving") / "archive"
    bodies = [*EMBEDDING, *REACHING, *PAYLOADS]
    dated = {"year": "2016", "mon": "01", "day": "02", "hour": "08", "min": "00", "sec": "00"}
    built = of_records(
        root,
        {
            Kind.ENTRIES: {
                str(at): record(entry_id=str(at), title=body, entry_text=body, ps_title=body, ps_text=body, open_flg="1",
                                is_private="f", period_flg="f", **dated)
                for at, body in enumerate(bodies, 1)
            },
            Kind.COMMENTS: {
                str(at): record(cm_id=str(at), entry_id=str(at), name=body, title=body, cm_text=body, delete_flg="f",
                                url_text=f"{BEACON}/{at}", regist_date="2016/02/03")
                for at, body in enumerate(bodies, 1)
            },
        },
    )  # fmt: skip
    shown = [{"entry": str(at)} for at in range(1, len(EMBEDDING) + 1)]
    assets = {
        f"{FILES}/{name}": record(**stored(root, f"{FILES}/{name}", body, refs=shown, content_type=kind).data())
        for name, (body, kind) in UPLOADS.items()
    }
    built.commit({Kind.ASSETS: assets, Kind.ENTRIES: {"7": record(entry_id="7", title="題", entry_text=PAYLOADS[0])}})
    return built


@pytest.fixture
def watched(tab: Tab) -> Tab:
    """A tab that reports when a page sets ``pwned``."""
    tab.before_pages(WITNESS)
    return tab


def program(runs: Runs, *arguments: object) -> str:
    done = runs.run(*arguments)
    assert done.code == 0, done.err
    return done.out


def looked_at(tab: Tab, trap: Trap, page: Path) -> list[str]:
    """Open a page, touch everything in it, and return all scripts that ran and all requests."""
    tab.said.clear()
    tab.requests.clear()
    tab.goto(page.as_uri())
    tab.evaluate(TOUCH)
    others = [url for url in tab.requests if url != page.as_uri() and not url.startswith("data:")]
    return [*told(tab, page.parent, trap), *others]


def test_the_single_page(runs: Runs, watched: Tab, trap: Trap, opened: Built, tmp_path: Path) -> None:
    out = tmp_path / "out"
    program(runs, "export", "html", opened.root, out, "--public-open-flg", "1", "--visible-delete-flg", "f", "-q")
    page = out / "book-public.html"
    assert looked_at(watched, trap, page) == []
    assert watched.evaluate("document.images.length") >= 3
    assert watched.evaluate("[...document.images].every((each) => each.src.startsWith('data:image/png;'))")
    assert not watched.evaluate(
        "[...document.links].some((each) => each.href.startsWith('data:') || each.getAttribute('href').startsWith('//'))"
    )
    suffixes = {path.suffix for path in out.rglob("*") if path.is_file()}
    assert suffixes == {".html", ".png", ".pdf"}
    assert len(list(out.rglob("*.html"))) == 1
    report = json.loads((tmp_path / "out.report.json").read_bytes())
    left = {each for row in report["by_address"] for each in row["ids"]}
    assert {f"{FILES}/a.svg", f"{FILES}/b.html"} <= left


def test_the_chapters_of_the_book(runs: Runs, watched: Tab, trap: Trap, opened: Built, tmp_path: Path) -> None:
    program(
        runs,
        "export",
        "epub",
        opened.root,
        tmp_path / "out",
        "--public-open-flg",
        "1",
        "--visible-delete-flg",
        "f",
        "-q",
    )
    with zipfile.ZipFile(tmp_path / "out" / "book-public.epub") as book:
        book.extractall(tmp_path / "book")
        assert b"remote-resources" not in book.read("EPUB/package.opf")
    chapters = sorted((tmp_path / "book" / "EPUB").glob("*.xhtml"))
    assert len(chapters) > len(PAYLOADS)
    # Firefox takes much longer for a page; test_payloads tries each payload in both.
    for chapter in chapters[:: 1 if isinstance(watched, ChromiumTab) else 4]:
        watched.goto(chapter.as_uri())
        watched.evaluate(TOUCH)
    assert told(watched, tmp_path / "book", trap) == []


def test_a_record_as_a_page(runs: Runs, watched: Tab, trap: Trap, opened: Built, tmp_path: Path) -> None:
    page = tmp_path / "record.html"
    for number in range(1, len(EMBEDDING) + len(REACHING) + 20, 3):
        for kind in ("entry", "comment"):
            page.write_text(program(runs, "show", opened.root, kind, number, "--html"), "utf-8")
            assert looked_at(watched, trap, page) == []


def test_changes_as_a_page(runs: Runs, watched: Tab, trap: Trap, opened: Built, tmp_path: Path) -> None:
    page = tmp_path / "changes.html"
    program(runs, "diff", opened.root, "--html", page, "-q")
    assert looked_at(watched, trap, page) == []
