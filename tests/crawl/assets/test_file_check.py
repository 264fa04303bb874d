"""Answers that are accepted as the file, and answers that are not."""

from __future__ import annotations

from io import BytesIO

import pytest

from exporter.crawl.assets.file_check import Expected, FileFacts, NotTheFile, check_file
from exporter.errors import BadBody
from tests.support.pictures import png

PAGE = b"<!DOCTYPE html><title>404 Not Found</title>"
EMBEDDED = Expected()


def said(body: bytes, expected: Expected = EMBEDDED, *, certain: bool = True) -> FileFacts:
    return check_file(BytesIO(body), len(body), expected, certain=certain)


def upload(*endings: str, sizes: tuple[int, ...] = (), embedded: bool = False) -> Expected:
    return Expected(embedded, sizes, endings)


def test_a_picture_is_taken_with_its_size() -> None:
    assert said(png(1, 5, 6)) == FileFacts("image/png", (5, 6), None)  # type: ignore[arg-type]  # a Size is a tuple


def test_an_empty_body_is_not_a_file() -> None:
    with pytest.raises(NotTheFile, match="empty"):
        said(b"")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (PAGE, EMBEDDED),
        (PAGE, upload("jpg")),
        (PAGE, upload("jpg", embedded=True)),
        (b"not found", EMBEDDED),
        (b"<?xml version='1.0'?><Error/>", EMBEDDED),
    ],
)
def test_a_page_is_no_picture(body: bytes, expected: Expected) -> None:
    with pytest.raises(NotTheFile, match="a page came in place of the file"):
        said(body, expected)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (PAGE, upload("html")),
        (PAGE, upload("htm", embedded=True)),
        (PAGE, upload("png", "html")),
        (PAGE, Expected(embedded=False)),
        (b"a,b\n1,2", upload("csv")),
        (b"<?xml version='1.0'?><rss>", upload("xml")),
    ],
)
def test_an_upload_may_be_text(body: bytes, expected: Expected) -> None:
    assert said(body, expected).content_type


@pytest.mark.parametrize("expected", [EMBEDDED, upload("xyz")])
def test_an_unknown_format_is_kept(expected: Expected) -> None:
    assert said(b"\0\1\2unknown", expected) == FileFacts("application/octet-stream")


def test_a_size_other_than_listed_is_a_doubt() -> None:
    assert said(png(1), upload("png", sizes=(9, 8))).doubt == f"it has {len(png(1))} bytes, the file list says 8 or 9"
    assert said(png(1), upload("png", sizes=(9, len(png(1))))).doubt is None


def test_a_missing_end_is_an_error_until_it_is_certain() -> None:
    cut = png(1)[:-12]
    with pytest.raises(BadBody, match="cut short"):
        said(cut, certain=False)
    assert said(cut).doubt == "its end is missing, at the server too"
    assert said(png(1), certain=False).doubt is None


def test_fewer_bytes_than_listed_are_an_error_until_it_is_certain() -> None:
    wanted = upload("bin", sizes=(10, 20))
    with pytest.raises(BadBody, match="cut short"):
        said(b"\0" * 9, wanted, certain=False)
    assert said(b"\0" * 9, wanted).doubt == "it has 9 bytes, the file list says 10 or 20"
    assert said(b"\0" * 15, wanted, certain=False).doubt is not None


@pytest.mark.parametrize(
    ("body", "doubt"),
    [
        (b"Not Found", "it is no picture but text/plain"),
        (b'{"error": "no such file"}', "it is no picture but text/plain"),
        (b"%PDF-1.4 a document", "it is no picture but application/pdf"),
        (png(1)[:8], "its end is missing, at the server too"),
        (png(1)[:60], "its end is missing, at the server too"),
        (png(1, 1, 1), "it has 1x1 pixels, the file list says 5x6"),
        (png(1, 5, 6), None),
        (png(1, 6, 5), None),
        (b"\0\1\2unknown", None),
    ],
)
def test_content_that_contradicts_the_file_list_is_doubtful_even_with_the_right_size(
    body: bytes, doubt: str | None
) -> None:
    assert said(body, Expected(False, {len(body)}, {"png"}, {(5, 6)})).doubt == doubt


@pytest.mark.parametrize(("end", "doubted"), [(b"\x00;", False), (b"\x00", False), (b"\x07abc", True)])
def test_a_gif_that_lacks_only_its_trailer_is_whole(end: bytes, doubted: bool) -> None:
    assert bool(said(b"GIF89a\x02\x00\x03\x00\x80\0\0" + b"\x02\x02\x44\x01" + end).doubt) == doubted
