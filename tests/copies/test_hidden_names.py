from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.copies.hidden_names import copy_id, padded, plain_name, proof, readers_mark, stored_name

SECRET = bytes(range(32))
OTHER = bytes(32)
DIGEST = "ab" + "0123456789abcdef" * 3 + "0123456789abcd"
PICTURE = f"assets/ab/{DIGEST}.jpg"


@given(st.binary(min_size=32, max_size=32), st.from_regex(r"[0-9a-z]{2}[0-9a-z]{0,62}(\.[a-z0-9]{1,8})?", fullmatch=True))
def test_a_picture_s_name_comes_back_with_the_secret_alone(secret: bytes, tail: str) -> None:
    name = f"assets/{tail[:2]}/{tail}"
    stored = stored_name(secret, name)
    assert plain_name(secret, stored) == name
    assert plain_name(bytes(byte ^ 1 for byte in secret), stored) is None
    assert stored == stored_name(secret, name)


def test_a_stored_name_says_neither_digest_nor_type_nor_length() -> None:
    short, long = stored_name(SECRET, "assets/ab/abcd"), stored_name(SECRET, PICTURE)
    assert len(short) == len(long)
    assert re.fullmatch(r"assets/([0-9a-f]{2})/\1[0-9a-f]{190}\.age", long)
    assert "jpg" not in long
    assert DIGEST[:6] not in long
    assert stored_name(OTHER, PICTURE) != long
    assert len(long.rpartition("/")[2]) <= 255


def test_no_changed_name_is_taken_for_true() -> None:
    stored = stored_name(SECRET, PICTURE)
    for place in range(13, len(stored) - 4, 7):
        changed = stored[:place] + ("0" if stored[place] != "0" else "1") + stored[place + 1 :]
        assert plain_name(SECRET, changed) is None
    assert plain_name(SECRET, PICTURE) is None
    assert plain_name(SECRET, "assets/ab/abcd.age") is None


def test_other_names_are_as_they_were() -> None:
    name = "versions/000001/manifest.json"
    assert stored_name(SECRET, name) == f"{name}.age"
    assert plain_name(SECRET, f"{name}.age") == name
    assert plain_name(SECRET, name) is None


@pytest.mark.parametrize("name", ["assets/ab/cd", "assets/x", "assets/../ab", f"assets/ab/{'ab' * 41}", "a\nb"])
def test_no_name_leads_elsewhere(name: str) -> None:
    with pytest.raises(ValueError, match=re.escape(name)):
        stored_name(SECRET, name)


@given(st.integers(0, 1 << 40))
def test_lengths_are_rounded_up_a_little(length: int) -> None:
    found = padded(length)
    assert length <= found <= max(4096, length + length * 12 // 100)
    assert padded(found) == found
    if length > 1 << 20:
        assert found <= length * 1.032
    assert len({padded(length + more) for more in range(0, 64)}) <= 2 or length > 4000


def test_what_others_see_tells_nothing_and_is_apart() -> None:
    assert copy_id(SECRET) != copy_id(OTHER)
    assert proof(SECRET, "a") != proof(SECRET, "b") != proof(OTHER, "b")
    assert readers_mark(SECRET, ["b", "a", "a"]) == readers_mark(SECRET, ["a", "b"])
    assert readers_mark(SECRET, ["a"]) != readers_mark(OTHER, ["a"])
    assert len({copy_id(SECRET), proof(SECRET, ""), readers_mark(SECRET, [""])}) == 3
