"""Rules for every blog service with any API."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter import lossless_json
from exporter.errors import ServiceError
from exporter.model.exchange import Response
from exporter.model.kinds import Kind
from exporter.model.publication import Declared
from exporter.service.atompub.source import AtomPub
from exporter.service.blog_v1 import BlogV1
from exporter.service.interface import BlogService, Page, PageFacts, Paginator
from exporter.service.movable_type.source import MovableType
from exporter.service.public_site.source import PublicSite
from exporter.service.wordpress import lists
from exporter.service.wordpress.source import WordPressService
from tests.service.tiny import TinyService
from tests.support.json_texts import values

MAKERS: list[Callable[[], BlogService]] = [AtomPub, BlogV1, TinyService, WordPressService, MovableType, PublicSite]
LISTS = (Kind.ENTRY_LIST, Kind.COMMENTS, Kind.FILES)
BLOG = "contract.example"
EVERY = pytest.mark.parametrize("make", MAKERS, ids=[make.__name__ for make in MAKERS])


def list_of(service: BlogService, kind: Kind) -> Paginator:
    """Return the paginator of a list that the service has."""
    pages = service.pages(kind, BLOG, ["1", "2"])
    if pages.finished:
        assert pages.complete
        pytest.skip("the service has no such list")
    return pages


@pytest.mark.parametrize("examples", [15, pytest.param(100, marks=pytest.mark.thorough)])
@EVERY
def test_records_of_any_json_can_be_read(make: Callable[[], BlogService], examples: int) -> None:
    @settings(max_examples=examples)
    @given(values)
    def check(value: Any) -> None:
        service = make()
        raw = value if isinstance(value, dict) else {"id": value}
        for kind in Kind:
            if kind is not Kind.ASSETS:
                key = service.key(kind, value)
                assert key is None or (isinstance(key, str) and key)
                assert isinstance(service.title(kind, raw), str)
        post, comment = service.post(raw, raw), service.comment(raw)
        assert (post.item, comment.raw) == (raw, raw)
        alone = service.post(raw)
        assert service.texts(raw) == (alone.body, alone.more)
        assert isinstance(service.post(None, raw).title, str)
        assert isinstance(service.post_id(raw), str)
        assert isinstance(service.upload(raw).name, str)
        for kind in (Kind.ENTRY_LIST, Kind.FILES):
            assert isinstance(service.amount(kind, raw), int | None)
        assert service.publication(post, Declared()).status in {"draft", "private"}, (
            "undeclared records must be private"
        )
        assert not service.is_visible(comment, Declared())
        assert service.why_hidden(comment).reason

    check()


@EVERY
def test_its_options_are_json_and_its_name_a_word(make: Callable[[], BlogService]) -> None:
    service = make()
    assert json.loads(json.dumps(dict(service.options))) == service.options
    assert service.name.isascii()
    assert " " not in service.name


@EVERY
@pytest.mark.parametrize("kind", LISTS)
def test_a_list_is_asked_for_by_requests_whose_cursors_are_json(make: Callable[[], BlogService], kind: Kind) -> None:
    pages = list_of(make(), kind)
    (first, *_) = pages.wanted(0)
    assert lossless_json.loads(lossless_json.dumps(first)) == first
    request = pages.call(first).request
    assert request.path.startswith("/")
    assert all(isinstance(value, str) for value in request.params.values())
    assert not pages.finished


@EVERY
@pytest.mark.parametrize("kind", LISTS)
def test_an_answer_that_is_not_a_list_is_a_service_error(
    make: Callable[[], BlogService], kind: Kind, subtests: pytest.Subtests
) -> None:
    list_of(make(), kind)
    for body, status in product([b"", b"<html>", b"[]", b"{}", b"null", b"{", b'{"json":{}}'], [200, 401, 404]):
        if make is WordPressService and (status, body) == (200, b"[]"):
            continue  # its lists are JSON lists
        with subtests.test(body=body, status=status):
            service = make()
            pages = list_of(service, kind)
            call = pages.call(pages.wanted(0)[0])
            if service.capabilities.linked_lists:
                # Any answer for robots.txt permits the list to go on; a failure of all pages is one of the whole list.
                assert call.parse(Response(status, {}, body)).items == []
                continue
            with pytest.raises(ServiceError):
                call.parse(Response(status, {}, body))


@pytest.mark.parametrize("examples", [8, pytest.param(40, marks=pytest.mark.thorough)])
@EVERY
@pytest.mark.parametrize("kind", LISTS)
def test_every_list_ends(
    make: Callable[[], BlogService], kind: Kind, examples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every list ends for any pages, in the types of the service itself."""
    # A blog has several lists, and each one is read to its end if no page says where that is.
    monkeypatch.setattr(lists, "MAX_PAGES", 500)

    @settings(max_examples=examples)
    @given(
        st.lists(
            st.tuples(
                st.integers(0, 5), st.integers(-1, 9) | st.text(max_size=3) | st.none(), st.none() | st.integers(0, 9)
            ),
            min_size=1,
            max_size=6,
        ),
        st.integers(0, 4),
    )
    def check(answers: list[tuple[int, Any, int | None]], window: int) -> None:
        service = make()
        pages = list_of(service, kind)
        numbers = isinstance(pages.wanted(0)[0], int)
        pages = service.pages(kind, BLOG, ["1", "2"])
        if hasattr(pages, "max_pages"):
            pages.max_pages = 500
        queue: list[int | str] = []
        for step in range(5000):
            if pages.finished:
                break
            queue += pages.wanted(window)
            count, following, total = answers[step % len(answers)]
            page = Page([], next=following if isinstance(following, int if numbers else str) else None, total=total)
            facts = PageFacts(queue.pop(0), count, count, f"page {step}", next=page.next, total=page.total)
            pages.accept(facts)
        assert pages.finished
        assert pages.complete is not bool(pages.problems)

    check()
