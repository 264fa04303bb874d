"""Pages rendered by a second process are those rendered here, and none of its failures goes unseen."""

from __future__ import annotations

import operator
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from exporter.errors import BlogExporterError
from exporter.export.interface import RemotePage, ViewFile
from exporter.export.markdown_view import MarkdownView
from exporter.library import page_helper
from exporter.library.page_helper import PageHelper, serve, with_help
from tests.export.test_markdown_view import Records
from tests.html.records import comment, entry, item


@pytest.fixture(autouse=True)
def _two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_helper, "processors", lambda: 2)


def _records() -> Records:
    return Records(
        entries=[entry(entry_id=str(n), title=f"題{n}", entry_text=f"<p>海{n}\ud83d</p>") for n in range(1, 41)],
        entry_list=[item(entry_id=str(n)) for n in range(1, 41)],
        comments=[comment(cm_id=str(n), entry_id=str(1 + n % 40)) for n in range(1, 60)],
    )


def _page(number: int, call: Callable[..., Any] = max, around: Any = 0) -> ViewFile:
    """Return a page that is its number where it was made elsewhere."""
    remote = RemotePage(around, call, lambda: (number,), lambda made: str(made).encode())
    return ViewFile(f"{number}.md", b"", lambda: b"here", remote)


def _pages(count: int, **how: Any) -> Iterator[ViewFile]:
    return (_page(number, **how) for number in range(count))


def test_its_pages_are_those_made_here() -> None:
    alone, helped = MarkdownView(), MarkdownView()
    expected = {file.path: (file.fingerprint, file.render()) for file in alone.files(_records())}
    files = list(with_help(helped.files(_records()), lambda _: False, alone=3))
    assert len(files) == len(expected)
    assert {file.path: (file.fingerprint, file.render()) for file in files} == expected
    assert helped.replaced == alone.replaced > 0


def test_it_takes_some_of_many_pages() -> None:
    made = {file.path: file.render() for file in with_help(_pages(60), lambda _: False, alone=10)}
    assert made.keys() == {f"{number}.md" for number in range(60)}
    elsewhere = {path: content for path, content in made.items() if content != b"here"}
    assert elsewhere.items() >= {"10.md": b"10", "25.md": b"25"}.items()
    assert all(path == f"{content.decode()}.md" for path, content in elsewhere.items())


@pytest.mark.parametrize("is_there", [True, False])
def test_few_pages_are_made_here(is_there: bool) -> None:
    count, alone = (60, 10) if is_there else (10, 10)
    files = list(with_help(_pages(count), lambda _: is_there, alone=alone))
    assert [(file.path, file.render()) for file in files] == [(f"{number}.md", b"here") for number in range(count)]


def test_one_processor_makes_all_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_helper, "processors", lambda: 1)
    assert {file.render() for file in with_help(_pages(9), lambda _: False, alone=0)} == {b"here"}


def test_a_failure_is_named() -> None:
    with pytest.raises(BlogExporterError, match=r"failed: ValueError: .*'x'; run again"):
        list(with_help(_pages(9, call=int, around="x"), lambda _: False, alone=0))


def test_an_end_without_a_word_is_named() -> None:
    page = RemotePage(9, signal.raise_signal, tuple, bytes)
    helper = PageHelper()
    try:
        helper.hand(page)
        with pytest.raises(BlogExporterError, match="it ended with -9; run again"):
            helper.take()
        with pytest.raises(BlogExporterError, match="it ended with -9; run again"):
            helper.hand(page)
    finally:
        helper.close()


def test_it_ends_whatever_it_is_doing_when_nobody_asks_any_more() -> None:
    began = time.monotonic()
    files = with_help(_pages(9, call=lambda *_: None), lambda _: False, alone=8)
    assert next(files).render() == b"here"
    files.close()  # type: ignore[attr-defined]  # it is a generator
    helper = PageHelper()
    helper.hand(RemotePage(3600, time.sleep, tuple, bytes))
    helper.close()
    assert time.monotonic() - began < 600


@pytest.mark.parametrize("system", [sys.platform, "another"])
def test_it_is_handed_no_more_than_is_read_at_once(monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    monkeypatch.setattr(sys, "platform", system)
    helper = PageHelper()
    room = []
    try:
        room.append(helper.has_room)
        helper.hand(RemotePage(None, operator.eq, lambda: (bytes(1 << 20),), bytes))
        room.append(helper.has_room)
        assert helper.take() is False
        for _ in range(16):
            room.append(helper.has_room)
            helper.hand(RemotePage(3600, time.sleep, tuple, bytes))
        room.append(helper.has_room)
    finally:
        helper.close()
    assert room == [True, False, *[True] * 16, False]


_KILLED = """
import os, sys, threading, time
from exporter.export.interface import RemotePage
from exporter.library.page_helper import PageHelper
helper = PageHelper()
helper.hand(RemotePage(0, max, lambda: (1,), bytes))
assert helper.take() == 1
with open(f"/proc/self/task/{threading.get_native_id()}/children") as file:
    print(file.read().strip(), flush=True)
time.sleep(3600)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux for a process's children")
def test_it_outlives_no_process_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", _KILLED], stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout is not None
        helper = int(killed.stdout.readline())
        killed.kill()
    deadline = time.monotonic() + 60
    while _runs(helper):
        assert time.monotonic() < deadline, "the helper still runs"
        time.sleep(0.01)


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text("ascii", "replace").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_what_it_does_with_what_it_is_handed() -> None:
    source, sink = BytesIO(), BytesIO()
    for message in [(None, 5), (max, (3,)), (max, (8,)), (None, 9), (max, (8,))]:
        pickle.dump(message, source)
    source.seek(0)
    serve(source, sink)
    sink.seek(0)
    assert [pickle.load(sink) for _ in range(3)] == [5, 8, 9]
