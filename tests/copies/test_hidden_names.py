from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.copies.hidden_names import copy_id, padded, plain_name, proof, readers_mark, stored_name, stored_prefix

SECRET = bytes(range(32))
OTHER = bytes(32)
DIGEST = "ab" + "0123456789abcdef" * 3 + "0123456789abcd"
PICTURE = f"assets/ab/{DIGEST}.jpg"


LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"


@given(
    st.binary(min_size=32, max_size=32),
    st.text(LETTERS, min_size=2, max_size=64),
    st.one_of(st.just(""), st.text(LETTERS, min_size=1, max_size=8).map(".{}".format)),
)
def test_a_picture_s_name_comes_back_with_the_secret_alone(secret: bytes, digest: str, ending: str) -> None:
    tail = digest + ending
    name = f"assets/{tail[:2]}/{tail}"
    stored = stored_name(secret, name)
    assert plain_name(secret, stored) == name
    assert plain_name(bytes(byte ^ 1 for byte in secret), stored) is None
    assert stored == stored_name(secret, name)


def test_a_stored_name_says_neither_digest_nor_type_nor_length() -> None:
    short, long = stored_name(SECRET, "assets/ab/abcd"), stored_name(SECRET, PICTURE)
    assert len(short) == len(long)
    assert re.fullmatch(r"assets/([0-9a-z]{2})/\1[0-9a-z]{152}\.age", long)
    assert "jpg" not in long
    assert DIGEST[:6] not in long
    assert stored_name(OTHER, PICTURE) != long
    assert len(long.rpartition("/")[2]) <= 255


def test_a_changed_name_is_refused() -> None:
    stored = stored_name(SECRET, PICTURE)
    for place in range(13, len(stored) - 4, 7):
        changed = stored[:place] + ("b" if stored[place] != "b" else "c") + stored[place + 1 :]
        assert plain_name(SECRET, changed) is None
    assert plain_name(SECRET, PICTURE) is None
    assert plain_name(SECRET, "assets/ab/abcd.age") is None


def test_other_names_are_not_changed() -> None:
    name = "versions/000001/manifest.json"
    assert stored_name(SECRET, name) == f"{name}.age"
    assert plain_name(SECRET, f"{name}.age") == name
    assert plain_name(SECRET, name) is None


@pytest.mark.parametrize("blog", ["a.blog.example.jp", "潮だまり", "b" * 60, "c" * 120])
@pytest.mark.parametrize("inside", ["archive.json", "versions/000001/manifest.json", PICTURE])
def test_in_a_fleet_blog_ids_are_also_hidden(blog: str, inside: str) -> None:
    name = f"0f/{blog}/{inside}"
    stored = stored_name(SECRET, name)
    assert blog not in stored
    assert plain_name(SECRET, stored) == name
    assert plain_name(OTHER, stored) is None
    assert all(len(part) <= 255 for part in stored.split("/"))
    for prefix in ("", "0f/", f"0f/{blog}/", f"0f/{blog}/{inside.split('/', maxsplit=1)[0]}"[:200]):
        assert stored.startswith(stored_prefix(SECRET, prefix))
    assert not stored.startswith(stored_prefix(SECRET, f"0f/{blog}x/"))
    assert stored_name(SECRET, inside) != stored


@pytest.mark.parametrize(
    "stored", ["blogs/x/archive.json.age", "blogs/0189/archive.json.age", "blogs/archive.json.age"]
)
def test_no_other_folder_is_taken_for_a_blog_s(stored: str) -> None:
    assert plain_name(SECRET, stored) in {None, "blogs/archive.json"}


@pytest.mark.parametrize(
    "name",
    [f"0f/{'d' * 130}/archive.json", "assets/ab/cd", "assets/x", "assets/../ab", f"assets/ab/{'ab' * 41}", "a\nb"],
)
def test_no_name_leads_elsewhere(name: str) -> None:
    with pytest.raises(ValueError):
        stored_name(SECRET, name)


@given(st.integers(0, 1 << 40))
def test_lengths_are_rounded_up_a_little(length: int) -> None:
    found = padded(length)
    assert length <= found <= max(4096, length + length * 12 // 100)
    assert padded(found) == found
    if length > 1 << 20:
        assert found <= length * 1.032
    assert len({padded(length + more) for more in range(64)}) <= 2 or length > 4000


def test_names_that_others_see_reveal_nothing_and_differ() -> None:
    assert copy_id(SECRET) != copy_id(OTHER)
    assert proof(SECRET, "a") != proof(SECRET, "b") != proof(OTHER, "b")
    assert readers_mark(SECRET, ["b", "a", "a"]) == readers_mark(SECRET, ["a", "b"])
    assert readers_mark(SECRET, ["a"]) != readers_mark(OTHER, ["a"])
    assert len({copy_id(SECRET), proof(SECRET, ""), readers_mark(SECRET, [""])}) == 3
