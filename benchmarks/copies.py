"""Verifying a blog with pictures, against ``sha256sum``; and copying it to a folder, against rclone."""

from __future__ import annotations

import hashlib
import json
import random
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from benchmarks.archives import build
from benchmarks.content import BlogSize
from benchmarks.measure import Bench, Sample, Steps, ours, run
from benchmarks.table import Goal, Row
from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.archive import Archive
from exporter.library.views import rebuild
from exporter.model.asset import Asset, asset_path
from exporter.model.kinds import Kind
from exporter.settings import Settings

_PICTURE_BYTES = 50_000
_NIGHTS = 12
_DERIVED = ("latest", ".work")
"""The folders that no copy has."""


def copies(bench: Bench) -> Iterator[Row]:
    """Measure ``verify`` with and without pictures, and the first and a later ``sync``, with all files in memory."""
    entries, pictures = bench.size(1_250, 250), bench.size(5_000, 500)
    with bench.memory() as folder:
        words, whole = folder / "words", folder / "whole"
        for root, number in ((words, 0), (whole, pictures)):
            make_archive(root, entries, number)
        yield from _verified(bench, {"": words, f" and {pictures:,} pictures": whole}, f"{entries:,} real posts")
        yield from _synced(bench, folder, whole, pictures)


def make_archive(root: Path, entries: int, pictures: int) -> None:
    """Make an archive of real posts and pictures, with some versions and its ``latest/`` but no views."""
    archive = build(root, BlogSize(entries, 2 * entries, entries // 5), _NIGHTS, real=True)
    archive.commit({Kind.ASSETS: list(_pictures(root, pictures))})
    rebuild(Archive.open(root), Settings(markdown=False, site=False))


def _pictures(root: Path, number: int) -> Iterator[bytes]:
    """Store pictures of random bytes, and yield the record of each."""
    chance = random.Random(1)
    for each in range(1, number + 1):
        content = chance.randbytes(_PICTURE_BYTES)
        digest = hashlib.sha256(content).hexdigest()
        path = root / asset_path(digest, "image/png")
        atomic.make_folder(path.parent)
        path.write_bytes(content)
        refs = ({"entry": str(each)},)
        asset = Asset(f"https://pictures.example/{each}.png", 200, "image/png", len(content), digest, refs=refs)
        yield lossless_json.dumps(asset.data())


def _verified(bench: Bench, archives: dict[str, Path], size: str) -> Iterator[Row]:
    if bench.peer("sha256sum", "sha256sum", everywhere=True) is None:
        return
    for name, root in archives.items():
        ran, against = f"verify, {size}{name}", f"sha256sum of all files{name}"
        find = f"find {shlex.quote(str(root))} -name .work -prune -o -type f -print0 | xargs -0 sha256sum > /dev/null"
        samples = bench.turns({ran: ours("verify", root, "--json"), against: ["sh", "-c", find]})
        if not all(json.loads(sample.said)["intact"] for sample in samples[ran]):
            raise RuntimeError("the archive is damaged")
        yield bench.row(samples, ran, against, Goal(cpu=1.5))


def _synced(bench: Bench, folder: Path, archive: Path, pictures: int) -> Iterator[Row]:
    rclone = bench.peer("rclone", "rclone")
    if rclone is None:
        return
    left_out = [f"--exclude=/{name}/**" for name in _DERIVED]

    def copy(target: Path) -> list[str]:
        return [rclone, "copy", "--quiet", "--config=", *left_out, str(archive), str(target)]

    def sync(target: Path) -> list[str]:
        return ours("sync", archive, target, "--json", "--new")

    first, later = f"first sync of {pictures:,} pictures", "later sync, nothing new"
    theirs = {first: "rclone, first", later: "rclone, later"}
    kept = {name: folder / name for name in ("ours", "theirs")}
    run(sync(kept["ours"]))
    run(copy(kept["theirs"]))
    steps: Steps = {
        first: bench.anew(sync, folder),
        theirs[first]: bench.anew(copy, folder),
        later: sync(kept["ours"]),
        theirs[later]: copy(kept["theirs"]),
    }
    samples = bench.turns(steps)
    if not all(_sent(sample) for sample in samples[first]) or any(_sent(sample) for sample in samples[later]):
        raise RuntimeError("a sync sent too few files, or too many")
    for target in kept.values():
        shutil.rmtree(target)
    for name, against in theirs.items():
        yield bench.row(samples, name, against, Goal(cpu=1.2))


def _sent(sample: Sample) -> int:
    return int(sample.json["objects"])
