"""Forgetting removes records from every place, changes nothing else, and survives a kill at any point."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import html
import json
import os
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from exporter import lossless_json
from exporter.archive import forgetting
from exporter.archive.archive import Archive
from exporter.archive.documents import append_run
from exporter.archive.forgotten import Suppressed, newest_name, notes_in, read_notes, renamed_hashes
from exporter.archive.layout import Layout, manifest_sha256
from exporter.archive.verify import verify
from exporter.errors import ArchiveDamaged, NoSuchRecord, UsageError
from exporter.library.forget import ForgettingRequest, find, forget
from exporter.library.views import rebuild
from exporter.model.kinds import Kind
from exporter.service.declarations import BLOG_V1
from exporter.settings import Settings, resolve
from tests.archive.versions import ArchiveMaker, comment, entry, plain_states
from tests.support.instants import copy_with_links, instants
from tests.support.local_worker import LocalWorker

NAME = "忘れてほしい人"
TEXT = "この書き込みは「消して」ください & <b>全部</b>。"
URL = "https://forget-me.example/日記?a=1"
DIGESTS = [hashlib.sha256(b"x" * size).hexdigest() for size in (1, 2, 3)]


def asset(url: str, digest: str, *entries: str) -> dict[str, Any]:
    return {"url": url, "status": 200, "content_type": "image/jpeg", "bytes": DIGESTS.index(digest) + 1, "sha256": digest, "error": None,
            "refs": [{"entry": each} for each in entries]}  # fmt: skip


def of_name(cm_id: str, text: str = TEXT, entry_id: str = "1") -> dict[str, Any]:
    return comment(cm_id, entry_id, text, name=NAME, url=URL, url_text=URL)


def made(root: Path, options: dict[str, str] | None = None) -> Layout:
    """Return an archive of four versions in which the records come, change, go and come back."""
    maker = ArchiveMaker(root / "archive")
    maker.commit(
        {
            Kind.ENTRIES: {"1": entry("1"), "2": entry("2", "秘密の題名", "<p>秘密の本文です</p>")},
            Kind.ENTRY_LIST: {"1": {"entry_id": "1"}, "2": {"entry_id": "2", "title": "秘密の題名"}},
            Kind.COMMENTS: {"7": of_name("7"), "8": comment("8"), "9": comment("9", "2", "秘密へのコメント")},
            Kind.ASSETS: {"u": asset("u", DIGESTS[0], "2"), "v": asset("v", DIGESTS[1], "1", "2")},
        }
    )
    maker.commit(
        {Kind.COMMENTS: {"7": of_name("7", "別の文"), "10": of_name("10")}, Kind.ENTRIES: {"1": entry("1", "新")}}
    )
    maker.commit({Kind.COMMENTS: {"7": None, "11": comment("11")}, Kind.ASSETS: {"v": asset("v", DIGESTS[1], "1")}})
    maker.commit({Kind.COMMENTS: {"7": of_name("7")}, Kind.ENTRIES: {"3": entry("3", text=f"<p>{NAME}さんへ</p>")}})
    layout = maker.layout
    for number, digest in enumerate(DIGESTS):
        folder = layout.assets / digest[:2]
        folder.mkdir(mode=0o700)
        (folder / f"{digest}.jpg").write_bytes(b"x" * (number + 1))
    completeness = {
        "complete": False,
        "comments": {"listed": 5, "saved": 5, "left_out": {"pending": 0, "lost": 0, "by_choice": 0}},
    }
    problems = [
        {"kind": "comments", "id": "7", "reason": f"quotes {NAME}"},
        {"kind": "entries", "id": "3", "reason": "timed out"},
    ]
    for outcome in ("partial", "saved"):
        run = {"started_at": "2026-01-09T00:00:00Z", "finished_at": "2026-01-09T00:00:01Z", "outcome": outcome}
        append_run(layout, {**run, "version": 4, "completeness": completeness, "problems": problems})
        problems = []
    rebuild(Archive.open(layout.root), resolve(options or {}))
    return layout


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forget")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setattr("exporter.site.thumbnails.Worker", LocalWorker)
        return Path(made(folder).root)


@pytest.fixture
def layout(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    copy_with_links(template, tmp_path / "archive")
    return Layout(tmp_path / "archive")


@pytest.fixture
def settings() -> Settings:
    return resolve({})


def damages(root: Path) -> list[str]:
    return [f"{each.code} {each.path}: {each.detail}" for each in verify(Archive.open(root)) if each.damage]


def spelled(text: str) -> Iterator[bytes]:
    """Yield a text as any file might hold it."""
    escaped = json.dumps(text)[1:-1]
    for each in (text, escaped, escaped.upper(), html.escape(text), html.escape(text, quote=False)):
        yield each.encode()
    yield json.dumps(text, ensure_ascii=False)[1:-1].encode()
    yield "".join(f"&#{ord(each)};" for each in text).encode()
    yield "".join(f"&#x{ord(each):x};" for each in text).encode()
    for safe in ("", "/:?=&"):
        yield quote(text, safe=safe).encode()
        yield quote(text, safe=safe).lower().encode()
    for encoding in ("utf-16-le", "utf-16-be", "shift_jis", "euc-jp", "iso-2022-jp"):
        yield text.encode(encoding, "replace")


def contents(data: bytes) -> Iterator[bytes]:
    """Yield a file's bytes, and the content of every gzip member in it, also of nested ones."""
    yield data
    start = data.find(b"\x1f\x8b\x08")
    while start >= 0:
        inflater = zlib.decompressobj(31)
        with contextlib.suppress(zlib.error):
            yield from contents(inflater.decompress(data[start:]))
        start = data.find(b"\x1f\x8b\x08", start + 1)


def places_with(folders: list[Path], *texts: str) -> list[str]:
    """Return the paths that have a text in their names or bytes, in any form."""
    forms = {form for text in texts for form in spelled(text)}
    found = []
    for path in (path for folder in folders for path in folder.rglob("*")):
        held = [os.fsencode(str(path))] + (list(contents(path.read_bytes())) if path.is_file() else [])
        found += [str(path) for data in held if any(form in data for form in forms)]
    return found


def test_the_search_of_these_tests_finds_every_form(tmp_path: Path) -> None:
    forms = sorted({*spelled(TEXT)})
    for number, form in enumerate(forms):
        (tmp_path / str(number)).write_bytes(gzip.compress(b"before" + gzip.compress(form)) if number % 2 else form)
    assert len(set(places_with([tmp_path], TEXT))) == len(forms) > 12


def test_all_comments_of_a_name_are_nowhere_any_more(layout: Layout, tmp_path: Path, settings: Settings) -> None:
    folders = [layout.root, tmp_path / "cache", tmp_path / "config"]
    assert places_with(folders, TEXT, URL)
    before = plain_states(layout.root)
    (layout.work / "search.txt").write_text(TEXT)
    with sqlite3.connect(layout.work / "exchanges.sqlite") as database:
        database.execute("CREATE TABLE t (x)")
        database.execute("INSERT INTO t VALUES (?)", (TEXT,))
    forget(Archive.open(layout.root), settings, ForgettingRequest(authors=(NAME,)))
    assert places_with(folders, TEXT, URL, "別の文") == []
    # The entry that quotes the name stays, and so do the pages made from it.
    held = {path.removeprefix(f"{layout.root}/").split("/")[0] for path in places_with(folders, NAME)}
    assert held <= {"versions", "latest", ".work"}
    assert damages(layout.root) == []
    for number, state in plain_states(layout.root).items():
        kept = {
            kind: {key: data for key, data in before[number][kind].items() if (kind, key) not in GONE} for kind in Kind
        }
        assert state == kept, number


GONE = {(Kind.COMMENTS, "7"), (Kind.COMMENTS, "10")}


def test_an_entry_goes_with_its_comments_and_the_files_that_only_it_used(layout: Layout, settings: Settings) -> None:
    before = plain_states(layout.root)
    forget(Archive.open(layout.root), settings, ForgettingRequest(entries=("2",)))
    assert places_with([layout.root], "秘密の題名", "秘密の本文です", "秘密へのコメント") == []
    stored = {path.name for path in layout.assets.rglob("*.jpg")}
    assert stored == {f"{DIGESTS[1]}.jpg", f"{DIGESTS[2]}.jpg"}, "a file that nothing named is left alone"
    gone = {(Kind.ENTRIES, "2"), (Kind.ENTRY_LIST, "2"), (Kind.COMMENTS, "9"), (Kind.ASSETS, "u")}
    for number, state in plain_states(layout.root).items():
        for kind in set(Kind) - {Kind.ASSETS}:
            kept = {key: data for key, data in before[number][kind].items() if (kind, key) not in gone}
            assert state[kind] == kept
        assert list(state[Kind.ASSETS]) == ["v"]
        assert json.loads(state[Kind.ASSETS]["v"])["refs"] == [{"entry": "1"}]
    assert damages(layout.root) == []
    assert Archive.open(layout.root).manifest(1).counts["assets"].total == 1
    assert Archive.open(layout.root).manifest(3).counts["assets"].changed == 0


def test_a_picture_that_another_entry_shows_under_another_address_stays(tmp_path: Path, settings: Settings) -> None:
    maker = ArchiveMaker(tmp_path / "archive")
    maker.commit(
        {
            Kind.ENTRIES: {"1": entry("1"), "2": entry("2")},
            Kind.ASSETS: {"u": asset("u", DIGESTS[0], "2"), "w": asset("w", DIGESTS[0], "1")},
        }
    )
    picture = maker.layout.assets / DIGESTS[0][:2] / f"{DIGESTS[0]}.jpg"
    picture.parent.mkdir(mode=0o700)
    picture.write_bytes(b"x")
    forget(Archive.open(maker.layout.root), settings, ForgettingRequest(entries=("2",)))
    assert picture.read_bytes() == b"x"
    assert damages(maker.layout.root) == []


def test_a_plan_on_disk_deletes_no_picture_that_a_record_names(layout: Layout, settings: Settings) -> None:
    """A plan names what its run had not yet deleted; it may be a stranger's."""
    plan = forgetting.Forgetting(
        "2026-01-01T00:00:00Z", {Kind.COMMENTS: frozenset({"8"})}, {"comments": 1}, assets=frozenset(DIGESTS)
    )
    forgetting.begin(layout, plan)
    rebuild(Archive.open(layout.root), settings)
    assert forgetting.pending(layout) is None
    assert {path.name for path in layout.assets.rglob("*.jpg")} == {f"{each}.jpg" for each in DIGESTS[:2]}
    assert damages(layout.root) == []


def test_records_of_assets_from_a_stranger_do_no_harm(tmp_path: Path, settings: Settings) -> None:
    maker = ArchiveMaker(tmp_path / "archive")
    odd = {
        "none": None,
        "number": 5,
        "texts": ["x", {"entry": ["1"]}, {"entry": "1"}],
        "empty": [],
        "own": [{"entry": "1"}],
    }
    assets = {url: {"url": url, "status": 404, "sha256": None, "refs": refs} for url, refs in odd.items()}
    maker.commit(
        {Kind.ENTRIES: {"1": entry("1"), "2": entry("2")}, Kind.ASSETS: {**assets, "export:../../x": {"url": 1}}}
    )
    root = maker.layout.root
    append_run(
        maker.layout, {"started_at": "2026-01-09T00:00:00Z", "finished_at": "2026-01-09T00:00:01Z", "outcome": "saved"}
    )
    forget(Archive.open(root), settings, ForgettingRequest(entries=("1",)))
    [state] = plain_states(root).values()
    assert list(state[Kind.ENTRIES]) == ["2"]
    assert "own" not in state[Kind.ASSETS]
    assert json.loads(state[Kind.ASSETS]["texts"])["refs"] == ["x", {"entry": ["1"]}]
    assert damages(root) == []


def test_the_note_says_how_many_and_never_which(layout: Layout, settings: Settings) -> None:
    old = {number: manifest_sha256(layout, number) for number in (1, 2, 3, 4)}
    forget(Archive.open(layout.root), settings, ForgettingRequest(comments=("8",)))
    forget(Archive.open(layout.root), settings, ForgettingRequest(comments=("7", "10")))
    first, second = notes = read_notes(layout)
    assert (first.records, second.records) == ({"entries": 0, "comments": 1}, {"entries": 0, "comments": 2})
    assert first.salt == second.salt
    text = layout.forgotten.read_bytes()
    assert not any(form in text for word in (NAME, TEXT, URL) for form in spelled(word))
    renamed = renamed_hashes(notes)
    for number, digest in old.items():
        assert digest is not None
        assert newest_name(renamed, digest) == manifest_sha256(layout, number)
    kept_out = Suppressed(notes)
    assert [each for each in ("7", "8", "9", "10", "11") if kept_out.has(Kind.COMMENTS, BLOG_V1.name, each)] == [
        "7",
        "8",
        "10",
    ]
    assert not kept_out.has(Kind.ENTRIES, BLOG_V1.name, "7")
    assert not kept_out.has(Kind.COMMENTS, "movable-type", "7")


def test_a_version_that_changed_before_nothing_else_keeps_its_hash(layout: Layout, settings: Settings) -> None:
    old = manifest_sha256(layout, 2)
    forget(Archive.open(layout.root), settings, ForgettingRequest(comments=("11",)))
    assert manifest_sha256(layout, 2) == old
    assert [each["version"] for each in read_notes(layout)[0].versions] == [3, 4]


def test_the_log_of_runs_loses_the_quotation_alone(layout: Layout, settings: Settings) -> None:
    forget(Archive.open(layout.root), settings, ForgettingRequest(authors=(NAME,)))
    first, second, line = Archive.open(layout.root).runs()
    assert [each["id"] for each in first["problems"]] == ["3"]
    assert second["outcome"] == "saved"
    assert line["forgotten"]["records"] == {"entries": 0, "comments": 2}
    tally = line["completeness"]["comments"]
    assert (tally["saved"], tally["left_out"]["by_choice"]) == (3, 2)
    assert next(Archive.open(layout.root).newest_backups())["outcome"] == "saved"


def test_what_quotes_a_record_is_listed_and_stays(layout: Layout, settings: Settings) -> None:
    found = find(Archive.open(layout.root), settings, ForgettingRequest(authors=(NAME,)))
    assert found.mentions == [(Kind.ENTRIES, "3")]
    assert (found.comments, found.lines, sorted(found.versions)) == (2, 5, [1, 2, 3, 4])
    before = layout.latest_segment(Kind.ENTRIES).read_bytes()
    forget(Archive.open(layout.root), settings, ForgettingRequest(authors=(NAME,)))
    assert layout.latest_segment(Kind.ENTRIES).read_bytes() == before


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (ForgettingRequest(), UsageError),
        (ForgettingRequest(comments=("99",)), NoSuchRecord),
        (ForgettingRequest(authors=("だれも",)), NoSuchRecord),
        (ForgettingRequest(entries=("99", "2")), NoSuchRecord),
    ],
)
def test_a_request_for_nothing_changes_nothing(
    layout: Layout, settings: Settings, request_: ForgettingRequest, error: type[Exception]
) -> None:
    before = {path: path.read_bytes() for path in layout.versions.rglob("*") if path.is_file()}
    with pytest.raises(error):
        find(Archive.open(layout.root), settings, request_)
    assert {path: path.read_bytes() for path in layout.versions.rglob("*") if path.is_file()} == before
    assert not layout.forgotten.exists()


def test_a_damaged_archive_is_refused_and_unchanged(layout: Layout, settings: Settings) -> None:
    path = layout.segment(2, Kind.ENTRIES)
    path.write_bytes(path.read_bytes().replace("新".encode(), "旧".encode()))
    before = {path: path.read_bytes() for path in layout.versions.rglob("*") if path.is_file()}
    with pytest.raises(ArchiveDamaged, match="Nothing was forgotten"):
        forget(Archive.open(layout.root), settings, ForgettingRequest(comments=("8",)))
    assert {path: path.read_bytes() for path in layout.versions.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("harm", ["a line", "a hash", "the file", "an older manifest", "a forged note"])
@pytest.mark.sample(2)
def test_damage_is_told_from_forgetting(layout: Layout, settings: Settings, harm: str) -> None:
    forget(Archive.open(layout.root), settings, ForgettingRequest(comments=("8",)))
    assert damages(layout.root) == []
    data = layout.forgotten.read_bytes()
    if harm == "a line":
        layout.forgotten.write_bytes(data.replace(b'"comments":1', b'"comments":2'))
    elif harm == "a hash":
        note = notes_in(data)[0]
        layout.forgotten.write_bytes(data.replace(note.versions[0]["after"].encode(), b"0" * 64))
    elif harm == "the file":
        layout.forgotten.unlink()
    elif harm == "an older manifest":
        path = layout.manifest(2)
        path.write_bytes(path.read_bytes().replace(b'"tool"', b'"toll"'))
    else:
        layout.forgotten.write_bytes(data + data)
    assert damages(layout.root)
    if harm in {"the file", "a forged note"}:
        with pytest.raises(ArchiveDamaged, match="restore it from another"):
            read_notes(layout)


@pytest.mark.parametrize("data", [b"{", b"{}\n", b"[]\n", b"\xff\n", b'{"at":1}\n', b"\n\n"])
def test_notes_of_a_stranger_are_one_clear_line(layout: Layout, data: bytes) -> None:
    layout.forgotten.write_bytes(data)
    with pytest.raises(ArchiveDamaged, match=r"forgotten\.jsonl is damaged"):
        read_notes(layout)
    assert any("forgotten.jsonl" in each for each in damages(layout.root))


@pytest.mark.parametrize("data", [b"{", b"{}", b'{"at":"x","records":[]}', b"\xff"])
def test_a_damaged_plan_is_one_clear_line(layout: Layout, settings: Settings, data: bytes) -> None:
    layout.forgetting.write_bytes(data)
    with pytest.raises(ArchiveDamaged, match="Remove the file"):
        forget(Archive.open(layout.root), settings, ForgettingRequest(comments=("8",)))


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "step", [60, pytest.param(6, marks=pytest.mark.thorough), pytest.param(1, marks=pytest.mark.slow)]
)
def test_after_a_kill_at_any_call_the_next_command_finishes(
    layout: Layout, tmp_path: Path, settings: Settings, step: int
) -> None:
    expected = plain_states(layout.root)
    request = ForgettingRequest(authors=(NAME,))
    begun = 0
    with instants(Path(layout.root), tmp_path / "instants", step=step) as copies:
        forget(Archive.open(layout.root), settings, request)
    for number, root in enumerate(copies):
        assert damages(root) == [], number
        if (root / ".work/forgetting.json").exists():
            begun += 1
            rebuild(Archive.open(root), settings)
        elif not begun:
            assert plain_states(root) == expected
            forget(Archive.open(root), settings, request)
        assert damages(root) == [], number
        assert places_with([root], TEXT, URL, "別の文") == [], number
        assert len(read_notes(Layout(root))) == 1
        assert sum("forgotten" in run for run in Archive.open(root).runs()) == 1
        for version, state in plain_states(root).items():
            kept = {
                kind: {key: data for key, data in expected[version][kind].items() if (kind, key) not in GONE}
                for kind in Kind
            }
            assert state == kept, number
    assert begun > 40 // step


def test_a_writer_that_cannot_finish_a_removal_refuses(layout: Layout) -> None:
    plan = forgetting.Forgetting("2026-01-01T00:00:00Z", {Kind.COMMENTS: frozenset({"8"})}, {"comments": 1})
    forgetting.begin(layout, plan)
    assert [str(each.code) for each in verify(Archive.open(layout.root))] == ["forgetting"]
    with pytest.raises(ArchiveDamaged, match="blog-exporter forget"):
        forgetting.require_finished(layout)
    assert forgetting.pending(layout) == plan
    assert lossless_json.loads(layout.forgetting.read_bytes())["records"] == {"comments": ["8"]}
