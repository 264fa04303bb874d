from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import Counter
from io import BytesIO

import pytest
from PIL import Image

from exporter.demo.content import Blog, fields, wire
from exporter.service.registry import DEFAULT_SERVICE
from tests.demo.test_service import COMMENT_FIELDS, ENTRY_FIELDS, FILE_FIELDS
from tests.support.generated import generated_blog

HASH = """
import hashlib
from exporter.demo.content import wire
from tests.support.generated import generated_blog
blog = generated_blog(20, 30, 5, seed=7)
records = [*blog.entries.values(), *blog.comments, *blog.files]
print(hashlib.sha256(b"".join(map(wire, records))).hexdigest())
"""


def every(blog: Blog) -> bytes:
    return b"".join(wire(record) for record in [*blog.entries.values(), *blog.comments, *blog.files])


@pytest.mark.parametrize("size", [(0, 0, 0), (1, 0, 3), (0, 2, 0), (25, 60, 7), (300, 0, 0)])
def test_it_has_the_requested_numbers_of_records(size: tuple[int, int, int]) -> None:
    blog = generated_blog(*size)
    assert (len(blog.entries), len(blog.comments), len(blog.files)) == size
    assert list(blog.entries) == list(range(1, size[0] + 1))
    assert len(blog.pictures) == size[2]


def test_records_match_the_document() -> None:
    blog = generated_blog(40, comments=50, files=20)
    for record in blog.entries.values():
        assert list(fields(record)) == ENTRY_FIELDS
        assert not DEFAULT_SERVICE.post(fields(record)).problems
    for record in blog.comments:
        assert list(fields(record)) == COMMENT_FIELDS
        comment = DEFAULT_SERVICE.comment(fields(record))
        assert not comment.problems
        assert int(comment.post_id) in blog.entries
    for record in blog.files:
        assert list(fields(record)) == FILE_FIELDS
        assert not DEFAULT_SERVICE.upload(fields(record)).problems


def test_an_entry_is_as_large_as_a_real_one() -> None:
    sizes = [len(wire(record)) for record in generated_blog(600).entries.values()]
    assert 3_500 < sum(sizes) / len(sizes) < 3_900


def test_dates_rise_and_stay_within_sixteen_years() -> None:
    for count in (2, 500, 5_000):
        dates = [DEFAULT_SERVICE.post(fields(record)).date for record in generated_blog(count).entries.values()]
        known = [date for date in dates if date is not None]
        assert len(set(known)) == count
        assert known == sorted(known)
        assert 2008 == known[0].year <= known[-1].year <= 2024


def test_a_seed_gives_the_same_blog_in_every_process() -> None:
    expected = hashlib.sha256(every(generated_blog(20, 30, 5, seed=7))).hexdigest()
    run = subprocess.run(
        [sys.executable, "-c", HASH], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "3"}
    )
    assert run.stdout.strip() == expected
    assert every(generated_blog(20, 30, 5, seed=8)) != every(generated_blog(20, 30, 5, seed=7))


def test_blogs_of_different_names_have_different_writers() -> None:
    first, second = generated_blog(1, blog_id="a.example.jp"), generated_blog(1, blog_id="b.example.jp")
    assert fields(first.user)["id"] != fields(second.user)["id"]
    assert fields(first.entries[1])["blog_id"] == "a.example.jp"
    assert len(fields(first.user)["id"]) == 32


def test_its_pictures_are_real_and_all_different() -> None:
    blog = generated_blog(0, files=600)
    for body in blog.pictures.values():
        with Image.open(BytesIO(body)) as picture:
            picture.load()
            assert (picture.format, picture.size) == ("PNG", (4, 4))
    assert Counter(blog.pictures.values()).most_common(1)[0][1] == 1
    assert all(
        fields(file)["file_size"] == str(len(body))
        for file, body in zip(blog.files, blog.pictures.values(), strict=True)
    )


def test_records_can_be_changed_in_place() -> None:
    blog = generated_blog(3)
    fields(blog.entries[2])["title"] = "べつの題"
    assert fields(blog.list_item(2))["title"] == "べつの題"
    assert fields(generated_blog(3).entries[2])["title"] != "べつの題"
