"""The public site: no private or doubtful record, and no word about any."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from exporter.model.kinds import Kind
from exporter.model.publication import Declared
from exporter.service.registry import DEFAULT_SERVICE
from exporter.site.view import PublicRecords
from tests.archive.builder import Built, record
from tests.cli.conftest import Program
from tests.site.building import of_records, stored

SAID = Declared(public_access=frozenset({"1"}), visible_comment_flags=frozenset({"f"}))
AS_OF = datetime(2026, 1, 1, tzinfo=UTC)
SECRET = "ひみつ"
PNG = b"\x89PNG\r\n\x1a\n"


def entry(number: int, **other: object) -> bytes:
    values = {
        "entry_id": str(number), "title": f"題{number}", "entry_text": "本文", "open_flg": "1", "is_private": "f",
        "period_flg": "f", "year": "2020", "mon": "01", "day": "02", "hour": "03", "min": "04", "sec": "05",
    }  # fmt: skip
    return record(**{**values, **other})


@pytest.fixture
def mixed(tmp_path: Path) -> Built:
    root = tmp_path / "mixed"
    root.mkdir()
    secret = {"title": SECRET, "entry_text": SECRET}
    entries = {
        "1": entry(1, entry_text='<img src="https://p.example/a.png">'),
        "2": entry(2, is_private="t", **secret),
        "3": entry(3, open_flg="2", **secret),
        "4": entry(4, is_private=None, **secret),
        "5": entry(5, year="2030", **secret),
        "6": entry(6, mon="13", **secret),
        "7": entry(7, period_flg="t", **secret),
    }
    comments = {
        "1": record(cm_id="1", entry_id="1", cm_text="見える", delete_flg="f"),
        "2": record(cm_id="2", entry_id="1", cm_text=SECRET, delete_flg="t"),
        "3": record(cm_id="3", entry_id="2", cm_text=SECRET, delete_flg="f"),
        "4": record(cm_id="4", entry_id="99", cm_text=SECRET, delete_flg="f"),
        "5": record(cm_id="5", entry_id="1", cm_text=SECRET),
    }
    built = of_records(root, {})
    shown = stored(root, "https://p.example/a.png", PNG + b"a", refs=[{"entry": "1"}, {"entry": "2"}, {"file": "1"}])
    hidden = stored(root, "https://p.example/b.png", PNG + b"b", refs=[{"entry": "2"}, {"file": "2"}])
    runs = stored(root, "https://p.example/c.svg", b"<svg/>", refs=[{"entry": "1"}], content_type="image/svg+xml")
    built.commit(
        {
            Kind.ENTRIES: entries,
            Kind.ENTRY_LIST: {
                key: record(entry_id=key, category="分類", open_flg="1", period_flg="f") for key in entries
            },
            Kind.COMMENTS: comments,
            Kind.FILES: {"1": record(file_id="1", title="海"), "2": record(file_id="2", title=SECRET)},
            Kind.USER: {"u": record(id="u", nickname=SECRET)},
            Kind.ASSETS: {each.url: record(**each.data()) for each in (shown, hidden, runs)},
        }
    )
    built.commit({Kind.ENTRIES: {"8": entry(8, **secret)}})
    built.commit({Kind.ENTRIES: {"8": None}})
    return built


def test_only_certainly_public_records_are_public(mixed: Built) -> None:
    records = PublicRecords(mixed.reader.state(), SAID, AS_OF, DEFAULT_SERVICE)
    assert {kind: list(records.ids(kind)) for kind in Kind} == {
        Kind.ENTRIES: ["1"], Kind.ENTRY_LIST: ["1"], Kind.COMMENTS: ["1"], Kind.FILES: ["1"], Kind.USER: [],
        Kind.ASSETS: ["https://p.example/a.png"],
    }  # fmt: skip
    assert records.load(Kind.ENTRIES, "2") is None
    assert records.identity(Kind.ENTRIES, "2") is None
    assert [ids for ids, _ in records.scan(Kind.COMMENTS)] == ["1"]
    assert records.left_out[Kind.ENTRIES] == 6
    picture = records.load(Kind.ASSETS, "https://p.example/a.png")
    assert picture is not None
    assert picture["refs"] == [{"entry": "1"}, {"file": "1"}]


def test_without_a_declaration_nothing_is_public(mixed: Built) -> None:
    records = PublicRecords(mixed.reader.state(), Declared(), AS_OF, DEFAULT_SERVICE)
    assert not any(records.ids(kind) for kind in Kind)


def test_the_copy_says_nothing_of_the_rest(mixed: Built, program: Program, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = ("--public-only", "--public-open-flg", "1", "--visible-delete-flg", "f")
    found = program("site", mixed.root, out, "--title", "公開", "--json", *said)
    assert found.code == 0, found
    assert found.json["written"]["entries"] == 1
    files = [path for path in out.rglob("*") if path.is_file()]
    text = b"".join(path.read_bytes() for path in files)
    assert SECRET.encode() not in text
    assert b"noindex" not in text
    assert {path.name for path in out.glob("assets/*/*")} == {
        path.name for path in mixed.layout.assets.glob("*/*.png") if path.read_bytes() == PNG + b"a"
    }
    assert not (out / "history").exists()
    assert not (out / "history.html").exists()
    page = (out / "entry" / "1.html").read_text("utf-8")
    assert 'src="../assets/' in page
    assert "見える" in page
    assert "entry_text" not in page


def test_a_missing_declaration_is_requested(mixed: Built, program: Program, tmp_path: Path) -> None:
    found = program("site", mixed.root, tmp_path / "out", "--public-only")
    assert found.code == 2
    assert "--public-open-flg" in found.err
    assert not (tmp_path / "out").exists()
