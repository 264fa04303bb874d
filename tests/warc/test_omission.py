"""Captures without some exchanges: what showed a text is gone, all other records keep their bytes, and verify passes."""

from __future__ import annotations

import errno
import gzip
import html
import json
import re
from pathlib import Path
from urllib.parse import quote

import brotli
import pytest

from exporter.archive import forgetting
from exporter.archive.archive import Archive
from exporter.archive.captures import captures, without_addresses
from exporter.archive.layout import Layout
from exporter.archive.verify import verify
from exporter.copies.folder import FolderStore
from exporter.copies.forgetting import remove_forgotten
from exporter.errors import ArchiveDamaged, NoSpace
from exporter.library.forget import ForgettingRequest, find, forget
from exporter.settings import resolve
from exporter.warc.checks import record_checks
from exporter.warc.holding import Sought
from exporter.warc.reading import WarcRecord, all_records
from tests.capture.running import Site, captured
from tests.copies.support import pulled, pushed
from tests.library.test_forget import NAME, TEXT, made, places_with
from tests.support.instants import copy_with_links
from tests.support.wire_server import Reply


def page(body: str, charset: str = "utf-8") -> Reply:
    text = f'<!DOCTYPE html><meta charset="{charset}"><title>t</title>{body}'
    return Reply(200, text.encode(charset), (("Content-Type", f"text/html; charset={charset}"),))


def links(*paths: str) -> str:
    return "".join(f'<a href="{path}">x</a>' for path in paths)


SHOWN = f"<p>{html.escape('この書き込みは「消して」ください')} &amp; 全部。</p>"
PAGES = {
    "/": page(links("/1", "/2", "/3", "/4", "/5", "/6")),
    "/1": page(f"<div>{SHOWN}<b>{html.escape(NAME)}</b></div>"),
    "/2": page("なにもない"),
    "/3": page(f"<script>var c = {json.dumps({'text': TEXT})};</script>"),
    "/4": page(f"<p>{SHOWN}</p>", "euc-jp"),
    "/5": page(f'<a rel="nofollow" href="https://other.example/?name={quote(NAME)}">x</a>'),
    "/6": page("もうひとつのページ"),
}


PLAIN = resolve({"site": "no", "markdown": "no"})
"""Pages of captures are kept whatever views the archive has."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(made(tmp_path_factory.mktemp("omission"), {"site": "no", "markdown": "no"}).root)


@pytest.fixture
def root(template: Path, tmp_path: Path) -> Path:
    copy_with_links(template, tmp_path / "archive")
    return tmp_path / "archive"


@pytest.fixture
def root_with_captures(root: Path) -> Path:
    site = Site(dict(PAGES))
    captured(site, root)
    site.pages["/6"] = page("かわったページ")
    site.pages["/7"] = PAGES["/1"]
    site.pages["/2"] = page("なにもない" + links("/7"))
    captured(site, root)
    return root


def members(root: Path) -> dict[str, set[bytes]]:
    """Return the bytes of all records by capture."""
    found: dict[str, set[bytes]] = {}
    for capture in captures(Layout(root)):
        for path in capture.segments():
            data = path.read_bytes()
            found.setdefault(str(capture.number), set()).update(
                data[record.offset : record.end] for record in all_records(path)
            )
    return found


def damages(root: Path) -> list[str]:
    layout = Layout(root)
    return [
        f"{each.code} {each.path}: {each.detail}"
        for each in verify(Archive.open(root), records=record_checks(layout))
        if each.damage
    ]


def test_what_showed_a_comment_is_gone_and_the_rest_keeps_its_bytes(root_with_captures: Path) -> None:
    root = root_with_captures
    assert damages(root) == []
    before = members(root)
    assert places_with([root / "captures"], NAME)
    found = find(Archive.open(root), PLAIN, ForgettingRequest(authors=(NAME,)))
    assert found.exchanges
    forget(Archive.open(root), PLAIN, ForgettingRequest(authors=(NAME,)), found)
    assert places_with([root / "captures"], NAME, TEXT) == []
    assert damages(root) == []
    after = members(root)
    for number, records in after.items():
        assert records <= before[number]
    gone = {number: [gzip.decompress(each) for each in before[number] - after[number]] for number in before}
    kinds = [data.split(b"WARC-Type: ")[1].split(b"\r\n")[0] for data in gone["1"]]
    assert sorted(kinds) == [b"request"] * 4 + [b"response"] * 4
    assert {data.split(b"WARC-Target-URI: ")[1].split(b"\r\n")[0].rpartition(b"/")[2] for data in gone["1"]} == {
        b"1", b"3", b"4", b"5",
    }  # fmt: skip
    named = {data.split(b"WARC-Target-URI: ")[1].split(b"\r\n")[0].rpartition(b"/")[2] for data in gone["2"]}
    assert b"7" in named
    assert b"6" not in named
    pages = b"".join(capture.pages.read_bytes() for capture in captures(Layout(root)))
    assert b'/6"' in pages
    assert b'/1"' not in pages


def packed(data: bytes, encoding: str) -> Reply:
    return Reply(200, data, (("Content-Type", "text/html; charset=utf-8"), ("Content-Encoding", encoding)))


@pytest.mark.parametrize(
    ("kind", "goes"),
    [("cut short", True), ("another encoding", True), ("no such encoding", True), ("nothing of it", False)],
)
def test_an_answer_that_is_not_wholly_readable_is_searched_too(
    root: Path, monkeypatch: pytest.MonkeyPatch, kind: str, goes: bool
) -> None:
    shown, other = PAGES["/1"].body, PAGES["/2"].body
    reply = {
        "cut short": packed(gzip.compress(shown + other * 5000)[:-8], "gzip"),
        "another encoding": packed(brotli.compress(shown), "br"),
        "no such encoding": packed(shown, "utf-8"),
        "nothing of it": packed(gzip.compress(other)[:-8], "gzip"),
    }[kind]
    captured(Site({"/": page(links("/1")), "/1": reply}), root)
    assert {record.url.rpartition("/")[2] for record in records_of(root) if record.kind == "response"} >= {"", "1"}
    monkeypatch.setattr("exporter.warc.http_message.find_spec", lambda _: None)  # as without the extra "capture"
    forget(Archive.open(root), PLAIN, ForgettingRequest(authors=(NAME,)))
    left = {record.url.rpartition("/")[2] for record in records_of(root) if record.kind == "response"}
    assert ("1" not in left) is goes
    assert "" in left
    assert damages(root) == []


def test_what_captures_say_about_an_address_with_the_title_goes_too(root: Path, tmp_path: Path) -> None:
    title = quote("秘密の題名")
    site = Site({"/": page(links("/1")), "/1": page("x")})
    captured(site, root)
    # The entry is gone at the service before it is forgotten here, so that only lists of addresses name it.
    site.pages["/"] = page(links(f"/{title}", f"/{title}/2", "/gone", "/busy"))
    site.pages |= {path: Reply(503, b"") for path in (f"/{title}/2", "/busy")}
    captured(site, root)
    assert title in (root / "captures/runs.jsonl").read_text()
    assert title in (root / "captures/000002/capture.json").read_text()
    copy, store = tmp_path / "copy", tmp_path / "store"
    pulled(FolderStore(root), copy)
    pushed(root, FolderStore(store))
    request = ForgettingRequest(entries=("2",))
    found = find(Archive.open(root), PLAIN, request)
    assert {each.partition(title)[2] for each in found.addresses} == {"", "/2"}
    forget(Archive.open(root), PLAIN, request, found)
    assert places_with([root], "秘密の題名") == []
    assert damages(root) == []
    for name in ("captures/runs.jsonl", "captures/000002/capture.json"):
        assert "/busy" in (root / name).read_text()
    pulled(FolderStore(root), copy)
    remove_forgotten(Archive.open(root), FolderStore(store))
    pushed(root, FolderStore(store))
    for other in (copy, store):
        assert places_with([other], "秘密の題名") == []
        assert damages(other) == []
        assert (other / "captures/runs.jsonl").read_bytes() == (root / "captures/runs.jsonl").read_bytes()


def test_a_removal_that_ends_before_the_seal_is_no_damage(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    title = quote("秘密の題名")
    captured(Site({"/": page(links("/1", f"/{title}")), "/1": PAGES["/1"]}), root)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch:
        patch.setattr(forgetting, "seal", full)
        with pytest.raises(NoSpace):
            forget(Archive.open(root), PLAIN, ForgettingRequest(authors=(NAME,), entries=("2",)))
    assert title not in (root / "captures/runs.jsonl").read_text()
    assert damages(root) == []
    for name, code in {"captures/000001/capture.json": "capture-damaged", "runs.jsonl": "runs-rewritten"}.items():
        path = root / name
        sound = path.read_bytes()
        path.write_bytes(re.sub(rb'("finished_at": ?")2', rb"\g<1>3", sound))
        assert path.read_bytes() != sound
        assert [each for each in damages(root) if each.startswith(f"{code} {name}:")]
        path.write_bytes(sound)
    assert damages(root) == []
    forget(Archive.open(root), PLAIN, ForgettingRequest())
    assert damages(root) == []
    assert forgetting.pending(Layout(root)) is None


@pytest.mark.parametrize("document", [{}, {"problems": 1}, {"problems": [1, {"url": []}, {}], "error": 5}])
def test_statements_of_a_stranger_about_addresses_do_no_harm(document: dict[str, object]) -> None:
    assert without_addresses(document, {"x"}) == document


def records_of(root: Path) -> list[WarcRecord]:
    return [record for capture in captures(Layout(root)) for path in capture.segments() for record in all_records(path)]


def test_a_damaged_capture_is_refused_and_nothing_changes(root_with_captures: Path) -> None:
    root = root_with_captures
    path = captures(Layout(root))[0].segments()[0]
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ArchiveDamaged, match="Nothing was forgotten"):
        forget(Archive.open(root), PLAIN, ForgettingRequest(authors=(NAME,)))
    assert not Layout(root).forgotten.exists()
    assert forgetting.pending(Layout(root)) is None


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("<p>この書き込みは「消して」<wbr>ください &amp; <b>全部</b>。</p>", True),
        ("この書き込みは、<br>\n「消して」ください", False),
        (json.dumps(TEXT), True),
        (quote(TEXT), True),
        ("".join(f"&#{ord(each)};" for each in TEXT), True),
        ("この書き込みは「残して」ください", False),
        ("短い", False),
        ("短い と だれか", True),
    ],
)
def test_a_text_is_found_however_a_page_writes_it(text: str, holds: bool) -> None:
    assert Sought.of([(TEXT, NAME), ("短い", "だれか")]).is_in(text) is holds


@pytest.mark.parametrize(
    ("name", "text", "holds"),
    [
        ("k", "<p>thanks</p>", False),
        ("波", "<p>波の音</p>", False),
        ("波", "<b>波</b>: <p>この書き込みは「消して」ください & 全部。</p>", True),
        ("k", "<b>k</b>: 短い", True),
        ("まめ", "<b>まめ</b>", True),
        ("", "<p>なにか</p>", False),
    ],
)
def test_a_name_that_is_part_of_any_word_is_not_enough_alone(name: str, text: str, holds: bool) -> None:
    assert Sought.of([(TEXT, name), ("短い", name)], [name]).is_in(text) is holds
