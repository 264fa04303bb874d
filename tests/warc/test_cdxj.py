"""The keys of addresses, the lines of an index, and the search in a sorted file."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.archive.safe_files import InnerPath
from exporter.errors import ArchiveDamaged
from exporter.warc.cdxj import CaptureIndex, IndexLine, surt

MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
KEYS = [
    ("http://www.example.com/", "com,example)/"),
    ("https://WWW2.Example.com:443/A/", "com,example)/a"),
    ("http://example.com:8080/a", "com,example:8080)/a"),
    ("http://user:pw@example.com/a#part", "com,example)/a"),
    ("http://example.com/a/./b/../c//d/", "com,example)/a/c/d"),
    ("http://example.com/?b=2&a=1&b=1", "com,example)/?a=1&b=1&b=2"),
    ("http://example.com/%7Eme/%e3%81%82", "com,example)/~me/%e3%81%82"),
    ("http://example.com/あ", "com,example)/%e3%81%82"),
    ("http://例え.jp/", "jp,xn--r8jz45g)/"),
    ("http://[2001:db8::1]:81/a", "[2001:db8::1]:81)/a"),
    ("http://192.168.0.1/a", "1,0,168,192)/a"),
    ("http://example.com", "com,example)/"),
    ("http://example.com./", "com,example)/"),
    ("mailto:a@example.com", "mailto:a@example.com"),
    ("http://[::1", "http://[::1"),
    ("http://example.com/%2525252541", "com,example)/a"),
]


@pytest.mark.parametrize(("url", "key"), KEYS)
def test_the_key_of_an_address(url: str, key: str) -> None:
    assert surt(url) == key


@given(st.text() | st.text().map("http://{}/".format) | st.text().map("http://example.com/{}".format))
def test_every_text_has_a_key_of_one_word(text: str) -> None:
    key = surt(text)
    assert key.isascii()
    assert not any(ord(letter) <= 0x20 for letter in key)
    assert surt(text) == key


@given(st.characters(codec="utf-8").map(lambda letter: letter * 3), st.sampled_from(["\ud800", "\udfff", "\x00"]))
def test_half_a_character_has_a_key(text: str, half: str) -> None:
    for url in (f"http://{text}{half}/", f"http://example.com/{half}{text}", f"http://example.com/?{half}", half):
        assert surt(url).isascii()


def test_many_percent_signs_take_no_time() -> None:
    assert surt("http://example.com/" + "%25" * 100_000)
    assert surt("http://example.com/" + "%" * 100_000 + "32%35" * 1000)


ADDRESSES = st.builds(
    "http://{}.example/{}?{}".format,
    st.sampled_from(["a", "b", "ab", "www.a", "z-z"]),
    st.text("aA/bz~%é ", max_size=8),
    st.text("a=&1", max_size=4),
) | st.text("xyz", min_size=3, max_size=3000).map("http://long.example/{}".format)


def written(folder: Path, urls: list[str]) -> tuple[CaptureIndex, list[IndexLine]]:
    """Write an index with a line for each address."""
    lines = sorted(
        (
            IndexLine.of(
                url, MOMENT, status=200, mime="text/html", digest="sha1:X", filename="x.warc.gz", offset=at, length=1
            )
            for at, url in enumerate(urls)
        ),
        key=IndexLine.encode,
    )
    path = folder / "index.cdxj"
    path.write_bytes(b"".join(line.encode() for line in lines))
    return CaptureIndex(InnerPath.rooted(folder) / "index.cdxj"), lines


@settings(max_examples=50)
@given(st.lists(ADDRESSES, max_size=60), ADDRESSES)
def test_the_search_finds_what_a_scan_finds(urls: list[str], other: str) -> None:
    with TemporaryDirectory() as folder:
        index, lines = written(Path(folder), urls)
        assert list(index) == lines
        for url in {*urls, other}:
            exact = [line for line in lines if line.url == url]
            same = exact or [line for line in lines if line.key == surt(url)]
            assert index.find(url) == sorted(same, key=lambda line: (line.timestamp, line.offset))


def test_an_index_is_sorted_as_sort_does(tmp_path: Path) -> None:
    urls = [f"http://{host}.example/{path}" for host in ("b", "a", "a-b", "ab") for path in ("", "b", "A", "é", "?x=1")]
    written(tmp_path, urls)
    lines = (tmp_path / "index.cdxj").read_bytes().splitlines()
    assert lines == sorted(lines)


def test_a_large_index_is_searched_without_reading_it(tmp_path: Path) -> None:
    urls = [f"http://example.com/{number:08d}/{'x' * 200}" for number in range(20_000)]
    index, lines = written(tmp_path, urls)
    for number in (0, 1, 9_999, 19_998, 19_999):
        assert [line.url for line in index.find(urls[number])] == [urls[number]]
    assert index.find("http://example.com/5") == []
    assert index.find("http://zzz.example/") == index.find("http://aaa.example/") == []
    assert len(lines) == 20_000


def test_addresses_with_the_same_key_count_unless_one_is_exact(tmp_path: Path) -> None:
    index, _ = written(tmp_path, ["http://example.com/A", "http://example.com/a", "https://www.example.com/a/"])
    assert [line.url for line in index.find("http://example.com/a")] == ["http://example.com/a"]
    assert len(index.find("https://example.com/a")) == 3


@given(st.binary(max_size=200))
def test_any_line_is_read_or_refused(data: bytes) -> None:
    try:
        line = IndexLine.decode(data)
    except ValueError:
        return
    assert line.moment.tzinfo is UTC


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "index.cdxj").write_bytes(b"key 20260102030405 {}\n\x1b[2J")
    with pytest.raises(ArchiveDamaged, match=r"has a line that is not an index line: key 20260102030405"):
        list(CaptureIndex(InnerPath.rooted(tmp_path) / "index.cdxj"))
