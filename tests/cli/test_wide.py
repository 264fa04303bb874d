"""Commands that show a blog with nested records: categories, tags, statuses in words, never as JSON only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from exporter.archive.archive import Archive
from exporter.cli.main import main
from exporter.export.markdown_view import MarkdownView
from exporter.fleet.catalogue_rows import TABLES, blog_rows
from exporter.serve.api import Api
from exporter.settings import Settings
from tests.support.schemas import check_json
from tests.support.wide_blog import WideService, archive, changes, comment, everyday_blog, post, registered


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with registered():
        yield everyday_blog(tmp_path_factory.mktemp("wide") / "blog").root


@pytest.fixture
def said(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command in this process; return its standard output."""
    monkeypatch.setenv("BLOG_EXPORTER_LANG", "en")

    def run(*arguments: object, code: int = 0) -> str:
        assert main([*map(str, arguments)]) == code
        return capfd.readouterr().out

    return run


def front_matter(markdown: str) -> dict[str, Any]:
    """Return the front matter of a Markdown page."""
    found: dict[str, Any] = yaml.safe_load(markdown.split("---\n")[1])
    return found


def test_diff_names_what_people_see(wide: Path, said: Any) -> None:
    lines = said("diff", wide).splitlines()
    assert lines[1:7] == [
        "~ entry p-2  お茶のいれかた（改）",
        "    Title: お茶のいれかた{+（改）+}",
        "    Visible to: [-Public-]{+Private+}",
        "    Categories: 料理{+, 旅行 › 関西 › 京都+}",
        "    Tags: [-春, お茶-]{+お茶, 湯+}",
        "    Text: <p>お茶[-のいれかたの-]{+のいれかた（改）の+}本文。</p>",
    ]
    assert "    Status: [-Waiting for approval-]{+Shown+}" in lines
    assert "{" not in "".join(lines).replace("{+", "")


def test_diff_shows_as_sent_what_no_attribute_depends_on(tmp_path: Path, said: Any) -> None:
    entry = {**post("1", "T"), "meta": {"views": 1}}
    later = {**entry, "meta": {"views": 2}, "status": "draft"}
    with registered():
        built = archive(tmp_path / "a", changes([entry]), changes([later]), changes([{**later, "meta": {"views": 3}}]))
        assert said("diff", built.root, 1, 2).splitlines()[2:4] == [
            "    Visible to: [-Public-]{+Draft+}",
            '    meta: {"views":[-1-]{+2+}}',
        ]
        assert said("diff", built.root, 2, 3).splitlines()[2] == '    meta: {"views":[-2-]{+3+}}'


def test_the_page_of_a_diff_is_in_the_same_words(wide: Path, said: Any, tmp_path: Path) -> None:
    said("diff", wide, "--html", tmp_path / "d.html")
    html = (tmp_path / "d.html").read_text("utf-8")
    assert "<h3>Visible to</h3>" in html
    assert "&quot;parents&quot;" not in html


def test_json_has_the_raw_fields(wide: Path, said: Any) -> None:
    document = json.loads(said("diff", wide, "--json"))
    names = {field["name"] for field in document["changes"][0]["fields"]}
    assert names == {"categories", "content", "status", "tags"}


def test_a_mail_address_is_not_shown_where_it_changed(tmp_path: Path, said: Any) -> None:
    first, second = (comment("c", "1", "A", "x", email=f"{name}@secret.example") for name in ("a", "b"))
    with registered():
        built = archive(tmp_path / "a", changes([post("1", "T")], [first]), changes([], [second]))
        out = said("diff", built.root)
    assert "Mail address: (not shown)" in out
    assert "secret.example" not in out


def test_show_has_the_values_first(wide: Path, said: Any) -> None:
    lines = said("show", wide, "entry", "p-1", "--raw").splitlines()
    assert "  Categories: 旅行 › 関西 › 京都, 写真" in lines[: lines.index("The record as sent:")]
    assert "  Visible to: Public" in lines
    html = said("show", wide, "entry", "p-1", "--html")
    assert '<div class="body" lang="ja"><p>朝の鴨川。' in html
    markdown = said("show", wide, "entry", "p-1", "--markdown")
    assert front_matter(markdown)["categories"] == ["京都", "写真"]


def test_inspect_counts_what_the_service_states(wide: Path, said: Any) -> None:
    printed = said("inspect", wide, "--json")
    check_json(["inspect"], printed)
    document = json.loads(printed)
    assert {"kind": "page", "audience": "draft", "count": 1, "samples": ["Contact"]} in document["entries"]
    linked = {"kind": "trackback", "status": "shown", "count": 1, "samples": ["この記事を紹介しました。"]}
    assert linked in document["comments"]
    assert "Entry  Members only  友だちへ" in said("inspect", wide)


def test_files_have_their_own_address_and_alternative_text(wide: Path, said: Any) -> None:
    printed = said("files", wide, "--json")
    check_json(["files"], printed)
    (row,) = json.loads(printed)["files"]
    assert (row["url"], row["alt"]) == ("https://blog.example.com/img/kyoto.jpg", "鴨川の朝")


@pytest.mark.parametrize(
    ("words", "field", "entry_id"),
    [("kyoto/2024", "tag", "p-1"), ("Notes", "category", "p-9"), ("Sakura", "author", "p-9"), ("二日で歩いた", "excerpt", "p-1")],
)  # fmt: skip
def test_search_finds_labels(wide: Path, said: Any, words: str, field: str, entry_id: str) -> None:
    hits = json.loads(said("search", wide, words, "--kind", "entry", "--json"))["hits"]
    assert [(hit["field"], hit["id"]) for hit in hits] == [(field, entry_id)]


def test_search_finds_the_alternative_text_of_a_file(wide: Path, said: Any) -> None:
    (hit,) = json.loads(said("search", wide, "鴨川の朝", "--json"))["hits"]
    assert (hit["kind"], hit["field"]) == ("file", "explanation")


def test_the_api_lists_labels(wide: Path, tmp_path: Path) -> None:
    with closing(Api(wide, Settings(), tmp_path)) as api:
        rows = {row["id"]: row for row in api.entries({})["entries"]}
    assert rows["p-1"]["categories"][0] == {"name": "京都", "parents": ["旅行", "関西"]}
    assert (rows["p-1"]["tags"], rows["p-1"]["author"]) == (["春", "寺", "kyoto/2024"], "みなと")
    assert (rows["page-2"]["kind"], rows["page-2"]["audience"]) == ("page", "draft")
    assert rows["p-2"]["permalink"] == "https://blog.example.com/2024/05/tea.html"


def test_the_catalogue_has_a_column_for_each_label(wide: Path) -> None:
    rows: dict[str, list[dict[str, Any]]] = {}

    def put(table: str, row: dict[str, Any]) -> None:
        assert set(row) == set(TABLES[table])
        rows.setdefault(table, []).append(row)

    blog = blog_rows(Archive.open(wide), WideService(), put)
    entries = {row["entry_id"]: row for row in rows["entries"]}
    assert entries["p-1"]["category"] == "京都"
    assert entries["p-1"]["categories"] == ["旅行 › 関西 › 京都", "写真"]
    assert (entries["p-1"]["tags"], entries["p-1"]["kind"]) == (["春", "寺", "kyoto/2024"], "post")
    assert {entry_id for entry_id, row in entries.items() if row["private"]} == {
        "p-2", "p-4", "p-5", "p-6", "p-7", "p-8", "page-2",
    }  # fmt: skip
    assert blog["private_entries"] == 7
    comments = {row["cm_id"]: row for row in rows["comments"]}
    assert (comments["t-1"]["kind"], comments["c-6"]["status"], comments["c-2"]["parent"]) == (
        "trackback",
        "spam",
        "c-1",
    )
    assert [(row["url"], row["alt"]) for row in rows["files"]] == [
        ("https://blog.example.com/img/kyoto.jpg", "鴨川の朝")
    ]


def test_markdown_has_the_labels_in_its_front_matter(wide: Path) -> None:
    state = Archive.open(wide).state()
    files = {file.path: file.render().decode() for file in MarkdownView(WideService()).files(state)}
    state.close()
    kyoto = next(text for path, text in files.items() if path.startswith("2024/05/2024-05-01"))
    front = front_matter(kyoto)
    source = front.pop("source")
    assert front == {
        "title": "京都の二日間", "date": "2024-05-01T12:00:00+09:00", "updated": "2024-05-08T20:00:00+09:00",
        "categories": ["京都", "写真"], "category_paths": [["旅行", "関西", "京都"]], "tags": ["春", "寺", "kyoto/2024"],
        "author": "みなと", "permalink": "https://blog.example.com/2024/05/kyoto.html", "excerpt": "二日で歩いた寺と川の話。",
        "kind": "post", "audience": "public", "featured": "https://blog.example.com/img/kyoto.jpg",
    }  # fmt: skip
    assert source["comments"] == 10
    drafts = {path for path, text in files.items() if "\ndraft: true\n" in text}
    assert len(drafts) == 7
    assert "](2024-05-10-" in kyoto, "a link to another entry's old address leads to its file"
    heads = [line for line in kyoto.splitlines() if line.startswith("### ")]
    assert heads[:5] == [
        "### みどり · 2024-05-02 09:30", "### 筆者 · 2024-05-02 10:15", "### みどり · 2024-05-04 09:00",
        "### kazu · 2024-05-03 08:00", "### 筆者 · 2024-05-03 09:00",
    ]  # fmt: skip
    assert "secret.example" not in "".join(files.values())


def test_markdown_lists_pages_apart(wide: Path) -> None:
    state = Archive.open(wide).state()
    files = {file.path: file.render().decode() for file in MarkdownView(WideService()).files(state)}
    state.close()
    assert len([path for path in files if path.startswith("pages/")]) == 3
    assert "このブログについて" in files["pages/index.md"]
    assert "このブログについて" not in files["2023/index.md"]
    assert "(pages/index.md) (2)" in files["index.md"]
