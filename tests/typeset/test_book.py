"""A book as it is set: its text in order, its fonts, its pages, the same bytes again, and nothing fetched."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from types import ModuleType

import pytest

from exporter.errors import UsageError
from exporter.export.folder import write_export
from exporter.export.formats import FORMATS
from exporter.export.interface import ExportOptions, Paper
from exporter.export.report import Report
from exporter.typeset import press, setting
from exporter.typeset.fonts import may_embed
from tests.export.memory import SAID, Memory


def book(blog: Memory, folder: Path, **options: object) -> tuple[Path, Report]:
    """Set a blog as a book."""
    blog.write_pictures(folder / "archive")
    report = Report()
    chosen = ExportOptions(declared=SAID, as_of=datetime(2024, 5, 1, tzinfo=UTC), **options)  # type: ignore[arg-type]
    write_export(FORMATS["pdf"].files(blog, chosen, report), folder / "archive", folder / "out")
    return folder / "out" / "book-public.pdf", report


def run(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def small_blog() -> Memory:
    blog = Memory()
    url = "https://files.example.jp/umi.png"
    blog.picture(url, entry_id="2")
    note = '<p>文<a href="#fn1" id="fnref1">*1</a></p><p id="fn1"><a href="#fnref1">*1</a>:脚注の文</p>'
    blog.entry("1", title="潮のはなし", entry_text=f"<p>{'海のそばの町で暮らす。' * 20}</p>{note}")
    blog.entry("2", title="次の日", entry_text=f'<p>波<img src="{url}" alt="海">\U00012000</p>')
    blog.comment("8", "2", cm_text="コメントの文")
    return blog


@pytest.mark.importers
def test_a_book(tmp_path: Path) -> None:
    made, report = book(small_blog(), tmp_path)
    text = re.sub(r"\s", "", run("pdftotext", "-raw", made, "-"))
    text = text.partition("目次")[2]
    order = ["2024年", "潮のはなし", "海のそばの町で暮らす。", "波", "コメントの文", "https://umi.blog.example.jp/"]
    places = [text.find(each) for each in order]
    assert places == sorted(places)
    assert -1 not in places
    assert "〓" in text
    assert "no installed font has them" in str(report.document()["changed"])
    fonts = [line.split() for line in run("pdffonts", made).splitlines()[2:]]
    assert fonts
    assert all("yes yes" in " ".join(line) for line in fonts)
    # The sixth line would begin with a full stop, so the fifth has a letter less, and ends at the margin too.
    lines = [(right, len(line)) for _, _, right, _, line in _words(made) if set(line) <= set("海のそばの町で暮らす。")]
    assert {34, 35} <= {length for _, length in lines}
    ends = [right for right, length in lines if length > 30]
    assert max(ends) - min(ends) < 0.5
    pages = run("pdftotext", made, "-").split("\f")
    assert [page for page in pages if re.fullmatch(r"\s*[ivx0-9]+\s*", page)] == []  # no number on an empty page
    facts = dict(line.split(":", 1) for line in run("pdfinfo", made).splitlines())
    assert "419.528 x 595.276" in facts["Page size"]
    assert "CreationDate" not in facts
    again, _ = book(small_blog(), tmp_path / "again")
    assert again.read_bytes() == made.read_bytes()


@pytest.fixture(params=["stand-in", pytest.param("real", marks=pytest.mark.importers)])
def _library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """WeasyPrint, which needs native libraries, or what the fetcher uses of it."""
    if request.param == "stand-in":
        urls = ModuleType("weasyprint.urls")
        vars(urls).update(URLFetcher=object, URLFetcherResponse=lambda _, content: BytesIO(content))
        monkeypatch.setitem(sys.modules, "weasyprint", ModuleType("weasyprint"))
        monkeypatch.setitem(sys.modules, "weasyprint.urls", urls)


@pytest.mark.usefixtures("_library")
def test_only_pictures_of_the_book_are_served(tmp_path: Path) -> None:
    (tmp_path / "media").mkdir()
    (tmp_path / "media" / "a.png").write_bytes(b"x")
    fetcher = setting._fetcher(tmp_path)
    assert fetcher.fetch("file:///book/media/a.png").read() == b"x"
    for url in (
        "https://example.jp/", "http://127.0.0.1/", "file:///etc/passwd", "file:///book/media/../style.css",
        "file:///book/style.css", "ftp://example.jp/", "data:text/plain,x", "book:a.png",
    ):  # fmt: skip
        with pytest.raises(ValueError, match="refused"):
            fetcher.fetch(url)


@pytest.mark.parametrize(
    ("rights", "allowed"), [(0, True), (2, False), (4, True), (8, True), (0x100, False), (0x200, False)]
)
def test_a_font_is_embedded_only_if_it_permits_that(rights: int, allowed: bool) -> None:
    assert may_embed(rights) is allowed


@pytest.mark.parametrize(
    ("name", "words"),
    [("library", "pip install"), ("native", "apt install"), ("fonts", "noto-cjk"), ("licence", "licence")],
)
def test_each_failure_says_what_to_install(name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        press.Press._checked((name, "X", {}))


def test_without_the_extra_one_line_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "weasyprint", None)
    assert setting.check()[0] == "library"


@pytest.mark.importers
def test_a_vertical_book(tmp_path: Path) -> None:
    blog = Memory()
    blog.entry("1", title="縦のはなし", entry_text="<p>「海」のそばで、12年暮らす。ABC</p>")
    made, _ = book(blog, tmp_path, vertical=True, paper=Paper.B6)
    facts = dict(line.split(":", 1) for line in run("pdfinfo", "-rawdates", made).splitlines())
    assert facts["Page rot"].strip() == "90"
    assert "515.906 x 362.835" in facts["Page size"]
    fonts = run("pdffonts", made)
    assert "Upright" in fonts
    text = re.sub(r"\s", "", run("pdftotext", "-raw", made, "-"))
    assert "「海」のそばで、12年暮らす。ABC" in text
    columns = [word for word in _words(made) if word[4] in {"海", "そ", "暮", "年"} or "海" in word[4]]
    assert columns
    assert all(bottom - top > right - left for left, top, right, bottom, _ in columns)


def _words(made: Path) -> list[tuple[float, float, float, float, str]]:
    """Return the boxes of the words on the pages as shown: left, top, right, bottom, and the text."""
    found = re.findall(
        r'<word xMin="([\d.-]+)" yMin="([\d.-]+)" xMax="([\d.-]+)" yMax="([\d.-]+)">([^<]*)',
        run("pdftotext", "-bbox", made, "-"),
    )
    return [(float(a), float(b), float(c), float(d), text) for a, b, c, d, text in found]
