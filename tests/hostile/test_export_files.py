"""Hostile and broken files in Movable Type's import format: no traceback, one line each, nothing lost, little memory.

Each is backed up by the real command in a process of its own, with both views.
"""

from __future__ import annotations

import gzip
import io
import random
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from exporter.archive.archive import Archive
from exporter.model.kinds import Kind
from tests.support.peaks import run_measured

pytestmark = pytest.mark.thorough

MOST_MEGABYTES = 300
WORD = "しるし"
"""Is in the text of each entry that must be in the archive."""
SAVED, PARTIAL, REFUSED, USAGE, FAILED = 0, 3, 4, 2, 20


def head(number: int = 1, **fields: str) -> str:
    values = {"AUTHOR": "umi", "TITLE": f"{number}", "STATUS": "Publish", "DATE": "03/04/2024 10:00:00", **fields}
    return "".join(f"{name}: {value}\n" for name, value in values.items())


def entry(body: str = "", number: int = 1, after: str = "", more: str = "", **fields: str) -> str:
    return f"{head(number, **fields)}{more}-----\nBODY:\n{WORD}\n{body}\n-----\n{after}--------\n"


def many(count: int) -> Iterator[str]:
    for number in range(count):
        yield entry(
            f"{number}", number, DATE=f"03/04/2024 {number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}"
        )


def comment(number: int, text: str = "a", name: str = "b") -> str:
    return f"COMMENT:\nAUTHOR: {name}\nDATE: 03/05/2024 10:{number // 60 % 60:02}:{number % 60:02}\n{text}\n-----\n"


def packed(names: dict[str, bytes], damage: bool = False) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in names.items():
            archive.writestr(name, data)
    result = bytearray(made.getvalue())
    if damage:
        result[len(result) // 3] ^= 0xFF
    return bytes(result)


def noise(size: int) -> bytes:
    return random.Random(1).randbytes(size)


TWO = entry("海") + entry("空", 2, DATE="03/05/2024 10:00:00")


@dataclass(frozen=True)
class Case:
    """A file, and the result of its backup.

    Attributes:
        data: makes its content.
        entries: how many the archive has; ``None`` if no archive is made.
        codes: the exit codes that may be the right ones.
        name: of the file.
    """

    data: Callable[[], bytes]
    entries: int | None = 1
    codes: tuple[int, ...] = (SAVED,)
    name: str = "export.txt"


def text(made: Callable[[], str], entries: int | None = 1, *codes: int) -> Case:
    return Case(lambda: made().encode("utf-8", "surrogatepass"), entries, codes or (SAVED,))


CASES = {
    "empty": Case(lambda: b"", None, (USAGE,)),
    "line ends alone": Case(lambda: b"\r\n" * 100_000, None, (USAGE,)),
    "a byte order mark alone": Case(lambda: b"\xef\xbb\xbf", None, (USAGE,)),
    "separators alone": Case(lambda: b"-----\n--------\n" * 100_000, None, (USAGE,)),
    "noise": Case(lambda: noise(5_000_000), None, (USAGE,)),
    "noise after an entry": Case(lambda: TWO.encode() + noise(3_000_000), 2, (PARTIAL,)),
    "NULs in a body": text(lambda: entry("\0" * 1_000_000)),
    "commands for terminals": text(lambda: entry("\x1b]0;x\x07", TITLE="\x1b[2J\x1b]0;owned\x07\u202e", AUTHOR="\x9b31m", COLOUR="\x1b[31m")),
    "markup everywhere": text(lambda: entry("<script>alert(1)</script>", TITLE="</title><script>x</script>", CATEGORY="\"><img src=x onerror=y>")),
    "scripts as addresses": text(lambda: entry("x", after=comment(1).replace("DATE", "URL: javascript:alert(1)\nDATE"), more="UNIQUE URL: javascript:alert(1)\n")),
    "paths as names": text(lambda: entry("x", BASENAME="../../../../etc/passwd", CATEGORY="../..", TITLE="../../x\\..\\y")),
    "a line of 1 MB": text(lambda: entry("あ" * 350_000)),
    "a line of 7 MB": text(lambda: entry("a" * 7_000_000)),
    "a line of 100 MB": text(lambda: TWO + entry("a" * 100_000_000, 3, DATE="03/06/2024 10:00:00"), 3, PARTIAL),
    "a title of 1 MB": text(lambda: entry("x", TITLE="題" * 350_000)),
    "20,000 categories": text(lambda: head() + "".join(f"CATEGORY: c{n}\n" for n in range(20_000)) + entry("x").removeprefix(head())),
    "100,000 tags": text(lambda: entry("x", TAGS=",".join(f'"t {n}"' for n in range(100_000)))),
    "quotes without end in tags": text(lambda: entry("x", TAGS='"' * 100_001 + "," * 1000)),
    "10,000 unknown fields": text(lambda: head() + "".join(f"X{n}: y\n" for n in range(10_000)) + entry("x").removeprefix(head())),
    "10,000 comments": text(lambda: entry("x", after="".join(comment(n, str(n)) for n in range(10_000)))),
    "20,000 equal comments": text(lambda: entry("x", after=comment(1) * 20_000)),
    "comments of 1 MB": text(lambda: entry("x", after="".join(comment(n, "あ" * 350_000) for n in range(60))), 1, PARTIAL),
    "an excerpt after 8 MB of comments": text(lambda: entry("x", after="".join(comment(n, "a" * 80_000) for n in range(100)) + "EXCERPT:\ne\n-----\n")),
    "3,000 entries of one second": text(lambda: "".join(entry(f"{n}", n) for n in range(3_000)), 3_000),
    "3,000 copies of an entry": text(lambda: TWO * 3_000, None, REFUSED),
    "a file three times": text(lambda: "".join(many(500)) * 3, 1_500),
    "5,000 entries": text(lambda: "".join(many(5_000)), 5_000),
    "a whole file as a body": text(lambda: entry("".join(many(50))), 51, PARTIAL),
    "200,000 separators in a body": text(lambda: entry("-----\n\n" * 200_000)),
    "10,000 second bodies": text(lambda: entry("-----\nBODY:\nx\n" * 10_000)),
    "10,000 words for sections": text(lambda: entry("-----\nNOTE:\nx\n" * 10_000)),
    "heads without bodies": text(lambda: (head() + "--------\n") * 1_000 + entry("x", 2, DATE="03/05/2024 10:00:00"), 1_001),
    "cut inside a character": Case(lambda: (TWO + entry("海" * 40, 3, DATE="03/06/2024 10:00:00")).encode()[:-60], 3, (PARTIAL,)),
    "two encodings": Case(lambda: "".join(many(40)).encode() + entry("日本語の本文です", 3, DATE="03/06/2024 10:00:00").encode("cp932"), 41),
    "UTF-16": Case(lambda: TWO.encode("utf-16"), 2),
    "ISO-2022-JP": Case(lambda: TWO.encode("iso2022_jp"), 2),
    "broken EUC-JP": Case(lambda: (TWO + "".join(many(60))).encode("euc_jp").replace("海".encode("euc_jp"), b"\xb3", 1), 62, (PARTIAL,)),
    "half characters": text(lambda: entry("\ud83d" * 1000, TITLE="\ud83d"), 1, PARTIAL),
    "impossible dates": text(lambda: "".join(entry(str(n), n, DATE=date, BASENAME=str(n)) for n, date in enumerate(("0", "99/99/9999 99:99:99", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "-1", "1" * 100_000, "٠٣/٠٤/٢٠٢٤ ١٠:٠٠:٠٠"))), 7),
    "a status of terminal commands": text(lambda: entry("x", STATUS="\x1b[31mPublish" + "!" * 100_000)),
    "deep Markdown": text(lambda: entry("> " * 50_000 + "[" * 50_000 + "*a " * 50_000 + "`" * 50_000, more="CONVERT BREAKS: markdown_with_smartypants\n")),
    "a million line ends": text(lambda: entry("\n" * 1_000_000 + "x", more="CONVERT BREAKS: 1\n")),
    "100,000 open tags": text(lambda: entry("<div><b>" * 50_000, more="CONVERT BREAKS: 1\n")),
    "a bomb in a ZIP": Case(lambda: packed({"a.txt": TWO.encode() + b"\n" * 400_000_000}), None, (USAGE,), "export.zip"),
    "paths in a ZIP": Case(lambda: packed({"../../a.txt": TWO.encode(), "/etc/x.jpg": noise(1000)}), 2, (SAVED,), "export.zip"),
    "a damaged ZIP": Case(lambda: packed({"a.txt": "".join(many(2_000)).encode()}, damage=True), None, (USAGE, FAILED, PARTIAL), "export.zip"),
    "a ZIP cut short": Case(lambda: packed({"a.txt": TWO.encode()})[:-40], None, (USAGE,), "export.zip"),
    "a bomb in gzip": Case(lambda: gzip.compress(TWO.encode() + b"\n" * 500_000_000, 1), 2, (SAVED, PARTIAL), "export.txt.gz"),
    "gzip cut short": Case(lambda: gzip.compress("".join(many(3_000)).encode())[:-1000], None, (PARTIAL,), "export.txt.gz"),
}  # fmt: skip


UNCERTAIN = {
    "a whole file as a body",  # which nothing tells from entries
    "two encodings",  # of which the more frequent one decides
    "noise after an entry",  # so much that it decides about the encoding
}


def test_there_are_at_least_forty() -> None:
    assert len(CASES) >= 40


@pytest.mark.parametrize("name", CASES)
def test_a_file(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    path, root = tmp_path / case.name, tmp_path / "archive"
    path.write_bytes(case.data())
    code, megabytes, err = run_measured(tmp_path, ("backup", path, "--archive", root, "--assets", "none"))
    shown = err[-2000:]
    assert "Traceback" not in err, shown
    assert "Unexpected" not in err, shown
    assert "\x1b]" not in err
    assert "\x07" not in err
    assert code in case.codes, shown
    assert megabytes < MOST_MEGABYTES, f"{megabytes} MB"
    failures = sum(line.startswith("blog-exporter: error:") for line in err.splitlines())
    assert failures == (code not in {SAVED, PARTIAL}), shown
    assert ("INCOMPLETE:" in err) == (code == PARTIAL), shown
    if case.entries is None and not (root / "archive.json").is_file():
        return
    archive = Archive.open(root)
    entries = dict(archive.records(Kind.ENTRIES))
    if case.entries is not None:
        assert len(entries) == case.entries
        kept = [each.read_bytes() for each in (root / "assets").rglob("*") if each.is_file()]
        assert path.read_bytes() in kept, "the file itself is in the archive"
    if name not in UNCERTAIN:
        assert all(WORD in str(raw.get("BODY", WORD)) for raw in entries.values())
