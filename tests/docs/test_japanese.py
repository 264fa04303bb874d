"""A Japanese page has all that its English page has: headings, commands, and the names and figures of each table row."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from types import ModuleType

import pytest

from tests.docs.test_commands import shown

ROOT = Path(__file__).parent.parent.parent
GENERATED = {"cli", "screens"}
"""Pages that ``make generated`` writes in both languages."""
PAIRS = [ROOT / "README.ja.md"] + [
    path for path in sorted((ROOT / "docs").glob("*.ja.md")) if path.name.removesuffix(".ja.md") not in GENERATED
]
BLOCK = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`]+)`")
TARGET = re.compile(r"\]\([^)]*\)")
PLACEHOLDER = re.compile(r"\b[A-Z][A-Z-]+\b(?!_)")
FIGURE = re.compile(r"(?<![\w.])[0-9](?:[0-9.,]*[0-9])?(?! million| megapixel)")
"""A number of a sentence. Japanese counts large ones in units of ten thousand, so some have other digits there."""


def names(text: str) -> set[str]:
    return {re.sub(r"\s+", " ", name) for name in CODE.findall(text)}


def figures(text: str) -> set[str]:
    return {number.replace(",", "") for number in FIGURE.findall(CODE.sub("", text))}


def missing(english: str, japanese: str) -> list[str]:
    """Return the names and figures of a text that its translation lacks; placeholders may be translated."""
    theirs = names(japanese)

    def is_translated(name: str) -> bool:
        pattern = ".+".join(re.escape(part) for part in PLACEHOLDER.split(name))
        return any(re.fullmatch(pattern, each) for each in theirs)

    lost = [name for name in sorted(names(english)) if not is_translated(name)]
    return lost + sorted(figures(english) - figures(japanese))


def tables(text: str) -> list[list[str]]:
    """Return the rows of each table outside of code blocks."""
    found: list[list[str]] = [[]]
    for line in BLOCK.sub("", text).splitlines():
        if line.lstrip().startswith("|"):
            found[-1].append(TARGET.sub("]", line))
        elif found[-1]:
            found.append([])
    return [rows for rows in found if rows]


def differences(builder: ModuleType, english: str, japanese: str) -> list[object]:
    """Return what a Japanese page lacks of the English one, and the commands and table rows that only one of them has."""
    found: list[object] = [] if builder.twins(english, japanese) else ["headings"]
    commands = [list(shown(text)) for text in (english, japanese)]
    if commands[0] != commands[1]:
        found.append(("commands", *commands))
    ours, theirs = tables(english), tables(japanese)
    if [len(rows) for rows in ours] != [len(rows) for rows in theirs]:
        found.append("rows of the tables")
    else:
        pairs = zip(itertools.chain(*ours), itertools.chain(*theirs), strict=True)
        found += [(row, lost) for row, translated in pairs if (lost := missing(row, translated))]
    return found + missing(*(BLOCK.sub("", TARGET.sub("]", text)) for text in (english, japanese)))


@pytest.mark.parametrize("path", PAIRS, ids=lambda path: str(path.name))
def test_a_japanese_page_has_all_of_the_english_one(builder: ModuleType, path: Path) -> None:
    english = path.with_name(path.name.replace(".ja.md", ".md"))
    assert differences(builder, english.read_text("utf-8"), path.read_text("utf-8")) == []


ENGLISH = """# Name
## First
Run it 3 times, with `--at DAY` or `--all`.

    blog-exporter log DIR    all versions

| `a` | 5 |
|---|---|
| 1,200 entries | 2 million |
"""
JAPANESE = """# 名前
## はじめに
`--at 日付` か `--all` を付けて、3 回実行します。

    blog-exporter log DIR    （すべてのバージョン）

| `a` | 5 |
|---|---|
| 記事 1200 件 | 200 万 |
"""


@pytest.mark.parametrize(
    ("part", "other", "found"),
    [
        ("## はじめに", "### はじめに", ["headings"]),
        ("blog-exporter log DIR ", "blog-exporter log DIR --json ", [("commands", ["log DIR"], ["log DIR --json"])]),
        ("| 記事 1200 件 | 200 万 |\n", "", ["rows of the tables", "1200"]),
        ("1200", "1300", [("| 1,200 entries | 2 million |", ["1200"]), "1200"]),
        ("`--all`", "`--none`", ["--all"]),
        ("3 回", "4 回", ["3"]),
    ],
)
def test_a_lost_part_is_found(builder: ModuleType, part: str, other: str, found: list[object]) -> None:
    assert differences(builder, ENGLISH, JAPANESE) == []
    assert differences(builder, ENGLISH, JAPANESE.replace(part, other)) == found
