"""Formats for archiving and reading: EPUBCheck and a browser open the books, and the bag is valid."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest

from exporter.archive.archive import Archive
from exporter.export.interface import Side
from exporter.model.kinds import Kind
from tests.importers.blogs import BLOGS, bare, blog, shown
from tests.importers.conftest import ROOT, Tool
from tests.importers.ledger import Count, Ledger

both_blogs = pytest.mark.parametrize("name", BLOGS)
CHAPTER = re.compile(r"\.xhtml$")


@both_blogs
@pytest.mark.parametrize("vertical", [False, True], ids=["horizontal", "vertical"])
def test_epubcheck(tool: Tool, ledger: Ledger, tmp_path: Path, name: str, vertical: bool) -> None:
    with blog(name, tmp_path / "archive") as moved:
        report = moved.export("epub", tmp_path / "out", vertical=vertical)
        book = tmp_path / "out" / "book-public.epub"
        tool("java", "-jar", tool.path("epubcheck"), book, "--json", tmp_path / "said.json", "--quiet")
        said = json.loads((tmp_path / "said.json").read_text(encoding="utf-8"))
        assert [each for each in said["messages"] if each["severity"] in {"FATAL", "ERROR", "WARNING"}] == []
        with zipfile.ZipFile(book) as packed:
            pages = {each: packed.read(each).decode() for each in packed.namelist() if CHAPTER.search(each)}
            names = {each.rpartition("/")[2] for each in packed.namelist()}
        text = "".join(map(shown, pages.values()))
        assert moved.titles_missing(text) == []
        whole = "".join(pages.values())
        count = Count(
            posts=len(re.findall(r'<(?:article|section|body)[^>]*epub:type="chapter"', whole)),
            comments=moved.comments_in(text),
            categories=len({post.category for post in moved.posts() if shown(post.category) in text}),
            pictures=len({each for each in moved.pictures() & names if each in whole}),
        )
        form = "epub, vertical" if vertical else "epub"
        ledger.enter(form, "EPUBCheck", name, moved.count(), count, report, tool.seconds)


@both_blogs
@pytest.mark.parametrize("vertical", [False, True], ids=["horizontal", "vertical"])
def test_a_pdf(tool: Tool, ledger: Ledger, tmp_path: Path, name: str, vertical: bool) -> None:
    with blog(name, tmp_path / "archive") as moved:
        report = moved.export("pdf", tmp_path / "out", vertical=vertical)
        book = tmp_path / "out" / "book-public.pdf"
        assert "No syntax or stream encoding errors found" in tool("qpdf", "--check", book)
        # A row ends with the two numbers of an object; Poppler also warns of letters with very many marks.
        fonts = [line for line in tool("pdffonts", book).splitlines() if re.search(r" [0-9]+ +0$", line)]
        assert fonts
        # Before these are, from the right: Unicode, subset, embedded.
        assert [line for line in fonts if line.split()[-5] != "yes"] == []
        # Only the lines: running heads and page numbers are in the margins, and would part the texts.
        margins = (
            ("-x", "54", "-y", "0", "-W", "312", "-H", "600")
            if vertical
            else ("-x", "0", "-y", "62", "-W", "420", "-H", "462")
        )
        text = "".join(tool("pdftotext", "-raw", *margins, book, "-").split())
        assert moved.titles_missing(text) == []
        shown_pictures = {
            line.split()[10] for line in tool("pdfimages", "-list", book).splitlines()[2:] if " image " in line
        }
        count = Count(
            posts=len(moved.posts()),
            comments=moved.comments_in(text),
            categories=len({post.category for post in moved.posts() if bare(post.category) in bare(text)}),
            pictures=len(shown_pictures),
        )
        ledger.enter(
            "pdf, vertical" if vertical else "pdf", "qpdf, pdftotext", name, moved.count(), count, report, tool.seconds
        )


@both_blogs
def test_a_browser_opens_and_prints_the_page(tool: Tool, ledger: Ledger, tmp_path: Path, name: str) -> None:
    with blog(name, tmp_path / "archive") as moved:
        report = moved.export("html", tmp_path / "out")
        page = tmp_path / "out" / "book-public.html"
        browser = ("chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'user'}")
        tool(*browser, "--dump-dom", page.as_uri(), into=tmp_path / "dom.html", cwd=tmp_path)
        tool(*browser, f"--print-to-pdf={tmp_path / 'book.pdf'}", page.as_uri(), cwd=tmp_path)
        assert (tmp_path / "book.pdf").read_bytes().startswith(b"%PDF")
        dom = (tmp_path / "dom.html").read_text(encoding="utf-8")
        text = shown(dom)
        bodies = "".join(post.record.body + post.record.more for post in moved.posts())
        pictures = [url for url in re.findall(r'src="(data:image/[^"]+)"', dom) if url not in bodies]
        pictures += {
            link for link in re.findall(r'href="(assets/[^"]+\.mp[34])"', dom) if (page.parent / link).is_file()
        }
        assert moved.titles_missing(text) == []
        count = Count(
            posts=len(re.findall(r"<article\b", dom)),
            comments=moved.comments_in(text),
            categories=len({post.category for post in moved.posts() if shown(post.category) in text}),
            # The hostile blog's pictures all have the same bytes, and each appears once.
            pictures=len(pictures if name == "hostile" else set(pictures)),
        )
        ledger.enter("html", "Chromium", name, moved.count(), count, report, tool.seconds)


def test_bagit(tool: Tool, ledger: Ledger, tmp_path: Path) -> None:
    with blog("demo", tmp_path / "archive") as moved:
        report = moved.export("bagit", tmp_path / "out", side=Side.REST)
        assert "is valid" in tool("bagit.py", "--validate", tmp_path / "out")
        state = Archive.open(tmp_path / "out" / "data").state()
        found = Count(len(state.ids(Kind.ENTRY_LIST)), len(state.ids(Kind.COMMENTS)), None, None)
        state.close()
        state = Archive.open(ROOT / "sample_output").state()
        given = Count(len(state.ids(Kind.ENTRY_LIST)), len(state.ids(Kind.COMMENTS)), None, None)
        state.close()
        ledger.enter("bagit", "bagit.py, and the archive in the bag", "demo", given, found, report, tool.seconds)


def test_a_damaged_bag_is_not_valid(tool: Tool, tmp_path: Path) -> None:
    with blog("demo", tmp_path / "archive") as moved:
        moved.export("bagit", tmp_path / "out", side=Side.REST)
    victim = next((tmp_path / "out" / "data" / "versions").rglob("entries.jsonl"))
    victim.write_bytes(victim.read_bytes() + b"\n")
    with pytest.raises(AssertionError, match=r"bagit\.py failed"):
        tool("bagit.py", "--validate", tmp_path / "out")
