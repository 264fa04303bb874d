"""The cache of addresses embedded in entries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from exporter.crawl.assets.addresses import AddressCache
from exporter.crawl.assets.plan import AssetSettings
from exporter.html.embedded import Use
from exporter.service.registry import DEFAULT_SERVICE
from tests.crawl.assets.web import Blog, Web
from tests.support.pictures import png

BASE = "https://blog.example.jp/"
SHOWN = [(f"{BASE}a.gif", Use.SHOWN), (f"{BASE}b", Use.LINKED)]
ENTRY = {"entry_text": "<img src=a.gif><a href=b>"}


def never() -> dict[str, Any]:
    raise AssertionError("it was parsed again")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / ".work" / "embedded.jsonl"
    first = AddressCache(path, BASE, DEFAULT_SERVICE)
    assert first.of("1", b"one", lambda: ENTRY) == SHOWN
    assert first.of("2", b"two", lambda: None) == []
    first.save()
    return path


def test_an_unchanged_entry_is_not_parsed_again(path: Path) -> None:
    again = AddressCache(path, BASE, DEFAULT_SERVICE)
    assert again.of("1", b"one", never) == SHOWN
    assert again.of("2", b"two", never) == []


def test_a_changed_entry_is(path: Path) -> None:
    again = AddressCache(path, BASE, DEFAULT_SERVICE)
    assert again.of("1", b"other", dict) == []
    assert again.of("3", None, lambda: ENTRY) == SHOWN
    again.save()
    last = AddressCache(path, BASE, DEFAULT_SERVICE)
    assert last.of("1", b"other", never) == []
    assert last.of("3", None, dict) == []
    assert last.of("2", b"two", lambda: ENTRY) == SHOWN


def test_nothing_is_written_when_nothing_changed(path: Path) -> None:
    before = path.stat().st_ino
    again = AddressCache(path, BASE, DEFAULT_SERVICE)
    again.of("1", b"one", never)
    again.of("2", b"two", never)
    again.save()
    assert path.stat().st_ino == before


def test_another_base_is_another_blog(path: Path) -> None:
    other = "https://other.example/"
    assert AddressCache(path, other, DEFAULT_SERVICE).of("1", b"one", lambda: ENTRY)[0] == (f"{other}a.gif", Use.SHOWN)


@pytest.mark.parametrize("damage", [b"torn", b"[1]\n", b'["1","x",[1]]\n', b'["1","x",[["u",true,3]]]\n', b"\xff\n"])
def test_damage_means_parsing_again(path: Path, damage: bytes) -> None:
    path.write_bytes(path.read_bytes() + damage)
    assert AddressCache(path, BASE, DEFAULT_SERVICE).of("1", b"one", dict) == []


async def test_a_run_parses_only_what_changed(served: Web, blog: Blog) -> None:
    settings = AssetSettings(BASE, allow_private_network=True)
    served.pictures["/a.png"] = png(1)
    for number in range(3):
        blog.entry(number, f'<img src="{served.url}/a.png">')
    first = await blog.backup(settings)
    blog.loaded.clear()
    assert (await blog.backup(settings)).records == first.records
    assert blog.loaded == []
    blog.entry(1, "")
    changed = await blog.backup(settings)
    assert blog.loaded == ["1"]
    assert changed.records[f"{served.url}/a.png"]["refs"] == [{"entry": "0"}, {"entry": "2"}]
