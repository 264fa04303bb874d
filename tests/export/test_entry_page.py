from __future__ import annotations

from typing import Any

import pytest
import yaml

from exporter.export.entry_page import Rendered, render_comments, render_entry
from exporter.export.names import page_path
from exporter.service.registry import DEFAULT_SERVICE
from tests.html.reading import read_markdown
from tests.html.records import comment, entry, item


def page(raw: dict[str, Any], *comments: dict[str, Any]) -> Rendered:
    return render_entry(DEFAULT_SERVICE.post(raw, item()), [DEFAULT_SERVICE.comment(one) for one in comments])


def body_of(rendered: Rendered) -> str:
    return rendered.text.split("\n---\n\n", 1)[1]


def test_an_entry_with_everything() -> None:
    raw = entry(entry_text="<p>本<b>文</b></p>", ps_title="つづき", ps_text="続きです")
    comments = [
        comment(cm_id="10", name="", regist_date="", cm_text="後", delete_flg="t"),
        comment(
            cm_id="9",
            title="題 *1*",
            cm_text="一行目\n二行目<b>！</b>",
            url="<a href='javascript:x'>",
            url_text="http://e.com/(a)",
        ),
    ]
    assert body_of(page(raw, *comments)) == (
        "# 海の日\n\n本**文**\n\n## つづき\n\n続きです\n\n## コメント (2)\n\n"
        "### カモメ · 2024-03-07\n\n- 題名: 題 \\*1\\*\n- リンク: [http://e.com/(a)](http://e.com/(a))\n\n"
        "> 一行目\\\n> 二行目<strong>！</strong>\n\n"
        "### （名前なし）\n\n- delete_flg: t\n\n> 後\n"
    )


def test_an_empty_entry() -> None:
    assert body_of(page({})) == "# (無題)\n"


def test_a_continuation_without_a_title_and_a_title_without_one() -> None:
    assert body_of(page(entry(ps_text="続き"))) == "# 海の日\n\n本文\n\n***\n\n続き\n"
    assert body_of(page(entry(ps_title="つづき"))) == "# 海の日\n\n本文\n\n## つづき\n"


def test_a_comment_stays_inside_its_quote() -> None:
    hostile = "</blockquote><h1>偽</h1>\n\n# 偽\n---\n<script>x</script><div>"
    rendered = page(entry(), comment(cm_text=hostile), comment(cm_id="8", cm_text=""))
    assert all(
        line.startswith("#") is False for line in rendered.text.split("2024-03-07\n\n")[1].split("\n###")[0].split("\n")
    )
    assert "script" not in rendered.text
    assert rendered.text.endswith("### カモメ · 2024-03-07\n")


def test_replacements_are_counted_over_the_whole_page() -> None:
    found = page(
        entry(title="\ud800", entry_text="\ud800\x00", ps_text="\ud800"), comment(cm_text="\ud800", name="\ud800")
    )
    assert found.replaced == 7
    found.text.encode()


def test_comments_alone() -> None:
    assert render_comments([]) == ("", 0)


WRONG_TYPES: list[Any] = [None, 1, 1.5, True, [], {}, "x"]
NESTED = "<div>" * 3000
HOSTILE: list[dict[str, Any]] = [
    {"title": title}
    for title in [
        "../../etc/passwd", "..\\..\\windows", "/", "CON", "nul.md", "COM1", "a" * 400, "あ" * 400, "\x00", "\u202eabc", "\x1b[31m赤", "---\ntitle: x",
        "\n---\n", "x: y # z", '"', "'", "<script>alert(1)</script>", "<img src=x onerror=y>", "| a | b |", "# 見出し #", "`", "*", "_", "[a](b)", "\ud83d",
        "\u2028", "\x85", "a\r\nb", "yes", "2024-01-01", " ", "",
    ]
] + [
    {"entry_text": NESTED + "底"},
    {"entry_text": "字" * 200_000},
    {"entry_text": "<script>" + "x" * 1000},
    {"entry_text": "\n---\n---\ntitle: 偽\n---\n"},
    dict(zip(entry(), WRONG_TYPES * 6, strict=False)),
    dict.fromkeys(entry()),
    {name: {"a": []} for name in entry()},
    {"year": "0000", "mon": "00"},
    {"year": "9999", "mon": "12", "day": "31"},
]  # fmt: skip


def test_hostile_entries(subtests: pytest.Subtests) -> None:
    for number in range(len(HOSTILE)):
        with subtests.test(number=number):
            raw = entry(**HOSTILE[number])
            made = DEFAULT_SERVICE.post(raw)
            rendered = page(
                raw,
                comment(
                    cm_text=raw["entry_text"] if isinstance(raw["entry_text"], str) else "", name=str(raw["title"])
                ),
            )
            rendered.text.encode()
            head, rest = rendered.text.removeprefix("---\n").split("\n---\n", 1)
            found = yaml.safe_load(head)
            assert found["title"] == made.title.replace("\ud83d", "\ufffd")
            assert not {"script", "style"} & set(read_markdown(rest).tags)
            assert "\x00" not in rest
            assert "\x1b" not in rest
            path = page_path(made.date, made.title, made.id)
            assert len(path.split("/")[-1].encode()) <= 200
            assert path.count("/") == (2 if made.date else 1)


def test_there_are_at_least_40_hostile_entries() -> None:
    assert len(HOSTILE) >= 40
