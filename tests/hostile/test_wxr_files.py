"""Hostile and broken WXR files: each is refused in one line or read, and the entries around the fault are kept."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.service.wxr_samples import AUTHORS, CATEGORIES, channel, comment, item, meta, picture, terms

pytestmark = pytest.mark.thorough

MEMORY_BYTES = 300 * 1024 * 1024
RUNNER = """
import asyncio, json, sys
from pathlib import Path
from exporter.errors import BlogExporterError
from exporter.model.kinds import Kind
from tests.source.wxr_backups import saved, state_of

path, root = map(Path, sys.argv[1:])
told = {"error": None, "problems": [], "entries": [], "exit_code": None, "texts": {}}
try:
    made = asyncio.run(saved(path, root))
    told["exit_code"] = made.outcome.exit_code
    told["problems"] = [each.reason for each in made.outcome.problems]
    told["notes"] = len(told["problems"])
    found = state_of(root)[Kind.ENTRIES]
    told["entries"] = sorted(found)
    told["texts"] = {key: str(raw.get("content:encoded"))[:300] for key, raw in found.items()}
except BlogExporterError as error:
    told["error"], told["exit_code"] = str(error), error.exit_code
told["memory"] = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024
print(json.dumps(told))
"""
A, B = item(1, "前の記事。CANARY-A"), item(2, "後の記事。CANARY-B")
BOTH = ("1", "2")


def around(middle: str, **how: Any) -> bytes:
    """Return a file with a good item before and after."""
    return channel(A, middle, B, **how).encode("utf-8", "surrogatepass")


def with_type(definition: str, body: str = "&a;") -> bytes:
    return (
        channel(A, item(3, "@@@"), B)
        .replace("<![CDATA[@@@]]>", body)
        .replace("<rss", f"{definition}\n<rss", 1)
        .encode()
    )


def body(source: str) -> bytes:
    """Return a file whose middle item has this as the source of its body."""
    return around(item(3, "@@@").replace("<![CDATA[@@@]]>", source))


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
REFUSED: dict[str, Callable[[], bytes]] = {
    "billion laughs": lambda: with_type(f'<!DOCTYPE rss [<!ENTITY l0 "lol">{LAUGHS}]>', "&l11;"),
    "quadratic entity": lambda: with_type(f'<!DOCTYPE rss [<!ENTITY a "{"x" * 100_000}">]>', "&a;" * 10_000),
    "external entity": lambda: with_type('<!DOCTYPE rss [<!ENTITY a SYSTEM "file:///etc/passwd">]>'),
    "parameter entity": lambda: with_type('<!DOCTYPE rss [<!ENTITY % a SYSTEM "http://192.0.2.1/x">%a;]>'),
    "entity in utf-16": lambda: with_type('<!DOCTYPE rss [<!ENTITY a "b">]>').decode().encode("utf-16"),
    "unknown version": lambda: around("").replace(b"wordpress.org/export/1.2", b"wordpress.org/export/2.0"),
    "unknown vocabulary": lambda: around("").replace(b"http://wordpress.org/export/1.2", b"http://other.example/wxr"),
    "no items": lambda: channel().encode(),
    "only settings": lambda: channel(item(1, post_type="nav_menu_item")).encode(),
}
READ: dict[str, tuple[Callable[[], bytes], tuple[str, ...], bool]] = {
    "external document type": (lambda: with_type('<!DOCTYPE rss SYSTEM "http://192.0.2.1/x.dtd">'), ("1", "2", "3"), False),
    "php instruction": (lambda: around("<?php system('true'); ?>"), BOTH, False),
    "style sheet": (lambda: around('<?xml-stylesheet href="http://192.0.2.1/x.xsl"?>'), BOTH, False),
    "declaration in the middle": (lambda: around("<?xml version='1.0'?>"), BOTH, False),
    "document type in the middle": (lambda: around('<!DOCTYPE a [<!ENTITY b "c">]>'), BOTH, False),
    "a million nested tags in a body": (lambda: body("<a>" * 1_000_000), ("1", "2", "3"), True),
    "a million nested items": (lambda: around("<item>" * 100_000), BOTH, True),
    "attribute of 50 MB": (lambda: body(f"<a b='{'x' * 50_000_000}'>c</a>"), ("1", "2", "3"), True),
    "100,000 attributes": (lambda: body("<a" + "".join(f" a{n}=''" for n in range(100_000)) + "/>"), ("1", "2", "3"), False),
    "tag without an end": (lambda: body("<a " + "b=' " * 100_000), ("1", "2", "3"), False),
    "body of 200 MB": (lambda: around(item(3, "文" * 70_000_000)), ("1", "2", "3"), True),
    "a million empty elements": (lambda: around(item(3, extra="<a/>" * 1_000_000)), ("1", "2", "3"), True),
    "50,000 comments": (
        lambda: around(item(3, extra="".join(comment(n, "x" * 200) for n in range(1, 50_001)))), ("1", "2", "3"), False,
    ),
    "300,000 categories": (
        lambda: around("", top=AUTHORS + CATEGORIES + "".join(
            f"<wp:category><wp:category_nicename>c{n}</wp:category_nicename><wp:category_parent>c{n + 1}"
            f"</wp:category_parent><wp:cat_name>c{n}</wp:cat_name></wp:category>" for n in range(300_000))),
        BOTH, True,
    ),
    "categories in a circle": (
        lambda: around(item(3, categories=terms([("category", "kyoto", "京都")])), top=CATEGORIES.replace("![CDATA[]]", "![CDATA[kyoto]]")),
        ("1", "2", "3"), False,
    ),
    "comment that answers itself": (lambda: around(item(3, extra=comment(5, comment_parent=5))), ("1", "2", "3"), False),
    "wrong declaration": (lambda: channel(A, B, encoding="UTF-8").encode("euc_jp"), BOTH, False),
    "utf-16 declared": (lambda: around("", encoding="UTF-16"), BOTH, False),
    "utf-7 declared": (lambda: around("", encoding="UTF-7"), BOTH, False),
    "unicode-escape declared": (lambda: around("", encoding="unicode_escape"), BOTH, False),
    "byte order mark": (lambda: b"\xef\xbb\xbf" + around(""), BOTH, False),
    "one byte in another encoding": (lambda: around("").replace(b"CANARY", b"\xa4\xff CANARY"), BOTH, True),
    "control characters": (lambda: around(item(3, "".join(map(chr, range(32))))), ("1", "2", "3"), False),
    "null bytes": (lambda: around("\0" * 1000), BOTH, False),
    "surrogates": (lambda: around(item(3, "\ud83d")), ("1", "2", "3"), True),
    "noncharacters": (lambda: around(item(3, "\ufffe\uffff\ufdd0")), ("1", "2", "3"), True),
    "forbidden references": (lambda: body("&#0;&#x1;&#xD83D;&#99999999999;"), ("1", "2", "3"), False),
    "cut in a section": (lambda: around("").partition(b"CANARY-B")[0] + b"CANARY-B", BOTH, True),
    "cut in a tag": (lambda: around("").rpartition(b"<wp:post_id>2")[0] + b"<wp:po", ("1", "2"), True),
    "cut in a character": (lambda: around("").rpartition("後の記事".encode())[0] + "後".encode()[:2], ("1", "*"), True),
    "section without an end": (lambda: around("").replace(b"CANARY-A]]>", b"CANARY-A"), BOTH, False),
    "last section without an end": (
        lambda: around("").replace(b"<![CDATA[", b"").replace(b"]]>", b"").replace("前の".encode(), "<![CDATA[前の".encode()),
        BOTH, False,
    ),
    "comment without an end": (lambda: body("<!-- a"), ("1", "2", "3"), False),
    "9,000 loose ampersands": (lambda: body("R&D " * 9_000), ("1", "2", "3"), False),
    "millions of faults": (lambda: body("& <" * 2_000_000), ("1", "2", "3"), False),
    "unescaped html": (lambda: body("<p>a<br>b<img src=x alt=y>&nbsp;<3"), ("1", "2", "3"), False),
    "item without an end": (lambda: around("").replace(b"</item>", b"", 1), BOTH, True),
    "crossed ends": (lambda: body("<b><i>x</b></i></wp:status></other>"), ("1", "2", "3"), False),
    "two documents": (lambda: channel(A).encode() + channel(B).encode(), BOTH, False),
    "text before": (lambda: b"<br />\n<b>Warning</b>: & in x\n" + around(""), BOTH, False),
    "fatal error behind": (lambda: around("") + b"<b>Fatal error</b>: Allowed memory size & <", BOTH, False),
    "items behind the document": (lambda: channel(A).encode() + B.encode(), ("1",), True),
    "one number twice": (lambda: channel(A, item(1, "別の記事"), B).encode(), ("1", "1-2", "2"), False),
    "no numbers": (lambda: channel(*(each.replace("<wp:post_id>", "<x>").replace("</wp:post_id>", "</x>") for each in (A, B))).encode(), ("*", "*"), False),
    "number of a million digits": (lambda: channel(A, item(3).replace("<wp:post_id>3", "<wp:post_id>" + "3" * 1_000_000)).encode(), ("1", "*"), False),
    "paths and terminal commands": (
        lambda: channel(A, item(3, title="\x1b]0;x\x07<script>a</script>", post_name="../../../etc/passwd", link="javascript:alert(1)"), B).encode(),
        ("1", "2", "3"), False,
    ),
    "prefix of another namespace": (lambda: around("").replace(b'xmlns:dc="http://purl.org/dc/elements/1.1/"', b'xmlns:dc="http://other.example/"'), BOTH, False),
    "no namespaces": (lambda: channel(A, B).replace('xmlns:', "data-").encode(), BOTH, False),
    "packed": (lambda: gzip.compress(around("")), BOTH, False),
    "meta of a hostile plugin": (lambda: around(item(3, extra=meta("_thumbnail_id", "9" * 5000) + meta("_wp_attachment_metadata", "a:" * 100_000))), ("1", "2", "3"), False),
    "picture of a hostile size": (lambda: around(picture(9, "x" * 5000 + ".jpg")), BOTH, False),
}  # fmt: skip


def backed_up(path: Path, root: Path) -> dict[str, Any]:
    """Back up a file in a process of its own, and return what it told."""
    done = subprocess.run([sys.executable, "-c", RUNNER, path, root], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["memory"] < MEMORY_BYTES, f"{told['memory'] / 1024**2:.0f} MiB"
    return told


def lines(told: dict[str, Any]) -> Iterator[str]:
    yield from told["problems"]
    if told["error"] is not None:
        yield told["error"]


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_without_entries_or_with_entities_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "blog.xml"
    path.write_bytes(REFUSED[name]())
    told = backed_up(path, tmp_path / "archive")
    assert told["error"] is not None
    assert "\n" not in told["error"]
    assert len(told["error"]) < 300
    assert not (tmp_path / "archive").exists()


@pytest.mark.parametrize("name", READ)
def test_a_broken_file_is_read_around_its_fault(tmp_path: Path, name: str) -> None:
    made, expected, lost = READ[name]
    path = tmp_path / "blog.xml"
    path.write_bytes(made())
    told = backed_up(path, tmp_path / "archive")
    assert told["error"] is None
    named = [each for each in expected if each != "*"]
    assert set(named) <= set(told["entries"])
    assert len(told["entries"]) == len(expected), told["entries"]
    assert told["exit_code"] == (3 if lost else 0), told["problems"]
    assert bool(told["problems"]) is lost
    for line in lines(told):
        assert "\n" not in line
        assert len(line) < 300
    for key, canary in (("1", "CANARY-A"), ("2", "CANARY-B")):
        if key in named:
            assert canary in told["texts"][key]
