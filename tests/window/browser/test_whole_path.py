"""A person's whole path: from an address, a file or a sign-in to a backup, and on to a file that Hatena Blog imports."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.runs import findings
from tests.window.browser.test_path import GUARDED_ID, MT_FILE, guarded_service, is_good, signs_in, wordpress
from tests.window.browser.visitor import Visitor

__all__ = ["guarded_service"]

pytestmark = pytest.mark.browser

MOST_CLICKS = 12
DRAFT = MT_FILE.replace("港の朝", "まだ書きかけ").replace("STATUS: Publish", "STATUS: Draft")


def titles(file: Path) -> list[str]:
    """Return the titles of the entries in a file of Movable Type's format."""
    return re.findall(r"^TITLE: (.*)$", file.read_text("utf-8"), re.MULTILINE)


def is_done(visitor: Visitor, most: int) -> list[str]:
    """Export for Hatena Blog, check the file and all clicks, and return the titles in the file."""
    (root,) = (visitor.window.home / "blogs").iterdir()
    numbers, file = visitor.exports_for_hatena()
    is_good(visitor.page)
    assert findings(root) == []
    found = titles(file)
    assert len(found) == numbers[1] > 0
    assert visitor.clicks <= most
    return found


def test_from_a_pasted_address(visitor: Visitor) -> None:
    with wordpress() as blog:
        visitor.saves_address(blog.url)
    is_done(visitor, 6)


def test_from_a_file_with_a_draft_that_stays_out(visitor: Visitor, tmp_path: Path) -> None:
    file = tmp_path / "mt.txt"
    file.write_text(MT_FILE + DRAFT, "utf-8")
    visitor.drops(file)
    visitor.begins()
    assert is_done(visitor, MOST_CLICKS) == ["港の朝"]


@pytest.mark.usefixtures("guarded_service")
def test_from_a_sign_in(visitor: Visitor) -> None:
    visitor.looks_at(f"https://{GUARDED_ID}/")
    signs_in(visitor)
    visitor.begins()
    is_done(visitor, MOST_CLICKS)
