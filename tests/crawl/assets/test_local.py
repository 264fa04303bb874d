"""Files and pages in the archive that addresses lead to."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.html.links import AddressPattern
from exporter.html.local_links import AssetMap, EntryAddresses, relative_link
from exporter.model.asset import Asset, asset_path

BASE = "https://blog.example.jp/"
SHA = "ab" * 32
STORED = Asset(f"{BASE}a.gif", 200, "image/gif", 9, SHA, refs=[{"entry": "1"}], width=3, height=4)
LOST = Asset(f"{BASE}lost.gif", 404, error="it answered 404", refs=[{"entry": "1"}])
UPLOAD = Asset("https://files.example.jp/u/1", 200, "image/jpeg", 9, "cd" * 32, refs=[{"entry": "1"}, {"file": "7"}])


@pytest.fixture
def assets() -> AssetMap:
    return AssetMap([asset.data() for asset in (STORED, LOST, UPLOAD)], BASE)


@pytest.mark.parametrize("address", [f"{BASE}a.gif", "/a.gif", "a.gif#x", "//blog.example.jp/a.gif"])
def test_every_way_of_writing_an_address_finds_its_file(assets: AssetMap, address: str) -> None:
    found = assets.find(address)
    assert found is not None
    assert (found.url, found.path) == (f"{BASE}a.gif", f"assets/ab/{SHA}.gif")
    assert (found.width, found.height) == (3, 4)
    assert assets.local_path(address) == found.path


def test_a_lost_picture_is_known_but_has_no_file(assets: AssetMap) -> None:
    found = assets.find("lost.gif")
    assert found is not None
    assert (found.path, found.error) == (None, "it answered 404")
    assert assets.local_path("lost.gif") is None


@pytest.mark.parametrize("address", ["", "other.gif", "data:image/gif;base64,AA", "http://blog.example.jp/a.gif"])
def test_other_addresses_are_not_known(assets: AssetMap, address: str) -> None:
    assert assets.find(address) is None
    assert assets.local_path(address) is None


def test_an_upload_is_found_by_either_scheme(assets: AssetMap) -> None:
    found = assets.find("http://files.example.jp/u/1/")
    assert found is not None
    assert found.url == UPLOAD.url
    assert assets.local_path(UPLOAD.url) == found.path


def test_the_path_is_the_stores() -> None:
    assert STORED.path == asset_path(SHA, "image/gif")
    assert Asset("http://h/", sha256=SHA).path == f"assets/ab/{SHA}.bin"


def test_an_asset_is_read_back_as_it_was_written() -> None:
    for asset in (STORED, LOST, UPLOAD):
        again = Asset.from_raw(asset.data())
        assert again.data() == asset.data()
    assert list(LOST.data()) == ["url", "status", "content_type", "bytes", "sha256", "error", "refs"]
    assert UPLOAD.ids("file") == ["7"]


@pytest.mark.parametrize("refs", [None, "x", [1, "a"], [{"entry": 1}]])
def test_a_strange_record_is_read_all_the_same(refs: Any) -> None:
    asset = Asset.from_raw({"url": 1, "status": True, "bytes": "9", "refs": refs})
    assert (asset.url, asset.status, asset.bytes, asset.ids("entry")) == ("", None, None, [])


ENTRIES = [
    ("1", {"blog_id": "blog.example.jp", "entry_id": "1", "name": "umi", "year": "2016", "mon": "01", "day": "02"}),
    ("2", {"blog_id": "blog.example.jp", "entry_id": "2", "name": "", "year": "2016", "mon": "01", "day": "03"}),
    ("3", {"blog_id": "blog.example.jp", "entry_id": "3", "name": "x", "year": "2016", "mon": "01", "day": "03"}),
]


@pytest.fixture
def entries() -> EntryAddresses:
    patterns = [
        "https://{blog_id}/Entry/{entry_id}/",
        "https://{blog_id}/Date/{year}{mon}{day}/",
        "https://{blog_id}/{name}",
    ]
    return EntryAddresses([AddressPattern(each, "--entry-url") for each in patterns], ENTRIES, BASE)


@pytest.mark.parametrize(
    ("address", "entry_id"),
    [
        ("https://blog.example.jp/Entry/1/", "1"),
        ("http://BLOG.example.jp/Entry/1?comment=3#c", "1"),
        ("/Entry/3/", "3"),
        ("/Date/20160102/", "1"),
        ("/Date/20160103/", None),
        ("/umi", "1"),
        ("/Entry/9/", None),
        ("https://other.example/Entry/1/", None),
        ("", None),
        ("mailto:a@b", None),
    ],
)
def test_links_to_the_blogs_own_entries(entries: EntryAddresses, address: str, entry_id: str | None) -> None:
    assert entries.entry_of(address) == entry_id


def test_without_patterns_nothing_is_an_own_link() -> None:
    assert EntryAddresses([], ENTRIES, BASE).entry_of("/Entry/1/") is None


@pytest.mark.parametrize(
    ("page", "target", "link"),
    [
        ("latest/markdown/2016/01/海.md", "assets/ab/x.gif", "../../../../assets/ab/x.gif"),
        ("latest/markdown/2016/01/a.md", "latest/markdown/2017/02/海 辺.md", "../../2017/02/%E6%B5%B7%20%E8%BE%BA.md"),
        ("index.html", "assets/ab/x.gif", "assets/ab/x.gif"),
    ],
)
def test_links_are_relative(page: str, target: str, link: str) -> None:
    assert relative_link(page, target) == link
