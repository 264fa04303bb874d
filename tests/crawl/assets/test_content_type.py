"""Types of files, detected from their content."""

from __future__ import annotations

import zipfile
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.crawl.assets.file_check import HEAD_BYTES, UNKNOWN_TYPE, sniff
from exporter.html.links import is_picture
from exporter.model.asset import EXTENSIONS, extension_of
from tests.support.pictures import png


def zipped(*names: str) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return file.getvalue()


SAMPLES: list[tuple[bytes, str]] = [
    (png(1), "image/png"),
    (b"\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"),
    (b"GIF87a\1\0\1\0", "image/gif"),
    (b"GIF89a\1\0\1\0", "image/gif"),
    (b"RIFF\1\2\3\4WEBPVP8 ", "image/webp"),
    (b"BM" + b"\1\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0" + bytes(10), "image/bmp"),
    (b"\0\0\1\0\1\0" + bytes(16), "image/vnd.microsoft.icon"),
    (b"\0\0\0\x20ftypavif", "image/avif"),
    (b"\0\0\0\x20ftypheic", "image/heic"),
    (b"\0\0\0\x20ftypmif1", "image/heic"),
    (b"II*\0\1", "image/tiff"),
    (b"MM\0*\1", "image/tiff"),
    (b"8BPS\0\1", "image/vnd.adobe.photoshop"),
    (b"\xff\x0a\1", "image/jxl"),
    (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml"),
    (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- a > b -->\n<!DOCTYPE svg PUBLIC 'x' 'y'>\n<svg:svg >", "image/svg+xml"),
    (b"\0\0\0\x18ftypisom", "video/mp4"),
    (b"\0\0\0\x18ftypqt  ", "video/quicktime"),
    (b"\0\0\0\x08wide", "video/quicktime"),
    (b"\0\0\0\x18ftypM4A ", "audio/mp4"),
    (b"\0\0\0\x18ftyp3gp5", "video/3gpp"),
    (b"RIFF\1\2\3\4WAVEfmt ", "audio/wav"),
    (b"RIFF\1\2\3\4AVI LIST", "video/x-msvideo"),
    (b"RIFF\1\2\3\4????", UNKNOWN_TYPE),
    (b"ID3\3\0", "audio/mpeg"),
    (b"\xff\xfb\x90\x64", "audio/mpeg"),
    (b"\xff\xf1\x50\x80", "audio/aac"),
    (b"\xff\xfb\xf0\x64", UNKNOWN_TYPE),
    (b"\xff\xfb", UNKNOWN_TYPE),
    (b"OggS\0", "audio/ogg"),
    (b"fLaC\0", "audio/flac"),
    (b"MThd\0\0\0\6\0", "audio/midi"),
    (b"0&\xb2u\x8ef\xcf\x11", "video/x-ms-asf"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"FLV\1\5", "video/x-flv"),
    (b"CWS\x0a", "application/vnd.adobe.flash.movie"),
    (b"%PDF-1.4\n", "application/pdf"),
    (b"{\\rtf1\\ansi", "application/rtf"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"\x1f\x8b\x08\0", "application/gzip"),
    (b"Rar!\x1a\7\0", "application/vnd.rar"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"\x1a\x2b-lh5-\0", "application/x-lzh-compressed"),
    (zipped("a.txt"), "application/zip"),
    (zipped("[Content_Types].xml", "word/document.xml"), next(t for t, e in EXTENSIONS.items() if e == "docx")),
    (zipped("[Content_Types].xml", "xl/workbook.xml"), next(t for t, e in EXTENSIONS.items() if e == "xlsx")),
    (zipped("[Content_Types].xml", "ppt/a.xml"), next(t for t, e in EXTENSIONS.items() if e == "pptx")),
    (b"<!DOCTYPE html><title>x", "text/html"),
    (b"  \n<!-- c --><HTML>", "text/html"),
    (b"<?xml version='1.0'?><!DOCTYPE html PUBLIC 'x'><html>", "text/html"),
    ("\ufeff<html><body>見つかりません".encode(), "text/html"),
    ("\ufeff<html><body>".encode("utf-16-le"), "text/html"),
    ("\ufeff<html><body>".encode("utf-16-be"), "text/html"),
    ("<p>ありません</p>".encode("shift_jis"), "text/html"),
    ("<font>ありません</font><br>".encode("iso-2022-jp"), "text/html"),
    (b"<?xml version='1.0'?><rss>", "application/xml"),
    ("ただの文".encode(), "text/plain"),
    (b"{\"error\": 404}", "text/plain"),
    (b"", UNKNOWN_TYPE),
    (b" \n", UNKNOWN_TYPE),
    (b"\0\1\2\3", UNKNOWN_TYPE),
    (b"text with \0 in it", UNKNOWN_TYPE),
]  # fmt: skip


@pytest.mark.parametrize(("head", "kind"), SAMPLES)
def test_each_format(head: bytes, kind: str) -> None:
    assert sniff(head) == kind


def test_every_detected_type_has_an_ending() -> None:
    told = {sniff(head) for head, _ in SAMPLES} - {UNKNOWN_TYPE}
    assert told <= EXTENSIONS.keys()
    assert extension_of(UNKNOWN_TYPE) == "bin"
    assert len(set(EXTENSIONS.values())) == len(EXTENSIONS)
    pictures = [kind for kind in told if kind.startswith("image/") and "photoshop" not in kind]
    assert all(is_picture(f"http://h/a.{EXTENSIONS[kind]}") for kind in pictures)


@given(st.binary(max_size=HEAD_BYTES))
def test_anything_has_a_type(head: bytes) -> None:
    kind = sniff(head)
    assert kind == UNKNOWN_TYPE or kind in EXTENSIONS


@given(st.sampled_from([b"<svg ", b"<!--", b"<?xml ", b"<!doctype svg [", b" ", b"<html "]), st.integers(1, 800))
def test_repetitions_cost_no_more_than_their_length(piece: bytes, times: int) -> None:
    assert sniff((piece * times)[:HEAD_BYTES]) in {*EXTENSIONS, UNKNOWN_TYPE}
