"""The site contains every page in both languages, and each link and anchor leads to a page of the site."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest

JAPANESE = re.compile("[\u3040-\u30ff]")
IN_BOTH = (
    *("index", "install", "getting-started", "closing", "reading-without-the-tool", "backing-up", "check", "schedule"),
    *("notifications", "site", "serve", "export", "move", "compare", "encrypted-copies", "settings", "exit-codes"),
)


class Page(HTMLParser):
    """The links and anchors in a built page, and the addresses it loads automatically."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag != "a":
            self.loads += [given[name] for name in ("href", "src") if name in given]


@pytest.fixture(scope="module")
def pages(built: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(built.rglob("*.html")) if path.name != "404.html"}


@pytest.mark.thorough
def test_every_page_is_in_the_navigation_once_and_is_built(builder: ModuleType, built: Path) -> None:
    named = builder.in_navigation()
    assert sorted(named) == sorted(builder.pages())
    for folder in (built, built / "ja"):
        assert {path.stem for path in folder.glob("*.html")} == {*named, "404"}


def test_every_link_and_anchor_leads_somewhere(pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme in {"http", "https", "mailto"}:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file() or (
                parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors
            ):
                broken.append((path.name, link))
    assert broken == []
    assert sum(len(page.links) for page in pages.values()) > 1000


def test_nothing_is_loaded_from_another_host(pages: dict[Path, Page]) -> None:
    assert [link for page in pages.values() for link in page.loads if urlsplit(link).netloc] == []


@pytest.mark.parametrize("name", IN_BOTH)
def test_the_everyday_pages_are_in_japanese(builder: ModuleType, built: Path, name: str) -> None:
    path, text = builder.source(name, "ja")
    assert path.name == f"{name}.ja.md"
    assert len(JAPANESE.findall(text)) > 200
    assert text.count("\n## ") == builder.source(name, "en")[1].count("\n## ")
    assert "英語のページです" not in (built / "ja" / f"{name}.html").read_text("utf-8")


def test_the_others_say_that_they_are_english(built: Path) -> None:
    assert "英語のページです" in (built / "ja" / "library.html").read_text("utf-8")


def test_a_broken_link_ends_the_build(builder: ModuleType) -> None:
    with pytest.raises(builder.BrokenLinkError, match=r"docs/index\.md: nowhere\.md"):
        builder.adapted(builder.HERE / "index.md", "See [this](nowhere.md).")


def test_links_are_those_of_the_built_pages(builder: ModuleType) -> None:
    here = builder.HERE / "index.md"
    adapted = {
        "[a](../exporter/archive/FORMAT.md#damage)": "[a](format.md#damage)",
        "[a](closing.ja.md)": "[a](closing.md)",
        "[`b`](../exporter/errors.py)": "`b`",
        "![c](demo.svg)": "![c](demo.svg)",
        "[d](https://a.example/x)": "[d](https://a.example/x)",
        "    [e](nowhere.md)\n": "    [e](nowhere.md)\n",
        "```\n[f](nowhere.md)\n```\n": "```\n[f](nowhere.md)\n```\n",
    }
    assert {text: builder.adapted(here, text) for text in adapted} == adapted


def test_a_link_between_the_files_of_a_page_changes_the_language(builder: ModuleType) -> None:
    english, japanese = (builder.HERE / name for name in ("check.md", "check.ja.md"))
    assert builder.adapted(english, "[日本語](check.ja.md)") == "[日本語](ja/check.html)"
    assert builder.adapted(japanese, "[English](check.md#findings)", "ja") == "[English](../check.html#findings)"


def test_japanese_paragraphs_have_no_spaces_at_the_ends_of_lines(builder: ModuleType) -> None:
    unchanged = "# 題名\n記事を読みます。\n\n- 記事。\n- 画像。\n1. 一つ。\n2. 二つ。\n\n| 表 |\n|---|\n\n```\nlog   （一覧）\nlog\n```\n"
    assert builder.joined(unchanged) == unchanged
    wrapped = "- 記事を\n  読みます。\n  `log` で\n  DIR を見ます。English\n  words\n"
    assert builder.joined(wrapped) == "- 記事を読みます。`log` で\n  DIR を見ます。English\n  words\n"


@pytest.mark.parametrize("name", ["README.md", "README.ja.md"])
def test_readme_is_one_screen(builder: ModuleType, name: str) -> None:
    assert len((builder.ROOT / name).read_text("utf-8").splitlines()) <= 60


def test_the_first_pages_begin_with_the_service_that_closes(builder: ModuleType) -> None:
    for name in ("docs/index.md", "docs/index.ja.md", "README.ja.md"):
        before, found, _ = (builder.ROOT / name).read_text("utf-8").partition("closing.")
        assert found, name
        assert "\n## " not in before, name
        assert "| " not in before, name
