"""The keys stored with records can be found again, fit their fields, and never match records of other programs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from exporter.move.home import (
    RESERVED,
    blog_key,
    comment_address,
    file_slug,
    is_comment_address,
    mark,
    marks_in,
    post_key,
)


@given(st.text(), st.text(min_size=1), st.sampled_from([RESERVED, "0123456789abcdef"]))
def test_a_mark_is_found_again_for_every_id(blog_id: str, entry_id: str, digest: str) -> None:
    key = post_key(blog_id, entry_id)
    made = mark(key, digest)
    assert marks_in(f"い\n\n{made}") == (key, digest)
    assert made.isascii()
    assert made.count("--") == 2, "it has no character that the block editor would escape"


@given(st.text(), st.text(min_size=1))
def test_an_address_is_one_that_wordpress_takes(blog_id: str, comment_id: str) -> None:
    address = comment_address(blog_id, comment_id)
    assert is_comment_address(address)
    assert len(address) <= 100
    assert address.isascii()


def test_keys_are_readable_if_ids_are() -> None:
    assert post_key("Umi.blog.example.jp", "42") == "umi.blog.example.jp/entry/42"
    assert comment_address("umi.blog.example.jp", "7") == "comment-7@umi.blog.example.jp.invalid"
    assert file_slug("ab" * 32) == f"file-{'ab' * 16}"
    assert blog_key("xn--a.example") != "xn--a.example"
    assert blog_key("a" * 41).startswith("x")


def test_records_of_other_programs_have_no_key_of_ours() -> None:
    assert marks_in("<p>blog-exporter umi/entry/1 reserved</p>") is None
    assert not is_comment_address("someone@mail.example")
    two = mark("a/entry/1", RESERVED) + mark("a/entry/2", RESERVED)
    assert marks_in(two) == ("a/entry/2", RESERVED)
