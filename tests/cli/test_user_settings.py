"""Changing a setting in a blog's table; every other byte of the settings file stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.cli.user_settings import set_setting
from exporter.errors import UsageError

BEFORE = """# mine
ping_url = "https://all.example/x"   # of all

[blogs.one]   # the first
blog_id = "one.example"
archive = "/a"

[blogs."二つ"]
blog_id = "two.example"
archive = "/b"
closing="2026-01-01"  # soon
[profiles.p]
base_url = "https://api.example"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "blog-exporter.toml"
    place.write_text(BEFORE, "utf-8")
    return place


def test_a_setting_is_added_changed_and_removed(path: Path) -> None:
    set_setting(path, "ping_url", 'https://hc.example/"a"', "one")
    added = BEFORE.replace("# the first\n", '# the first\nping_url = "https://hc.example/\\"a\\""\n')
    assert path.read_text("utf-8") == added
    set_setting(path, "closing", "2026-03-31", "二つ")
    assert path.read_text("utf-8") == added.replace('closing="2026-01-01"  # soon', 'closing = "2026-03-31"')
    set_setting(path, "closing", None, "二つ")
    set_setting(path, "ping_url", None, "one")
    assert path.read_text("utf-8") == BEFORE.replace('closing="2026-01-01"  # soon\n', "")
    before = path.read_bytes()
    set_setting(path, "ping_url", None, "one")
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "text",
    [
        BEFORE.replace("[blogs.one]   # the first\n", "").replace('blog_id = "one.example"\n', "", 1),
        'blogs.one = { blog_id = "one.example", archive = "/a" }\n',
        '[blogs.one]\nblog_id = "one.example"\narchive = "/a"\nping_url = """\nhttps://x.example"""\n',
        "blogs = 3\n",
        "[blogs.one\n",
    ],
)
def test_a_file_that_cannot_be_changed_line_by_line_stays(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=r"change this yourself in \[blogs.one\]: ping_url = "):
        set_setting(path, "ping_url", "https://hc.example/a", "one")
    assert path.read_text("utf-8") == text
