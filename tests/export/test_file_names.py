from __future__ import annotations

import unicodedata
from datetime import UTC, datetime
from pathlib import PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.export.names import NAME_BYTES, file_name, page_path, safe_id, slug

DAY = datetime(2024, 3, 5, 23, 59, tzinfo=UTC)
ANY_TEXT = st.text(alphabet=st.characters(codec=None), max_size=300)


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("海辺の町・その１", "2024-03-05-海辺の町-その１-42.md"),
        ("  Hello, World!  ", "2024-03-05-Hello-World-42.md"),
        ("", "2024-03-05-42.md"),
        ("../../etc/passwd", "2024-03-05-etc-passwd-42.md"),
        ("CON", "2024-03-05-CON-42.md"),
        ('<>:"/\\|?*', "2024-03-05-42.md"),
        ("か\u3099", "2024-03-05-が-42.md"),
        ("a\u202eb\u200bc\x00d\ud83de", "2024-03-05-a-b-c-d-e-42.md"),
        ("終わり。 . .", "2024-03-05-終わり-42.md"),
        ("😀", "2024-03-05-42.md"),
    ],
)
def test_file_name(title: str, expected: str) -> None:
    assert file_name(DAY, title, "42") == expected


def test_paths() -> None:
    assert page_path(DAY, "題", "42") == "2024/03/2024-03-05-題-42.md"
    assert page_path(None, "題", "42") == "undated/題-42.md"
    assert page_path(None, "", "42") == "undated/42.md"
    assert page_path(DAY.replace(year=7), "", "42") == "0007/03/0007-03-05-42.md"


@pytest.mark.parametrize("title", ["あ" * 400, "a" * 400, "𠮷" * 400, "か\u0301" * 400, "a" + "\u0301" * 1000])
def test_long_titles_are_cut_between_characters(title: str) -> None:
    name = file_name(DAY, title, "1" * 20)
    assert len(name.encode()) <= NAME_BYTES
    kept = name.removeprefix("2024-03-05").removesuffix("-" + "1" * 20 + ".md").removeprefix("-")
    assert unicodedata.normalize("NFC", title).startswith(kept)
    assert slug("か\u0301" * 3, 9) == "か\u0301"


@pytest.mark.parametrize(
    "record_id", ["../../x", "1" * 10_000, "４２", "", "a", "A", "4 2", "-1", "\ud800", "1\n", "CON", "42.0"]
)
def test_ids_that_are_no_plain_number_are_hashed(record_id: str) -> None:
    safe = safe_id(record_id)
    assert len(safe) == 17
    assert safe.isalnum()
    assert safe.isascii()


def test_plain_ids_stay() -> None:
    assert safe_id("0042") == "0042"


@given(ANY_TEXT, ANY_TEXT, ANY_TEXT, ANY_TEXT)
def test_two_ids_never_share_a_name(title: str, other_title: str, one: str, other: str) -> None:
    names = {
        unicodedata.normalize("NFD", file_name(None, *pair)).casefold() for pair in ((title, one), (other_title, other))
    }
    assert len(names) == (2 if one != other else len(names))


@given(ANY_TEXT, ANY_TEXT, st.none() | st.just(DAY))
def test_names_are_safe_everywhere(title: str, record_id: str, date: datetime | None) -> None:
    name = file_name(date, title, record_id)
    assert 0 < len(name.encode()) <= NAME_BYTES
    assert PurePosixPath(name).name == PureWindowsPath(name).name == name
    assert not set(name) & set('<>:"/\\|?*')
    assert not any(unicodedata.category(char)[0] in "CZ" for char in name)
    assert not PureWindowsPath(name).is_reserved()
    assert unicodedata.is_normalized("NFC", name)
    assert name[0] not in ".-"
