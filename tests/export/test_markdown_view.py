from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

from exporter.export.interface import RecordSource
from exporter.export.markdown_view import MarkdownView
from exporter.lossless_json import canonical
from exporter.model.kinds import Kind, sort_key
from exporter.service.registry import DEFAULT_SERVICE
from tests.html.reading import read_markdown
from tests.html.records import comment, entry, item


class Records:
    """A record source over plain lists."""

    blog_id = "umi.blog.example.jp"
    names: Mapping[str, str] = MappingProxyType({})

    def __init__(self, **kinds: list[dict[str, Any]]) -> None:
        self.loads = 0
        self._records = {
            kind: dict(
                sorted(
                    ((str(raw.get("url") or DEFAULT_SERVICE.key(kind, raw)), raw) for raw in kinds.get(kind.value, [])),
                    key=lambda pair: sort_key(pair[0]),
                )
            )
            for kind in Kind
        }

    def ids(self, kind: Kind) -> Sequence[str]:
        return list(self._records[kind])

    def identity(self, kind: Kind, record_id: str) -> bytes | None:
        raw = self._records[kind].get(record_id)
        return None if raw is None else sha256(canonical(raw)).digest()

    def load(self, kind: Kind, record_id: str) -> dict[str, Any] | None:
        self.loads += 1
        return self._records[kind].get(record_id)

    def scan(self, kind: Kind) -> Iterator[tuple[str, dict[str, Any]]]:
        yield from self._records[kind].items()


def written(records: RecordSource) -> dict[str, str]:
    view = MarkdownView()
    assert view.name == "markdown"
    files = list(view.files(records))
    assert len({file.path.casefold() for file in files}) == len(files)
    return {file.path: file.render().decode() for file in files}


def fingerprints(records: RecordSource) -> dict[str, bytes]:
    return {file.path: file.fingerprint for file in MarkdownView().files(records)}


def test_an_empty_blog() -> None:
    assert written(Records()) == {"index.md": "# umi.blog.example.jp\n\n記事 0 件\n\n"}


def test_pages_and_indexes() -> None:
    files = written(
        Records(
            entries=[
                entry(entry_id="2", title="[春] の (海)", mon="04"),
                entry(entry_id="1"),
                entry(entry_id="3", year="2023", title=""),
                entry(entry_id="4", year="0000", title="いつか"),
            ],
            entry_list=[
                item(entry_id="1"),
                item(entry_id="9", title="読めない*記事*"),
                item(entry_id="10", regist_date=""),
            ],
            comments=[
                comment(cm_id="2", entry_id="1", cm_text="二"),
                comment(cm_id="1", entry_id=1, cm_text="一"),
                comment(cm_id="3", entry_id="77"),
            ],
        )
    )
    assert list(files) == [
        "2024/03/2024-03-05-海の日-1.md",
        "2024/04/2024-04-05-春-の-海-2.md",
        "2023/03/2023-03-05-3.md",
        "undated/いつか-4.md",
        "2023/index.md",
        "2024/index.md",
        "undated/index.md",
        "orphan-comments.md",
        "index.md",
    ]
    assert files["2024/03/2024-03-05-海の日-1.md"].index("> 一") < files["2024/03/2024-03-05-海の日-1.md"].index("> 二")
    assert 'category: "日記"' in files["2024/03/2024-03-05-海の日-1.md"]
    assert files["2024/index.md"] == (
        "# 2024年\n\n## 2024-03\n\n- 2024-03-05 [海の日](03/2024-03-05-海の日-1.md)\n\n"
        "## 2024-04\n\n- 2024-04-05 [\\[春\\] の (海)](04/2024-04-05-春-の-海-2.md)\n"
    )
    assert files["undated/index.md"] == "# 日付のない記事\n\n- [いつか](いつか-4.md)\n"
    assert files["index.md"] == (
        "# umi.blog.example.jp\n\n記事 4 件\n\n- [2023年](2023/index.md) (1)\n- [2024年](2024/index.md) (2)\n"
        "- [日付のない記事](undated/index.md) (1)\n\n[コメントだけが残っているもの](orphan-comments.md) (1)\n\n"
        "## 一覧にあるのに読めなかった記事 (2)\n\n- 2024-03-05 読めない\\*記事\\* (entry_id 9)\n- 海の日 (entry_id 10)\n"
    )
    assert "いいですね" in files["orphan-comments.md"]


def test_links_lead_to_the_files() -> None:
    files = written(
        Records(entries=[entry(entry_id=str(number), title=f"題 #{number} 100% (a)") for number in range(3)])
    )
    links = [unquote(link) for link in read_markdown(files["2024/index.md"]).links]
    assert [f"2024/{link}" for link in links] == [path for path in files if "index" not in path]


def test_a_fingerprint_depends_only_on_the_entry_its_item_and_its_comments() -> None:
    path = "2024/03/2024-03-05-海の日-42.md"
    other = entry(entry_id="43")
    before = fingerprints(Records(entries=[entry(), other], entry_list=[item()], comments=[comment()]))
    for changed in (
        Records(entries=[entry(entry_text="新"), other], entry_list=[item()], comments=[comment()]),
        Records(entries=[entry(), other], entry_list=[item(category="新")], comments=[comment()]),
        Records(entries=[entry(), other], entry_list=[], comments=[comment()]),
        Records(entries=[entry(), other], entry_list=[item()], comments=[comment(cm_text="新")]),
        Records(entries=[entry(), other], entry_list=[item()], comments=[]),
    ):
        after = fingerprints(changed)
        assert after[path] != before[path]
        assert {name for name in after if after[name] != before[name]} == {path}
        assert all(len(fingerprint) == 32 for fingerprint in after.values())


def test_a_new_title_moves_the_page_and_changes_the_index() -> None:
    before, after = fingerprints(Records(entries=[entry()])), fingerprints(Records(entries=[entry(title="山の日")]))
    assert set(before) ^ set(after) == {"2024/03/2024-03-05-海の日-42.md", "2024/03/2024-03-05-山の日-42.md"}
    assert before["2024/index.md"] != after["2024/index.md"]
    assert before["index.md"] == after["index.md"]


def test_records_are_only_loaded_when_a_page_is_rendered() -> None:
    records = Records(entries=[entry()], comments=[comment()])
    files = list(MarkdownView().files(records))
    assert records.loads == 0
    files[0].render()
    assert records.loads == 3


def test_hostile_ids_make_distinct_paths() -> None:
    ids = ["1", "01", "../../x", "a", "A", "１", "9" * 10_000, "CON", " "]
    files = written(Records(entries=[entry(entry_id=one) for one in ids], comments=[comment(entry_id="A")]))
    pages = [path for path in files if not path.endswith("index.md")]
    assert len(pages) == len(ids)
    assert all(path.startswith("2024/03/2024-03-05-海の日-") and ".." not in path for path in pages)
    assert sum("いいですね" in files[path] for path in pages) == 1
