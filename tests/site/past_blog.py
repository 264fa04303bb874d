"""A blog with a past: entries that changed, moved, disappeared, came back and became private, and their comments."""

from __future__ import annotations

from pathlib import Path

from exporter import lossless_json
from exporter.model.kinds import Kind
from tests.archive.builder import Built, record
from tests.site.building import stored

PICTURE = (Path(__file__).parents[2] / "docs" / "screenshots" / "home-phone.png").read_bytes()


def an_entry(number: int, title: str, text: str, year: int = 2016, **others: str) -> bytes:
    """Write an entry, by default at 21:05 on the 4th of its month."""
    return record(
        entry_id=str(number), title=title, entry_text=text, ps_title="", ps_text="", open_flg="1", period_flg="f",
        year=str(year), hour="21", min="05", sec="00", last_update="2018-01-02 03:04:05",
        **{"mon": str(number), "day": "4", "is_private": "f", "category_id": "1", **others},
    )  # fmt: skip


def item(number: int, category: str = "海辺") -> bytes:
    """Write an entry's list item."""
    return record(entry_id=str(number), title="題", category=category, open_flg="1")


def said(number: int, entry: int, text: str, year: int = 2018) -> bytes:
    """Write a comment."""
    return record(
        cm_id=str(number), entry_id=str(entry), name="みなと", title="", cm_text=text, regist_date=f"{year}/03/02",
        delete_flg="f", url_text="",
    )  # fmt: skip


def past_blog(root: Path) -> Built:
    """Build the blog in five versions, each from the last evening of a month in Japan."""
    built = Built(root)
    asset = stored(root, "https://img.example/1.png", PICTURE, refs=[{"entry": "1"}, {"entry": "2"}])
    later = stored(root, "https://img.example/2.png", PICTURE + b"2", refs=[{"entry": "7"}])
    first = '<p>朝の海。</p><img src="https://img.example/1.png" alt="海">'
    built.commit(
        {
            Kind.ENTRIES: {str(n): an_entry(n, f"題{n}", first if n < 3 else f"<p>本文{n}。</p>") for n in range(1, 7)},
            Kind.ENTRY_LIST: {str(n): item(n) for n in range(1, 7)},
            Kind.COMMENTS: {
                "10": said(10, 2, "はじめの感想。"),
                "12": said(12, 2, "あとで消えた感想。"),
                "13": said(13, 1, "ずっとある感想。"),
            },
            Kind.ASSETS: {asset.url: lossless_json.dumps(asset.data())},
        },
        at="2024-01-31T12:00:00Z",
    )
    built.commit(
        {
            Kind.ENTRIES: {"2": an_entry(2, "新しい題2", f"{first}<p>追記<script>alert(1)</script>。</p>", 2017)},
            Kind.COMMENTS: {"10": said(10, 2, "直した感想。"), "11": said(11, 2, "新しい感想。", 2019)},
        },
        at="2024-02-29T12:00:00Z",
    )
    built.commit(
        {
            Kind.ENTRIES: {
                "3": None,
                "7": an_entry(7, "あとの題7", '<p>夜の海。</p><img src="https://img.example/2.png">'),
            },
            Kind.ENTRY_LIST: {"3": None, "7": item(7)},
            Kind.COMMENTS: {"12": None},
            Kind.ASSETS: {later.url: lossless_json.dumps(later.data())},
        },
        at="2024-03-31T12:00:00Z",
    )
    built.commit(
        {
            Kind.ENTRIES: {
                "2": an_entry(2, "最後の題2", "<p>夕方の海。</p>", 2017),
                "4": an_entry(4, "題4", "<p>本文4。</p>", is_private="t"),
            },
            Kind.ENTRY_LIST: {"5": item(5, "山辺")},
        },
        at="2024-04-30T12:00:00Z",
    )
    built.commit(
        {
            Kind.ENTRIES: {"3": an_entry(3, "また題3", "<p>本文3。</p>"), "6": None},
            Kind.ENTRY_LIST: {"3": item(3), "6": None},
        },
        at="2024-05-31T12:00:00Z",
    )
    return built


def replaced_picture(root: Path) -> tuple[Built, list[str]]:
    """Build a blog of two entries with one picture that another picture replaced; return the paths of both."""
    built = Built(root)
    url, text = "https://img.example/1.png", '<p>海。</p><img src="https://img.example/1.png" alt="海">'
    assets = [stored(root, url, body, refs=[{"entry": "1"}, {"entry": "2"}]) for body in (PICTURE, PICTURE + b"2")]
    first, second = (lossless_json.dumps(asset.data()) for asset in assets)
    entries = {str(n): an_entry(n, f"題{n}", text) for n in (1, 2)}
    built.commit({Kind.ENTRIES: entries, Kind.ASSETS: {url: first}}, at="2024-01-31T12:00:00Z")
    built.commit({Kind.ENTRIES: {"2": an_entry(2, "新しい題2", text)}}, at="2024-02-29T12:00:00Z")
    built.commit({Kind.ASSETS: {url: second}}, at="2024-03-31T12:00:00Z")
    built.commit({Kind.ENTRIES: {"2": an_entry(2, "最後の題2", text)}}, at="2024-04-30T12:00:00Z")
    return built, [str(asset.path) for asset in assets]
