"""How much larger a site becomes with its past: ``python -m benchmarks.past``.

A blog is backed up eleven times. Before each backup after the first, a twentieth of its entries changes: half of these
get another sentence at the end, the others a changed sentence in the middle. It prints
the site's total file size and its space on this disk. No picture is stored, since thumbnails, which have no past, would
make the share of the past smaller.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from benchmarks.archives import Nightly
from benchmarks.content import BlogSize, Content
from benchmarks.measure import ours, run
from exporter import lossless_json
from exporter.model.kinds import Kind

_NIGHTS: Final = 10
_SHARE: Final = 20
_BLOCK: Final = 512
"""Bytes in a unit of ``st_blocks``, as POSIX defines it."""
_STATE: Final = "-v"


class _Size(NamedTuple):
    files: int = 0
    held: int = 0
    taken: int = 0

    def __add__(self, other: object) -> _Size:
        return _Size(*map(sum, zip(self, other, strict=True))) if isinstance(other, _Size) else NotImplemented


def main() -> None:
    """Print a table."""
    parser = ArgumentParser(prog="python -m benchmarks.past", description=__doc__)
    parser.add_argument("--entries", type=int, default=2_000)
    entries = parser.parse_args().entries
    print("| blog | files | bytes | on disk | more | of it states | lives | versions | lists and data | entries |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, same, share in (
        ("other entries each time", False, 1),
        ("the same entries each time", True, 1),
        ("other entries each time, posts a third as long", False, 3),
    ):
        with TemporaryDirectory() as folder:
            before, after = _measured(Path(folder) / "archive", entries, same=same, share=share)
        total, old = sum(after.values(), _Size()), sum(before.values(), _Size())
        more = {kind: 100 * (after[kind].held - before[kind].held) / old.held for kind in after}
        parts = " | ".join(
            f"{more.get(kind, 0):.1f} %" for kind in ("states", "lives", "versions", "others", "entries")
        )
        print(
            f"| {name} | {old.files:,} → {total.files:,} | {old.held / 1e6:.1f} → {total.held / 1e6:.1f} MB | "
            f"{old.taken / 1e6:.1f} → {total.taken / 1e6:.1f} MB, {100 * (total.taken / old.taken - 1):.1f} % more | "
            f"{sum(more.values()):.1f} % | {parts} |"
        )
        sys.stdout.flush()


def _measured(root: Path, entries: int, *, same: bool, share: int) -> tuple[dict[str, _Size], dict[str, _Size]]:
    size = BlogSize(entries, 2 * entries, 0)
    content, archive = Content(size), Nightly(root)
    posts = [_shorter(lossless_json.loads(content.entry(number)), share) for number in range(1, entries + 1)]
    archive.commit({
        Kind.ENTRIES: list(map(lossless_json.dumps, posts)),
        Kind.ENTRY_LIST: [content.item(number) for number in range(1, entries + 1)],
        Kind.COMMENTS: [content.comment(number) for number in range(1, 2 * entries + 1)],
        Kind.USER: [content.user],
    })  # fmt: skip
    before = _site(root)
    each = entries // _SHARE
    for night in range(_NIGHTS):
        start = 0 if same else night * each
        for at in range(start, start + each):
            posts[at] = _edited(posts[at], night, more=at % 2 == 0)
        archive.commit({Kind.ENTRIES: list(map(lossless_json.dumps, posts[start : start + each]))})
    return before, _site(root)


def _shorter(post: dict[str, Any], share: int) -> dict[str, Any]:
    blocks = post["entry_text"].splitlines(keepends=True)
    return {**post, "entry_text": "".join(blocks[: -(-len(blocks) // share)])}


def _edited(post: dict[str, Any], night: int, *, more: bool) -> dict[str, Any]:
    text = post["entry_text"]
    if more:
        return {**post, "entry_text": f"{text}<p>追記: 版{night}でことばを直しました。</p>"}
    middle = text.rfind("。", 0, len(text) // 2 + 1)
    start = max(text.rfind(mark, 0, middle) for mark in "。>！？")
    return {**post, "entry_text": f"{text[: start + 1]}版{night}ではこう言いなおしました{text[middle:]}"}


def _site(root: Path) -> dict[str, _Size]:
    """Update the site, and return its sizes."""
    site = Path(json.loads(run(ours("site", root, "--json")).said)["site"]).parent
    found: defaultdict[str, _Size] = defaultdict(_Size)
    for path in site.rglob("*"):
        if path.is_file():
            known = path.stat()
            found[_kind(path.relative_to(site))] += _Size(1, known.st_size, known.st_blocks * _BLOCK)
    return found


def _kind(path: Path) -> str:
    if path.parts[0] != "history":
        return "entries" if path.parts[0] == "entry" else "others"
    if path.name.startswith("version"):
        return "versions"
    return "states" if _STATE in path.name else "lives"


if __name__ == "__main__":
    main()
