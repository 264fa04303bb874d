"""Files in the shapes of thirteen services, alone and joined: every entry and comment, unchanged."""

from __future__ import annotations

import io
from itertools import product

import pytest

from exporter.model.kinds import Kind
from exporter.model.records import Audience
from exporter.service.export_file import FoundRecord, Misread
from exporter.service.movable_type.source import MovableType
from tests.service.movable_type_shapes import SHAPES, MadePost, made_posts, written

Content = list[tuple[str, str, bool, str, list[tuple[str, str]]]]


def content(data: bytes) -> Content:
    """Read title, date, audience, text and comments of each entry; nothing may be lost."""
    service = MovableType()
    assert service.recognises(data[:65_536])
    found: Content = []
    for each in service.read(io.BytesIO(data), "x"):
        if isinstance(each, Misread):
            assert not each.lost, f"line {each.line}: {each.reason}"
        elif isinstance(each, FoundRecord) and each.kind is Kind.ENTRIES:
            post = service.post({**each.raw, "id": each.id})
            found.append((post.title, str(post.date)[:16], post.audience is Audience.PUBLIC, each.raw["BODY"], []))
        else:
            found[-1][-1].append((each.raw["AUTHOR"], each.raw["text"]))
    return found


def expected(posts: list[MadePost]) -> Content:
    return [
        (
            post.title.replace("&amp;", "&"),
            f"{post.when:%Y-%m-%d %H:%M}",
            post.status == "Publish",
            post.body,
            post.comments,
        )
        for post in posts
    ]


@pytest.mark.parametrize("name", SHAPES)
def test_a_file_of_a_service(name: str) -> None:
    posts = made_posts(1)
    assert content(written(posts, SHAPES[name])) == expected(posts)


@pytest.mark.thorough
@pytest.mark.parametrize("name", SHAPES)
def test_many_files_of_a_service_in_every_encoding(name: str) -> None:
    for seed, encoding in product(range(4), ("utf-8", "utf-8-sig", "euc_jp", "cp932", "iso2022_jp", "utf-16")):
        posts = made_posts(seed, 40)
        assert content(written(posts, SHAPES[name], encoding)) == expected(posts), (seed, encoding)


@pytest.mark.thorough
@pytest.mark.parametrize("second", SHAPES)
@pytest.mark.parametrize("first", [name for name in SHAPES if SHAPES[name].end.endswith("--------\n")])
def test_the_files_of_two_services_joined(first: str, second: str) -> None:
    """Each in its own encoding, and with what programs put between two files."""
    for seed, between in enumerate(("", "\ufeff", "\x1a", "\x1a\r\n\ufeff", "# 2\n記事番号: 12\n")):
        one, two = made_posts(seed), made_posts(seed + 100)
        if SHAPES[second].first and between.startswith("#"):
            continue
        mark = between.encode(SHAPES[second].encoding, "ignore")
        joined = written(one, SHAPES[first]) + mark + written(two, SHAPES[second])
        assert content(joined) == expected([*one, *two]), (seed, between)
