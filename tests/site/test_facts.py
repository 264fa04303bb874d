"""The facts that the site stores about records: they never show, and save reading unchanged records."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from exporter import lossless_json
from exporter.archive.state import State
from exporter.export.interface import RecordSource
from exporter.model.kinds import Kind
from exporter.service.registry import DEFAULT_SERVICE
from exporter.site import SiteOptions, search_data
from exporter.site.history import ArchiveHistory
from exporter.site.view import SiteView
from tests.archive.builder import Built, record
from tests.site.building import build
from tests.site.test_view import entry, many_entries

pytestmark = pytest.mark.no_cover

ENTRIES = 32
_OPTIONS = {"entry_addresses": ("https://{blog_id}/Entry/{entry_id}/",)}
_IDS = st.sampled_from(["1", "2", "3", "10", "007", "x", "あ"])
_LINKED = '<a href="https://sea.example/Entry/2/">前</a>'


def anew(built: Built, **options: Any) -> dict[str, bytes]:
    """Make a site without stored facts."""
    reader = built.reader
    with contextlib.closing(reader.state()) as state:
        view = SiteView(DEFAULT_SERVICE, ArchiveHistory(reader, DEFAULT_SERVICE), SiteOptions(**options))
        return {file.path: file.render() for file in view.files(state)}


def there(built: Built) -> dict[str, bytes]:
    site = built.layout.latest / "site"
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in site.rglob("*") if path.is_file()}


def lines_of(built: Built) -> list[bytes]:
    return Path(built.layout.site_facts).read_bytes().splitlines(keepends=True)


def forge(built: Built, change: Callable[[list[Any]], Any], **options: Any) -> None:
    """Change each row, and give each line the hash for its new content."""
    edition = SiteView(DEFAULT_SERVICE, None, SiteOptions(**options)).edition
    made = []
    for line in lines_of(built):
        kind, _, text = line.split(b" ", 2)
        forged = lossless_json.dumps([change(row) for row in lossless_json.loads(text)]) + b"\n"
        digest = sha256(f"{kind.decode()} {edition}\n".encode() + forged).hexdigest()
        made.append(b"%b %b %b" % (kind, digest.encode(), forged))
    Path(built.layout.site_facts).write_bytes(b"".join(made))


_changes = st.lists(
    st.dictionaries(
        st.tuples(st.sampled_from([Kind.ENTRIES, Kind.ENTRY_LIST, Kind.COMMENTS]), _IDS),
        st.one_of(st.none(), st.integers(0, 3)),
        min_size=1,
        max_size=5,
    ),
    min_size=2,
    max_size=4,
)


def _made(kind: Kind, record_id: str, look: int) -> bytes:
    if kind is Kind.ENTRIES:
        text = f"本文{look}{_LINKED * (look % 2)}"
        return record(entry_id=record_id, title=f"題{look}", entry_text=text, year=str(2014 + look), mon="1", day="2")
    if kind is Kind.ENTRY_LIST:
        return record(entry_id=record_id, category=f"分類{look % 2}")
    text = f"声{look}{_LINKED * (look % 2)}"
    return record(cm_id=record_id, entry_id=str(look), cm_text=text, regist_date=f"201{look}-02-03 04:05:06")


@settings(max_examples=6, deadline=None)
@example(changes=[{(Kind.COMMENTS, "1"): 1}, {(Kind.ENTRIES, "1"): 0}])
@given(changes=_changes)
def test_a_site_made_with_stored_facts_equals_one_made_without(
    changes: list[dict[tuple[Kind, str], int | None]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        built = Built(Path(folder) / "a")
        for each in changes:
            known = built.states[-1] if built.states else {kind: {} for kind in Kind}
            version: dict[Kind, dict[str, bytes | None]] = {}
            for (kind, record_id), look in each.items():
                if look is not None:
                    version.setdefault(kind, {})[record_id] = _made(kind, record_id, look)
                elif record_id in known[kind]:
                    version.setdefault(kind, {})[record_id] = None
            built.commit(version)
            build(built, **_OPTIONS)
            assert there(built) == anew(built, **_OPTIONS)


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Built:
    """A blog large enough to have shards, whose site is made before an entry changes."""
    monkeypatch.setattr(search_data, "SMALL_BLOG", 20)
    monkeypatch.setattr(search_data, "_MEAN_CHUNK_POSTS", 4)
    built = many_entries(tmp_path / "a", ENTRIES)
    built.commit(
        {Kind.COMMENTS: {str(number): record(cm_id=str(number), entry_id=str(number % 7)) for number in range(1, 30)}}
    )
    build(built)
    built.commit({Kind.ENTRIES: {"7": entry(7, "新しい題")}})
    return built


class Counting:
    """A state that counts the records that are read."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.blog_id = state.blog_id
        self.names = state.names
        self.read: list[tuple[Kind, str]] = []

    def ids(self, kind: Kind) -> Sequence[str]:
        return self._state.ids(kind)

    def identity(self, kind: Kind, record_id: str) -> bytes | None:
        return self._state.identity(kind, record_id)

    def load(self, kind: Kind, record_id: str) -> dict[str, Any] | None:
        self.read.append((kind, record_id))
        return self._state.load(kind, record_id)

    def scan(self, kind: Kind) -> Iterator[tuple[str, dict[str, Any]]]:
        for record_id, raw in self._state.scan(kind):
            self.read.append((kind, record_id))
            yield record_id, raw


def _list(built: Built) -> list[tuple[Kind, str]]:
    """List the site's files without making any, and return the records that were read."""
    with contextlib.closing(built.reader.state()) as state:
        records = Counting(state)
        source: RecordSource = records
        history = ArchiveHistory(built.reader, DEFAULT_SERVICE)
        for _ in SiteView(DEFAULT_SERVICE, history, SiteOptions(), built.layout).files(source):
            pass
        return records.read


def test_only_changed_records_are_read(known: Built) -> None:
    assert _list(known) == [(Kind.ENTRIES, "7")]
    assert _list(known) == []


def test_a_new_shard_copies_the_pairs_of_other_chunks_from_the_previous_one(
    known: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int] = []
    pairs_of = search_data.pairs_of

    def counted(entries: list[list[Any]]) -> set[str]:
        found.append(len(entries))
        return pairs_of(entries)

    monkeypatch.setattr(search_data, "pairs_of", counted)
    build(known)
    assert len(found) == 1
    assert there(known) == anew(known)


@pytest.mark.parametrize("cut", [0, 1, 2, 3, 4])
@pytest.mark.sample(2)
def test_a_damaged_line_is_ignored(known: Built, cut: int) -> None:
    lines = lines_of(known)
    assert [line.split(b" ")[0] for line in lines] == [b"entry_list", b"comments", b"entries", b"related", b"shards"]
    lines[cut] = lines[cut].replace(b"1", b"2", 1)
    Path(known.layout.site_facts).write_bytes(b"".join(lines))
    build(known)
    assert there(known) == anew(known)


@pytest.mark.parametrize(
    "change",
    [
        lambda _: [],
        lambda row: [5, *row[1:]],
        lambda row: [*row[:-1], ["a", 5]],
        pytest.param(lambda _: "not a row", marks=pytest.mark.thorough),
        pytest.param(lambda row: row[:2], marks=pytest.mark.thorough),
        pytest.param(lambda row: [*row, "more"], marks=pytest.mark.thorough),
        pytest.param(lambda row: [row[0], row[1][::-1], *row[2:]], marks=pytest.mark.thorough),
        pytest.param(lambda row: [*row[:2], None, *row[3:]], marks=pytest.mark.thorough),
        pytest.param(lambda row: [*row[:2], *([5] for _ in row[2:])], marks=pytest.mark.thorough),
        pytest.param(
            lambda row: [*row[:2], "no date", *row[3:]] if len(row) == 10 else row, marks=pytest.mark.thorough
        ),
        pytest.param(lambda row: [*row[:3], 10**9, *row[4:]], marks=pytest.mark.thorough),
    ],
)
@pytest.mark.sample(1)
def test_a_forged_row_is_ignored(known: Built, change: Callable[[list[Any]], Any]) -> None:
    forge(known, change)
    build(known)
    assert there(known) == anew(known)


def test_a_changed_shard_is_made_again(known: Built) -> None:
    for path in (known.layout.latest / "site" / "data").glob("pairs-*"):
        path.write_bytes(b'blogData("pairs","1","\\n");\n')
    build(known)
    assert there(known) == anew(known)


def test_a_forged_shard_with_a_valid_hash_does_no_harm(known: Built) -> None:
    for content in (b"", b"no script", b'blogData("pairs","1",5);\n', 'blogData("pairs","1","\\nあいう");\n'.encode()):
        for path in (known.layout.latest / "site" / "data").glob("pairs-*"):
            path.write_bytes(content)
        digest = sha256(content).hexdigest()
        forge(known, lambda row: [row[0], digest, *row[2:]] if "pairs" in row[0] else row)  # noqa: B023  called at once
        known.commit({Kind.ENTRIES: {"8": entry(8, f"題{digest}")}})
        build(known)
        assert digest in (known.layout.latest / "site" / "entry" / "8.html").read_text("utf-8")


def test_without_a_layout_no_facts_are_stored(known: Built) -> None:
    known.layout.site_facts.remove()
    anew(known)
    assert not known.layout.site_facts.exists()
