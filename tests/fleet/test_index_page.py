"""The index page over all sites: its text, its links, the files it replaces, and that text from blogs is escaped."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from exporter.archive.fleet_folder import archive_place
from exporter.errors import NoArchive, UsageError
from exporter.fleet import index_page
from exporter.fleet.index_page import IndexPage, make_index_page
from exporter.fleet.local_pool import LocalPool
from exporter.settings import resolve
from exporter.site.templating import POLICY
from tests.archive.builder import Built
from tests.fleet.building import build_blog, changes, entry
from tests.fleet.shelf import shelf

SETTINGS = resolve({}, environ={})
HOSTILE = "</script><img src=x onerror=alert(1)>\"'&\u2028\x1b[31m"


class Page(HTMLParser):
    """The links, scripts and text of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[tuple[str, str]] = []
        self.tags: list[str] = []
        self._link: str | None = None
        self.text = ""
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "a":
            self._link = dict(attrs).get("href")
            self.links.append((self._link or "", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._link = None

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._link is not None:
            self.links[-1] = (self._link, self.links[-1][1] + data)


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shelf(tmp_path_factory.mktemp("index") / "fleet")


@pytest.fixture
def fleet(pristine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(pristine, tmp_path / "fleet"))


def make(root: Path, language: str = "en", title: str = "", workers: int = 1) -> IndexPage:
    return make_index_page(root, SETTINGS, LocalPool(workers), language, title)


def names(root: Path) -> list[list[str]]:
    found = []
    for path in sorted((root / "fleet/names").iterdir()):
        found += json.loads(path.read_text("utf-8").removeprefix("blogNames(").removesuffix(");\n"))
    return found


def with_site(root: Path, blog_id: str) -> None:
    site = archive_place(root, blog_id) / "latest/site"
    site.mkdir(parents=True, exist_ok=True)
    (site / "index.html").write_text("the site")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_small_fleet_is_one_page(fleet: Path, workers: int) -> None:
    with_site(fleet, "aki.example.jp")
    result = make(fleet, workers=workers)
    assert (result.counts.blogs, result.counts.entries, result.counts.read, result.pages, result.counts.trouble) == (
        3,
        4,
        3,
        1,
        [],
    )
    page = Page(fleet / "index.html")
    to_aki = f"{archive_place(Path(), 'aki.example.jp').as_posix()}/latest/site/index.html"
    assert (to_aki, "秋の日記") in page.links
    assert (fleet / to_aki).read_text() == "the site"
    assert "Blogs: 3 · Entries: 4" in page.text
    for part in ("fuyu.example.jp", "2019–2020", "Entries: 2", "no pages to read"):
        assert part in page.text
    assert POLICY in (fleet / "index.html").read_text("utf-8").replace("&#39;", "'")
    for name in ("site.css", "theme.js", "fleet.js", "folding.js", "folds.js", "icon.svg"):
        assert (fleet / "fleet/static" / name).is_file()
    assert (fleet / "fleet/names/000001.js").is_file()


def test_it_speaks_both_languages_and_has_a_title(fleet: Path) -> None:
    make(fleet, "ja")
    assert "保存したブログの一覧" in Page(fleet / "index.html").text
    make(fleet, "en", "Blogs of <b>Japan</b>")
    page = Page(fleet / "index.html")
    assert "Blogs of <b>Japan</b>" in page.text
    assert "b" not in page.tags


def test_many_pages_lead_to_each_other_and_to_every_blog(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        build_blog(fleet, f"blog{number}.example.jp", [entry(1)])
    for module_name, value in {"ON_PAGE": 3, "IN_PART": 4, "_MAX_BLOGS_BY_ONE_LETTER": 2}.items():
        monkeypatch.setattr(index_page, module_name, value)
    result = make(fleet)
    assert (result.counts.blogs, result.pages) == (8, 3)
    home = Page(fleet / "index.html")
    letters = [(text, target) for target, text in home.links if target.startswith("fleet/pages/")]
    assert letters == [
        ("bl", "fleet/pages/000001.html"),
        ("fu", "fleet/pages/000002.html"),
        ("ha", "fleet/pages/000003.html"),
        ("秋の", "fleet/pages/000003.html"),
        ("All blogs", "fleet/pages/000001.html"),
    ]
    seen: list[str] = []
    for number in (1, 2, 3):
        page = Page(fleet / f"fleet/pages/{number:06d}.html")
        targets = [target for target, _ in page.links]
        assert ("../../index.html" in targets, f"{number - 1:06d}.html" in targets, f"{number + 1:06d}.html" in targets) == (
            True, number > 1, number < 3,
        )  # fmt: skip
        seen += re.findall(r"\w+\.example\.\w+", page.text)
    assert len(set(seen)) == 8
    assert [len(json.loads(path.read_text("utf-8")[10:-3])) for path in sorted((fleet / "fleet/names").iterdir())] == [
        4,
        4,
    ]


def test_names_can_be_searched(fleet: Path) -> None:
    make(fleet)
    rows = {row[2]: row for row in names(fleet)}
    assert rows["aki.example.jp"][:2] == ["秋の日記 aki.example.jp", "秋の日記"]
    assert rows["aki.example.jp"][3] == ""


def test_names_of_blogs_are_escaped(fleet: Path) -> None:
    place = archive_place(fleet, "fuyu.example.jp")
    (place / "settings.toml").write_text(f"site_title = {json.dumps(HOSTILE)}\n", "utf-8")
    with_site(fleet, "fuyu.example.jp")
    make(fleet)
    for path in (fleet / "index.html", fleet / "fleet/pages/000001.html"):
        page = Page(path)
        assert "img" not in page.tags
        assert page.tags.count("script") == 3
        (target,) = [target for target, text in page.links if "onerror" in text]
        assert unquote(target).endswith("/fuyu.example.jp/latest/site/index.html")
        assert "\x1b" not in path.read_text("utf-8")
    script = (fleet / "fleet/names/000001.js").read_text("utf-8")
    assert "<" not in script
    assert "\u2028" not in script


def test_only_changed_archives_are_opened_and_a_new_site_is_found(fleet: Path) -> None:
    assert make(fleet).counts.read == 3
    assert make(fleet).counts.read == 0
    with_site(fleet, "haru.example.com")
    assert make(fleet).counts.read == 0
    assert "haru.example.com/latest/site" in (fleet / "index.html").read_text("utf-8")
    Built.reopen(archive_place(fleet, "fuyu.example.jp")).commit(changes(entries={"2": entry(2)}))
    result = make(fleet)
    assert (result.counts.read, result.counts.entries) == (1, 5)
    shutil.rmtree(archive_place(fleet, "fuyu.example.jp"))
    assert make(fleet).counts.blogs == 2


def test_a_damaged_archive_is_shown_as_such(fleet: Path) -> None:
    make(fleet)
    place = archive_place(fleet, "aki.example.jp")
    shutil.rmtree(place / "latest")
    (place / "versions/000001/entries.jsonl").write_bytes(b"{")
    (place / "runs.jsonl").write_bytes((place / "runs.jsonl").read_bytes() + b"\n")
    (archive_place(fleet, "fuyu.example.jp").parent / "no blog").mkdir()
    result = make(fleet)
    assert (result.counts.blogs, len(result.counts.trouble)) == (3, 2)
    assert "damaged" in Page(fleet / "index.html").text
    shutil.rmtree(fleet / ".fleet")
    make(fleet)
    page = Page(fleet / "index.html")
    assert "damaged" in page.text
    assert "秋の日記" not in page.text


@pytest.mark.parametrize("linked", ["latest", "latest/site"])
def test_an_archive_with_a_link_is_named_and_the_others_are_shown(fleet: Path, tmp_path: Path, linked: str) -> None:
    place = archive_place(fleet, "aki.example.jp")
    (place / "latest" / "site").mkdir(parents=True, exist_ok=True)
    (place / linked).rename(tmp_path / "elsewhere")
    (place / linked).symlink_to(tmp_path / "elsewhere")
    result = make(fleet)
    (trouble,) = result.counts.trouble
    assert "/aki.example.jp" in str(trouble)
    assert f"{linked} is a link, and links inside an archive are not followed" in str(trouble)


def test_forged_cards_are_made_again(fleet: Path) -> None:
    make(fleet)
    for path in (fleet / ".fleet/cards").iterdir():
        path.write_text('["1 x", "../../etc", 5]\n[1]\nnot json\n')
    assert make(fleet).counts.read == 3
    for path in (fleet / ".fleet/cards").iterdir():
        path.write_text(json.dumps(["m", "b", "a", "t", "many", "", "", "saved", True]) + "\n")
    assert (make(fleet).counts.read, "秋の日記" in Page(fleet / "index.html").text) == (3, True)


@pytest.mark.parametrize("what", ["file", "link", "folder", "folder link"])
def test_files_of_other_programs_are_not_replaced(fleet: Path, what: str, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    if what == "file":
        (fleet / "index.html").write_text("my own page")
    elif what == "link":
        mine.write_bytes(b'<meta name="generator" content="blog-exporter">')
        (fleet / "index.html").symlink_to(mine)
    elif what == "folder":
        (fleet / "fleet").mkdir()
        (fleet / "fleet/mine").write_text("my own")
    else:
        mine.mkdir()
        (fleet / "fleet").symlink_to(mine)
    with pytest.raises(UsageError, match="did not write it"):
        make(fleet)


def test_no_archives(tmp_path: Path) -> None:
    with pytest.raises(NoArchive):
        make(tmp_path)
