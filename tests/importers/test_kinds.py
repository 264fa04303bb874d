"""Each kind of content arrives in each target, or the report of the export says that it does not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.importers.conftest import ROOT, Tool, serving
from tests.importers.kinds import KINDS, Kind, blog_file, write_files
from tests.importers.kinds_homes import TARGETS, Home, Kept, Report
from tests.importers.ledger import Ledger, kinds_as_markdown, kinds_in
from tests.importers.test_wordpress import installed
from tests.source.wxr_backups import saved, settings

__all__ = ["installed"]

SHOWN, CHANGED, LOST, UNSAID = "✓", "≈", "–", "lost, and no report says so"
PARTS: Final = {"left_out": LOST, "by_address": CHANGED, "changed": CHANGED, "preflight": CHANGED}
"""The parts of a report, by what they say of a record."""
NOT_HELD, PICTURE_LOST = "not_held", "picture_lost"

Cells = Callable[[str], dict[str, str]]


@pytest.fixture(scope="module")
def cells(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cells]:
    """Return a function that imports an export of the blog into a target, and judges each kind; once for each target."""
    folder = tmp_path_factory.mktemp("kinds")
    write_files(folder / "files")
    known: dict[str, dict[str, str]] = {}
    with serving(folder / "files") as address:
        files = address.rstrip("/")
        (folder / "blog.xml").write_text(blog_file(files), encoding="utf-8")
        wanted = settings(
            assets="linked", allow_private_network="yes", site="yes", markdown="yes", timezone="Asia/Tokyo"
        )
        made = asyncio.run(saved(folder / "blog.xml", folder / "archive", wanted))
        assert (made.outcome.exit_code, made.outcome.problems) == (0, [])

        def judged(target: str) -> dict[str, str]:
            if target not in known:
                with TARGETS[target](Tool(), Kept(folder / "archive", installed), folder / target) as home:
                    assert not home.leaked
                    known[target] = {kind.name: judge(kind, home, files) for kind in KINDS}
            return known[target]

        yield judged


def judge(kind: Kind, home: Home, files: str) -> str:
    """Return the cell of a kind: that it is shown, or what the report says of its entry alone."""
    seen = home.pages.get(kind.word)
    if seen is not None and kind.shown(seen):
        return SHOWN
    shown = "" if seen is None else f"{seen.url} {seen.title} {dict(seen.facts)} {seen.body.html}"
    return (home.report and said(kind, home.report, files)) or f"{UNSAID}: {shown}"


def said(kind: Kind, report: Report, files: str) -> str:
    """Return the mark and reason of the report for a kind, or an empty string.

    The archive has every file of the blog, so a lost picture is no reason.
    """
    names, plain = kind.names(files), KINDS[0].names(files)
    for part, mark in PARTS.items():
        for row in report[part]:
            ids = row.get("ids") or row.get("entries") or []
            if (
                row["code"] != PICTURE_LOST
                and names.intersection(ids)
                and (kind.everywhere or not plain.intersection(ids))
            ):
                reason = row.get("reason") or row.get("what") or row["limit"]
                return f"{LOST if row['code'] == NOT_HELD else mark} {reason}"
    return ""


@pytest.mark.parametrize("target", TARGETS)
def test_each_kind_is_shown_or_said(cells: Cells, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    monkeypatch.setenv("ASTRO_TELEMETRY_DISABLED", "1")
    found = cells(target)
    lost = [f"{kind} {cell}" for kind, cell in found.items() if cell.startswith(UNSAID)]
    assert not lost, "\n".join(lost)
    ledger.kinds[target] = found


@pytest.mark.parametrize("target", TARGETS)
def test_the_page_has_what_was_seen(cells: Cells, monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    monkeypatch.setenv("ASTRO_TELEMETRY_DISABLED", "1")
    page = (ROOT / "docs" / "importers.md").read_text(encoding="utf-8")
    assert kinds_in(page.partition("<!-- kinds:")[2].partition("<!-- end")[0]).get(target) == cells(target)


def test_the_table_can_be_read_back() -> None:
    seen = {"site": {"ruby": "✓", "tags": "– no place"}, "book": {"ruby": "≈ as text", "tags": "– no place"}}
    written = kinds_as_markdown(seen)
    assert written.splitlines()[2:] == ["| ruby | ✓ | ≈ 1 |", "| tags | – 2 | – 2 |", "", "1. as text", "2. no place"]
    assert kinds_in(written) == seen


def test_a_reason_of_every_entry_is_none_of_one_kind() -> None:
    tags, author = KINDS[5], KINDS[3]
    row = {"kind": "entries", "what": "x", "code": "y", "ids": [str(at) for at in range(1, 9)]}
    report: Report = {"left_out": [], "by_address": [], "changed": [row], "preflight": []}
    assert (said(tags, report, "http://files"), said(author, report, "http://files")) == ("", "≈ x")
    row["ids"] = ["6"]
    assert (said(tags, report, "http://files"), said(author, report, "http://files")) == ("≈ x", "")
