"""Pages rendered by a second process equal pages rendered here, and this process makes what that one cannot."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from exporter.export.interface import RemotePage, ViewFile
from exporter.export.markdown_view import MarkdownView
from exporter.library import views
from exporter.library.views import with_help
from tests.export.test_markdown_view import Records
from tests.html.records import comment, entry, item
from tests.support.local_worker import LocalWorker


@pytest.fixture(autouse=True)
def _two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "processors", lambda: 2)


@pytest.fixture
def helper_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the second process be this one."""
    monkeypatch.setattr(views, "Worker", LocalWorker)


def _records() -> Records:
    return Records(
        entries=[entry(entry_id=str(n), title=f"題{n}", entry_text=f"<p>海{n}\ud83d</p>") for n in range(1, 41)],
        entry_list=[item(entry_id=str(n)) for n in range(1, 41)],
        comments=[comment(cm_id=str(n), entry_id=str(1 + n % 40)) for n in range(1, 60)],
    )


def _page(number: int, call: Callable[..., Any] = max, around: Any = 0) -> ViewFile:
    """Return a page with its number as content if another process makes it, else ``here``."""
    remote = RemotePage(around, call, lambda: (number,), lambda made: str(made).encode())
    return ViewFile(f"{number}.md", b"", lambda: b"here", remote)


def _pages(count: int, **how: Any) -> Iterator[ViewFile]:
    return (_page(number, **how) for number in range(count))


def test_its_pages_equal_those_made_here() -> None:
    alone, helped = MarkdownView(), MarkdownView()
    expected = {file.path: (file.fingerprint, file.render()) for file in alone.files(_records())}
    files = list(with_help(helped.files(_records()), lambda _: False, alone=3))
    assert len(files) == len(expected)
    assert {file.path: (file.fingerprint, file.render()) for file in files} == expected
    assert helped.replaced == alone.replaced > 0


@pytest.mark.usefixtures("helper_here")
def test_it_renders_some_of_many_pages() -> None:
    made = {file.path: file.render() for file in with_help(_pages(60), lambda _: False, alone=10)}
    assert list(made) == [f"{number}.md" for number in range(60)]
    elsewhere = {path: content for path, content in made.items() if content != b"here"}
    assert elsewhere.items() >= {"10.md": b"10", "25.md": b"25"}.items()
    assert all(path == f"{content.decode()}.md" for path, content in elsewhere.items())


@pytest.mark.usefixtures("helper_here")
def test_a_file_waits_for_the_pages_before_it() -> None:
    seen: list[str] = []

    def files() -> Iterator[ViewFile]:
        for number in range(200):
            yield _page(number)
            yield ViewFile(f"after {number}", b"", partial(files_before, number))

    def files_before(number: int) -> bytes:
        return f"{len(seen)} {number}".encode()

    for file in with_help(files(), lambda _: False, alone=0):
        content = file.render()
        assert not file.path.startswith("after") or content == f"{len(seen)} {file.path[6:]}".encode()
        seen.append(file.path)
    assert seen == [name for number in range(200) for name in (f"{number}.md", f"after {number}")]


@pytest.mark.thorough
def test_pages_that_are_ready_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "_BYTES_AHEAD", 1_000)
    ready, most = 0, 0

    def files() -> Iterator[ViewFile]:
        yield ViewFile("slow", b"", lambda: b"", RemotePage(None, time.sleep, lambda: (0.3,), lambda _: b"slow"))
        for number in range(300):
            yield ViewFile(str(number), b"", page, RemotePage(None, len, lambda: ("x" * 20_000,), lambda _: b"sent"))

    def page() -> bytes:
        nonlocal ready, most
        ready += 300
        most = max(most, ready)
        return bytes(300)

    for file in with_help(files(), lambda _: False, alone=0):
        if file.render() == bytes(300):
            ready -= 300
    assert 0 < most <= 1_500


@pytest.mark.parametrize("is_there", [True, False])
def test_few_pages_are_made_here(is_there: bool) -> None:
    count, alone = (60, 10) if is_there else (10, 10)
    files = list(with_help(_pages(count), lambda _: is_there, alone=alone))
    assert [(file.path, file.render()) for file in files] == [(f"{number}.md", b"here") for number in range(count)]


def test_one_processor_makes_all_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "processors", lambda: 1)
    assert {file.render() for file in with_help(_pages(9), lambda _: False, alone=0)} == {b"here"}


@pytest.mark.usefixtures("helper_here")
def test_this_process_makes_what_the_second_one_cannot() -> None:
    assert {file.render() for file in with_help(_pages(9, call=int, around="x"), lambda _: False, alone=0)} == {b"here"}


@pytest.mark.usefixtures("helper_here")
def test_a_page_that_no_process_can_make_is_an_error() -> None:
    def broken() -> bytes:
        raise ValueError("a defect")

    remote = RemotePage("x", int, lambda: (1,), lambda _: b"")
    with pytest.raises(ValueError, match="a defect"):
        [file.render() for file in with_help([ViewFile("1.md", b"", broken, remote)], lambda _: False, alone=0)]


@pytest.mark.thorough
@pytest.mark.parametrize("at", [0, 3, 8])
def test_this_process_makes_what_is_left_after_a_crash(at: int) -> None:
    pages = (_page(number, call=_crash if number == at else max) for number in range(9))
    made = {file.path: file.render() for file in with_help(pages, lambda _: False, alone=0)}
    assert list(made) == [f"{number}.md" for number in range(9)]
    assert all(content in {b"here", name[:1].encode()} for name, content in made.items())
    assert made[f"{at}.md"] == b"here"


def _crash(*_: object) -> None:
    os._exit(7)


@pytest.mark.usefixtures("helper_here")
def test_it_ends_when_no_more_pages_are_wanted() -> None:
    files = with_help(_pages(9), lambda _: False, alone=0)
    assert next(files).path == "0.md"
    files.close()  # type: ignore[attr-defined]  # it is a generator
