from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.archive import atomic
from exporter.archive.archive import Archive
from exporter.archive.latest import write_latest
from exporter.errors import ArchiveDamaged, BlogExporterError, NoArchive, NoSuchRecord, UsageError
from exporter.model.kinds import Kind
from exporter.model.records import Comment, Post, Raw
from exporter.search import index as index_module
from exporter.search.folding import fold
from exporter.search.index import Hit, Index, index_path
from exporter.search.index_file import document_of, index_head
from exporter.search.query import Query, parse_query
from exporter.service.blog_v1 import BlogV1, Options
from exporter.service.interface import Records
from exporter.service.registry import DEFAULT_SERVICE
from tests.archive.versions import ArchiveMaker, comment, entry
from tests.support.in_process import InProcess

JST = timezone(timedelta(hours=9))
FAMILY = "👨\u200d👩\u200d👧"


@pytest.fixture(scope="module")
def maker(tmp_path_factory: pytest.TempPathFactory) -> ArchiveMaker:
    made = ArchiveMaker(tmp_path_factory.mktemp("search") / "archive")
    made.commit(
        {
            Kind.ENTRIES: {
                "1": entry("1", "海の日", "<p>ｶﾞﾗｽの風鈴と<b>波</b>の音。</p>"),
                "2": entry(
                    "2",
                    "山の日",
                    "<p>海が見えた。海、海。</p>",
                    year="2025",
                    ps_title="おまけ",
                    ps_text="ＡＢＣ朝ごはん",
                ),
                "3": entry("3", "家族", f"{FAMILY}と散歩\ud83d。Straße\x00の終わり", year="2020"),
                "4": entry("4", "無日付", "海の話", year="", mon="", day="", hour="", min="", sec=""),
            },
            Kind.ENTRY_LIST: {
                "1": {"entry_id": "1", "title": "海の日", "category": "日記"},
                "5": {"entry_id": "5", "title": "読めない海", "category": "下書き", "regist_date": "2019/05/05"},
            },
            Kind.COMMENTS: {
                "7": comment("7", "1", "海がきれい"),
                "8": comment("8", "2", "山もいい", name="うみ\"ねこ'"),
            },
            Kind.FILES: {
                "9": {
                    "file_id": "9",
                    "name": "UMI.JPG",
                    "title": "海の写真",
                    "explanation": "<i>浜</i>辺",
                    "mtime": "1700000000",
                }
            },
        }
    )
    return made


@pytest.fixture(scope="module")
def index(maker: ArchiveMaker) -> Iterator[Index]:
    with Index(maker.reader, DEFAULT_SERVICE) as found:
        yield found


@pytest.fixture(autouse=True)
def _expressions_are_searched_in_this_process(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Except for the tests of the process that can be killed."""
    if "processes" not in request.fixturenames:
        monkeypatch.setattr(index_module, "Worker", InProcess)


@pytest.fixture
def processes() -> None:
    """Let a search start its own process."""


def ids(hits: list[Hit]) -> list[str]:
    return [f"{hit.kind}/{hit.record_id}" for hit in hits]


def test_titles_come_first_then_bodies_then_comments(index: Index) -> None:
    hits = index.search(parse_query(["海"])).hits
    assert ids(hits) == ["entries/1", "files/9", "entries/5", "entries/2", "entries/4", "comments/7"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("音", ["entries/1"]),
        ("風鈴", ["entries/1"]),
        ("ガラス", ["entries/1"]),
        ("ｶﾞﾗｽ", ["entries/1"]),
        ("abc朝", ["entries/2"]),
        ("STRASSE", ["entries/3"]),
        ("\x00の", ["entries/3"]),
        (FAMILY, ["entries/3"]),
        ("👩", ["entries/3"]),
        ("\ud83d", ["entries/3"]),
        ("umi.jpg", ["files/9"]),
        ("i.j", ["files/9"]),
        ("浜辺", ["files/9"]),
        ("ねこ'", ["comments/8"]),
        ("下書き", ["entries/5"]),
        ("日記", ["entries/1"]),
        ("海 山", ["entries/2"]),
        ('"海 山"', []),
        ("海 波 風鈴", ["entries/1"]),
        ("AND", []),
        ("音波", []),
        ("が見海", []),
        ("*", []),
        ("(", []),
        ("通りすがり", ["comments/7"]),
    ],
)
def test_words(index: Index, words: str, found: list[str]) -> None:
    assert ids(index.search(parse_query([words])).hits) == found


def test_filters(index: Index) -> None:
    assert ids(index.search(parse_query(["海"], "comment")).hits) == ["comments/7"]
    assert ids(index.search(parse_query(["海"], since="2024-07-16", timezone=JST)).hits) == ["entries/2", "comments/7"]
    assert ids(index.search(parse_query(["海"], "entry", "2025-01-01", timezone=JST)).hits) == ["entries/2"]


def test_a_limit_keeps_the_best_and_counts_all(index: Index) -> None:
    found = index.search(parse_query(["海"], limit=2))
    assert (ids(found.hits), found.total) == (["entries/1", "files/9"], 6)


def test_a_hit_has_its_place(index: Index) -> None:
    (hit,) = index.search(parse_query(["abc"])).hits
    assert (hit.entry_id, hit.title, hit.field, hit.excerpt.text, hit.excerpt.marks) == (
        "2",
        "山の日",
        "continuation",
        "ＡＢＣ朝ごはん",
        ((0, 3),),
    )
    (hit,) = index.search(parse_query(["きれい"])).hits
    assert (hit.kind, hit.entry_id, hit.title, hit.field) == (Kind.COMMENTS, "1", "海の日", "text")
    assert hit.date is not None
    assert hit.date.isoformat() == "2024-07-16T00:00:00+09:00"
    assert index.search(parse_query(["無日付"])).hits[0].date is None


def test_marks_are_on_the_kanji_that_the_text_has(tmp_path: Path) -> None:
    made = ArchiveMaker(tmp_path / "archive")
    made.commit({Kind.ENTRIES: {"1": entry("1", "旅", "①葛\U000e0100城の髙﨑さん"), "2": entry("2", "1月", "無い")}})
    with Index(made.reader, DEFAULT_SERVICE) as found:
        (hit,) = (each.document() for each in found.search(parse_query(["高崎", "葛城", "①"])).hits)
        assert hit["excerpt"] == "①葛\U000e0100城の髙﨑さん"
        assert hit["marks"] == [[0, 4], [5, 7]]
        assert ids(found.search(parse_query(["1"])).hits) == ["entries/2"]


def test_a_comment_of_a_removed_entry_has_no_title(tmp_path: Path) -> None:
    made = ArchiveMaker(tmp_path / "archive")
    made.commit({Kind.COMMENTS: {"7": comment("7", "99")}})
    with Index(made.reader, DEFAULT_SERVICE) as found:
        assert found.search(parse_query(["きれい"])).hits[0].title == ""


def test_more_hits_come_first_and_then_the_newer(tmp_path: Path) -> None:
    made = ArchiveMaker(tmp_path / "archive")
    made.commit(
        {
            Kind.ENTRIES: {
                "1": entry("1", "x", "海"),
                "2": entry("2", "x", "海海"),
                "3": entry("3", "x", "海", year="2025"),
                "10": entry("10", "x", "海"),
                "4": entry("4", "x", "海", year="x"),
            }
        }
    )
    with Index(made.reader, DEFAULT_SERVICE) as found:
        assert [hit.record_id for hit in found.search(parse_query(["海"])).hits] == ["2", "3", "1", "10", "4"]


def test_by_date_newer_hits_come_first_regardless_of_rank(index: Index) -> None:
    hits = index.search(parse_query(["海"], by_date=True)).hits
    assert ids(hits) == ["entries/2", "comments/7", "entries/1", "files/9", "entries/5", "entries/4"]


def test_similar_spellings_are_listed_separately(tmp_path: Path) -> None:
    made = ArchiveMaker(tmp_path / "archive")
    made.commit(
        {
            Kind.ENTRIES: {
                "1": entry("1", "x", "サーバーの話"),
                "2": entry("2", "x", "ｻｰﾊﾞの話"),
                "3": entry("3", "さーば", "話〜"),
                "4": entry("4", "x", "サバの話", year="2025"),
                "5": entry("5", "サーバー", "作業"),
            },
            Kind.COMMENTS: {"7": comment("7", "1", "サ〜バーの話")},
        }
    )
    with Index(made.reader, DEFAULT_SERVICE) as found:
        result = found.search(parse_query(["サーバー", "話"]))
        assert (ids(result.hits), result.total) == (["entries/1"], 1)
        assert (ids(result.similar), result.similar_total) == (["entries/3", "entries/2", "comments/7"], 3)
        assert [hit.excerpt.text[slice(*hit.excerpt.marks[0])] for hit in result.similar] == [
            "さーば",
            "ｻｰﾊﾞ",
            "サ〜バー",
        ]
        few = found.search(parse_query(["サーバー", "話"], "entry", limit=2))
        assert (ids(few.hits), ids(few.similar), few.similar_total) == (["entries/1"], ["entries/3"], 2)
        assert found.search(parse_query(["話"])).similar_total == 0
        assert ids(found.search(parse_query(["さ.ば"], regex=True)).hits) == ["entries/3"]


def test_expressions(index: Index) -> None:
    hits = index.search(parse_query(["[海山]の日"], regex=True)).hits
    assert ids(hits) == ["entries/2", "entries/1"]
    assert hits[0].excerpt.text[slice(*hits[0].excerpt.marks[0])] == "山の日"
    assert ids(index.search(parse_query(["海"], "comment", "2024-01-01", regex=True, timezone=JST)).hits) == [
        "comments/7"
    ]
    assert index.search(parse_query(["x*"], regex=True)).hits == []
    assert ids(index.search(parse_query(["(?i)umi"], regex=True)).hits) == ["files/9"]


@pytest.mark.usefixtures("processes")
def test_a_hostile_expression_is_ended(tmp_path: Path) -> None:
    made = ArchiveMaker(tmp_path / "archive")
    made.commit({Kind.ENTRIES: {"1": entry("1", "x", "a" * 60 + "!")}})
    with Index(made.reader, DEFAULT_SERVICE) as found, pytest.raises(UsageError, match=r"more than 1\.5 seconds"):
        found.search(parse_query(["(a+)+$"], regex=True), regex_seconds=1.5)


def test_a_failing_expression_is_reported(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exporter.search.index.find_pattern", "builtins:int")
    with pytest.raises(BlogExporterError, match=r"failed: TypeError: int\(\)"):
        index.search(parse_query(["海"], regex=True))


def brute(documents: dict[str, list[str]], terms: tuple[str, ...]) -> set[str]:
    return {number for number, keys in documents.items() if all(any(term in key for key in keys) for term in terms)}


BODIES = st.text(alphabet="海山のはがかﾊﾟAbß \n👩\u200d\u3099.\"'*<&", max_size=25)


@settings(max_examples=30, deadline=None)
@given(
    titles=st.lists(BODIES, min_size=1, max_size=5),
    comments=st.lists(BODIES, max_size=4),
    words=st.lists(st.lists(BODIES, min_size=1, max_size=2), min_size=1, max_size=12),
)
def test_hits_equal_those_of_a_search_through_all_texts(
    tmp_path_factory: pytest.TempPathFactory, titles: list[str], comments: list[str], words: list[list[str]]
) -> None:
    made = ArchiveMaker(tmp_path_factory.mktemp("brute") / "archive")
    entries = {str(at): entry(str(at), text, text[::-1]) for at, text in enumerate(titles)}
    said = {str(at): comment(str(at), "0", text) for at, text in enumerate(comments)}
    made.commit({Kind.ENTRIES: entries, Kind.COMMENTS: said})
    documents = {
        f"entries/{key}": [fold(text) for text in document_of(Kind.ENTRIES, raw, None, DEFAULT_SERVICE).texts]
        for key, raw in entries.items()
    }
    documents |= {
        f"comments/{key}": [fold(text) for text in document_of(Kind.COMMENTS, raw, None, DEFAULT_SERVICE).texts]
        for key, raw in said.items()
    }
    with Index(made.reader, DEFAULT_SERVICE) as found:
        for wanted in words:
            terms = tuple(key for word in wanted if (key := fold(word)))
            if not terms:
                continue
            hits = found.search(Query(terms)).hits
            assert set(ids(hits)) == brute(documents, terms)
            assert len(hits) == len(set(ids(hits)))
            for hit in hits:
                assert hit.excerpt.marks
                assert any(fold(hit.excerpt.text[low:high]) for low, high in hit.excerpt.marks)


class CountingRecords(BlogV1):
    """Counts the records that are read; the ``last`` one raises KeyboardInterrupt, as Ctrl-C does."""

    def __init__(self, last: int | None = None) -> None:
        super().__init__()
        self.read = 0
        self._last = last

    def _count(self) -> None:
        self.read += 1
        if self.read == self._last:
            raise KeyboardInterrupt

    def post(self, raw: Raw | None, item: Raw | None = None) -> Post:
        self._count()
        return super().post(raw, item)

    def comment(self, raw: Raw) -> Comment:
        self._count()
        return super().comment(raw)


def small(root: Path) -> ArchiveMaker:
    made = ArchiveMaker(root / "archive")
    made.commit({Kind.ENTRIES: {"1": entry("1"), "2": entry("2", "山")}, Kind.COMMENTS: {"7": comment("7")}})
    return made


def hits_of(reader: Archive, word: str, at: int | None = None, *, service: Records = DEFAULT_SERVICE) -> list[str]:
    with Index(reader, service, at=at) as found:
        return ids(found.search(parse_query([word])).hits)


@pytest.mark.parametrize("latest", [False, True])
def test_the_index_is_made_once_and_updated_by_record(tmp_path: Path, latest: bool) -> None:
    """A search reads only the records of its hits if all are indexed, and it shows these records."""
    made = small(tmp_path)
    service = CountingRecords()

    def reads(word: str, found: list[str]) -> int:
        before = service.read
        assert hits_of(made.reader, word, service=service) == found
        return service.read - before

    if latest:
        write_latest(made.layout, made.reader.state(), [])
    assert reads("海の日", ["entries/1"]) == 3 + 1
    assert reads("海の日", ["entries/1"]) == 1
    made.commit({Kind.ENTRIES: {"1": entry("1", "川の日"), "3": entry("3", "空")}, Kind.COMMENTS: {"7": None}})
    if latest:
        write_latest(made.layout, made.reader.state(), [])
    assert reads("海の日", []) == 2
    assert reads("川", ["entries/1"]) == 1
    assert reads("きれい", []) == 0
    assert index_path(made.layout).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in made.layout.work.glob(".search*")] == []


def test_the_index_of_earlier_programs_is_removed(tmp_path: Path) -> None:
    made = small(tmp_path)
    made.layout.work.mkdir(exist_ok=True)
    outdated = made.layout.work / "search.sqlite"
    outdated.write_bytes(b"SQLite format 3")
    hits_of(made.reader, "海")
    assert not outdated.exists()


@pytest.mark.parametrize("known", [True, False])
def test_interrupted_indexing_leaves_the_previous_state(tmp_path: Path, known: bool) -> None:
    made = small(tmp_path)
    if known:
        hits_of(made.reader, "海")
        made.commit({Kind.ENTRIES: {"1": entry("1", "川の日")}})

    with pytest.raises(KeyboardInterrupt):
        Index(made.reader, CountingRecords(last=1 if known else 3))
    assert index_path(made.layout).exists() == known
    assert [path.name for path in made.layout.work.glob(".search*")] == []
    assert hits_of(made.reader, "川") == (["entries/1"] if known else [])


def test_an_index_with_dates_of_another_timezone_is_made_again(tmp_path: Path) -> None:
    made = small(tmp_path)
    for hours in (9, 0):
        service = BlogV1(Options(timezone=timezone(timedelta(hours=hours))))
        with Index(made.reader, service) as found:
            (hit,) = found.search(parse_query(["海の日"], "entry")).hits
        assert hit.date is not None
        assert hit.date.utcoffset() == timedelta(hours=hours)


def test_older_versions_have_a_temporary_index(tmp_path: Path) -> None:
    made = small(tmp_path)
    made.commit({Kind.ENTRIES: {"1": entry("1", "川の日")}})
    assert hits_of(made.reader, "海の日", 1) == ["entries/1"]
    assert not index_path(made.layout).exists()
    assert hits_of(made.reader, "海の日", 2) == []
    with pytest.raises(NoSuchRecord, match="no version 3"):
        Index(made.reader, DEFAULT_SERVICE, at=3)


def test_an_archive_without_a_version(tmp_path: Path) -> None:
    with pytest.raises(NoArchive):
        Index(ArchiveMaker(tmp_path / "archive").reader, DEFAULT_SERVICE)


def harm_text(path: Path) -> None:
    path.write_bytes(b"this is no index\n" * 1000)


def harm_empty(path: Path) -> None:
    path.write_bytes(b"")


def harm_edition(path: Path) -> None:
    path.write_bytes(b"0" + path.read_bytes())


def harm_edition_of_old(path: Path) -> None:
    harm_content(path)
    harm_edition(path)


def harm_content(path: Path) -> None:
    head, _, lines = path.read_bytes().partition(b"\n")
    edition, _, count = head.decode().split("\t")
    path.write_bytes(index_head(edition, "0 x", int(count)) + lines)


def harm_lines_of_old(path: Path) -> None:
    harm_content(path)
    path.write_bytes(path.read_bytes().replace(b"comments\t", b"nothing\t"))


@pytest.mark.parametrize(
    "harm",
    [Path.unlink, harm_text, harm_empty, harm_edition, harm_edition_of_old, harm_content, harm_lines_of_old],
)
def test_a_missing_or_damaged_index_is_made_again(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    made = small(tmp_path)
    assert hits_of(made.reader, "海の日") == ["entries/1"]
    whole = index_path(made.layout).read_bytes()
    harm(index_path(made.layout))
    assert hits_of(made.reader, "海の日") == ["entries/1"]
    assert index_path(made.layout).read_bytes() == whole


def cut_in_a_line(data: bytes) -> bytes:
    return data[:-10]


def cut_between_records(data: bytes) -> bytes:
    return b"".join(data.splitlines(keepends=True)[:-2])


def without_tabs(data: bytes) -> bytes:
    return data.replace(b"\t\xe6", b"\xe6")


def without_texts(data: bytes) -> bytes:
    return data.replace(b'["', b'[7,"')


def no_json(data: bytes) -> bytes:
    return data.replace(b"[", b"").replace(b'"1"', b"1x")


def another_kind(data: bytes) -> bytes:
    return data.replace(b"entries\t", b"nothing\t")


def another_text(data: bytes) -> bytes:
    return data.replace("山".encode(), "海の日".encode())


def another_record(data: bytes) -> bytes:
    return data.replace(b'entries\t"2"', b'entries\t"9"').replace("山".encode(), "海の日".encode())


def test_an_index_that_lost_a_record_is_made_again(tmp_path: Path) -> None:
    made = small(tmp_path)
    found = hits_of(made.reader, "山")
    assert found
    path = index_path(made.layout)
    whole = path.read_bytes()
    records = whole.splitlines(keepends=True)
    lost = next(place for place in range(1, len(records), 2) if "山".encode() in records[place + 1])
    path.write_bytes(b"".join(records[:lost] + records[lost + 2 :]))
    assert hits_of(made.reader, "山") == found
    assert path.read_bytes() == whole


@pytest.mark.parametrize("regex", [False, True])
@pytest.mark.parametrize("latest", [False, True])
@pytest.mark.parametrize(
    "harm",
    [cut_in_a_line, cut_between_records, without_tabs, without_texts, no_json, another_kind, another_text,
     another_record],
)  # fmt: skip
def test_index_entries_without_a_record_in_the_archive_are_never_shown(
    tmp_path: Path, harm: Callable[[bytes], bytes], regex: bool, latest: bool
) -> None:
    """The index may be forged or damaged; if the search notices, it makes a new one."""
    made = small(tmp_path)
    if latest:
        write_latest(made.layout, made.reader.state(), [])
    hits_of(made.reader, "海の日")
    path = index_path(made.layout)
    path.write_bytes(harm(path.read_bytes()))
    with Index(made.reader, DEFAULT_SERVICE) as found:
        assert ids(found.search(parse_query(["海の日"], regex=regex)).hits) == ["entries/1"]


@pytest.mark.parametrize("harm", ["gone", "damaged", "of another version"])
def test_records_are_read_from_the_versions_if_latest_lacks_them(tmp_path: Path, harm: str) -> None:
    made = small(tmp_path)
    made.commit({Kind.ENTRIES: {"1": entry("1", "川の日")}})
    write_latest(made.layout, made.reader.state(), [])
    hits_of(made.reader, "海")
    if harm == "gone":
        shutil.rmtree(made.layout.latest)
    elif harm == "damaged":
        path = made.layout.latest_segment(Kind.ENTRIES)
        path.write_bytes(path.read_bytes().replace("川".encode(), "谷".encode()))
    else:
        write_latest(made.layout, made.reader.fold(1), [])
    assert hits_of(made.reader, "川") == ["entries/1"]


def test_a_read_only_archive_can_be_searched(tmp_path: Path) -> None:
    made = small(tmp_path)
    made.layout.work.rmdir()
    made.layout.work.write_bytes(b"no folder")
    assert hits_of(made.reader, "海の日") == ["entries/1"]


def test_a_stale_index_that_cannot_be_written_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = small(tmp_path)
    hits_of(made.reader, "海")
    made.commit({Kind.ENTRIES: {"1": entry("1", "川の日")}})

    def refused(path: Path, **_: Any) -> None:
        raise PermissionError(path)

    monkeypatch.setattr(atomic, "make_folder", refused)
    assert hits_of(made.reader, "川") == ["entries/1"]


def test_no_space_for_an_index_gives_a_one_line_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = small(tmp_path)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BlogExporterError, match=r"No space left while writing .*No space left on device"):
        Index(made.reader, DEFAULT_SERVICE)
    assert list(made.layout.work.iterdir()) == []


@pytest.mark.parametrize("known", [True, False])
def test_a_damaged_archive_is_not_searched(tmp_path: Path, known: bool) -> None:
    made = small(tmp_path)
    if known:
        hits_of(made.reader, "海")
        made.commit({Kind.ENTRIES: {"1": entry("1", "川の日")}})
    path = made.layout.segment(1, Kind.ENTRIES)
    path.write_bytes(b"nonsense\n")
    with pytest.raises(ArchiveDamaged):
        Index(made.reader, DEFAULT_SERVICE)


def test_an_index_gets_its_name_once_its_content_is_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power cut in between leaves the old index, not an incomplete one."""
    made = small(tmp_path)
    done: list[str] = []
    replace = Path.replace

    def noted(path: Path, target: Path) -> Path:
        done.append("named")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", lambda _: done.append("durable"))
    monkeypatch.setattr(Path, "replace", noted)
    hits_of(made.reader, "海")
    assert done == ["durable", "named"]


def test_closing_removes_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made = small(tmp_path)
    made.commit({Kind.ENTRIES: {"1": None}})
    hits_of(made.reader, "海", 1)
    assert [path.name for path in tmp_path.iterdir()] == ["archive"]
