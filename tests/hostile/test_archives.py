"""Run every command on archives forged by an attacker: no command reads or changes files outside, and none hangs.

Each case runs the real command in a separate process. :mod:`tests.support.trace` records the files that it opens and
changes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from exporter import lossless_json
from exporter.cli.main import COMMANDS
from exporter.export.formats import FORMATS
from tests.hostile.building import (
    SECRET,
    Outside,
    endless,
    fifo,
    folder,
    forge_assets,
    link,
    sock,
    stored,
)
from tests.hostile.commands import COPIES, ONLINE, READERS, WRITERS, Place, arguments
from tests.hostile.conftest import Whole
from tests.support.runs import Done

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what is opened is read from /proc"),
]

DOCUMENTED = {0, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 20, 28}
SECONDS = 20.0
"""The most CPU time of a command; a busy machine takes longer by the clock."""
DIGITS = "0123456789abcdef" * 4

Attack = Callable[[Path, Outside], None]

FILES = (
    "archive.json", "README.txt", "FORMAT.md", "runs.jsonl",
    "index.html", "最初にお読みください.txt", ".index.html.tmp",
    "versions/000001/manifest.json", "versions/000002/manifest.json", "versions/000001/SHA256SUMS",
    "versions/000001/entries.jsonl", "versions/000002/entries.jsonl", "versions/000001/assets.jsonl",
    "latest/entries.jsonl", "latest/assets.jsonl", "latest/markdown/index.md", "latest/site/index.html",
    ".work/lock", ".work/latest.json", ".work/views.jsonl", ".work/checked.jsonl", ".work/versions.json",
    ".work/latest.rows", ".work/latest.new.rows", ".work/latest.next/entries.jsonl",
    ".work/search.txt", ".work/search.sqlite", ".work/freshness.jsonl",
    ".work/pages-comments.jsonl", ".work/.pages-comments.jsonl.tmp",
    ".work/site.facts", ".work/site.facts.new", ".work/site.pictures", ".work/.site.pictures.tmp",
    ".work/assets.jsonl", ".work/embedded.jsonl", ".work/documents.jsonl", ".work/runs.jsonl",
    ".work/.checked.jsonl.tmp", ".work/.latest.json.tmp", ".work/.versions.json.tmp", ".work/.freshness.jsonl.tmp",
    ".work/views.new.jsonl", ".archive.json.tmp", ".work/checkpoint/meta.json", ".work/checkpoint/entries.jsonl",
    ".work/new-version/manifest.json", ".work/new-versions/000002/manifest.json",
    "forgotten.jsonl", "settings.toml", "evidence/000001/SHA256SUMS", "evidence/000001/SHA256SUMS.sig",
    ".work/forgetting.json", ".work/notified.json", ".work/damaged.json", ".work/exchanges.sqlite", ".work/exchanges.new",
)  # fmt: skip
"""All files in an archive, including temporary ones."""
FOLDERS = (
    "versions", "versions/000001", "versions/000002", "assets", "latest", "latest/markdown", "latest/site", ".work",
    ".work/assets", ".work/checkpoint", ".work/checkpoint.old", ".work/checkpoint.aside", ".work/new-version",
    ".work/new-versions", ".work/latest.new", ".work/latest.next", ".work/latest.old", "versions.new", "versions.old",
    "evidence", "evidence/000001", "evidence/000002",
)  # fmt: skip
ENDLESS = ("archive.json", "runs.jsonl", "versions/000002/manifest.json", ".work/latest.json", ".work/lock")
SPECIAL = (
    "archive.json", "runs.jsonl", "versions/000002/manifest.json", "versions/000001/entries.jsonl",
    "latest/entries.jsonl", "settings.toml", ".work/lock", ".work/latest.json", ".work/views.jsonl", ".work/latest.rows", ".work/search.txt",
    ".work/site.facts", ".work/forgetting.json", "README.txt", "index.html", "forgotten.jsonl", "evidence/000001/SHA256SUMS", "evidence/000001/SHA256SUMS.sig",
)  # fmt: skip
DIGESTS: dict[str, Any] = {
    "up": "../docs/passwords",
    "further up": "../../docs/passwords",
    "absolute": "{outside}/passwords",
    "short": DIGITS[:-1],
    "long": DIGITS + "0",
    "upper": DIGITS.upper(),
    "nul": DIGITS[:-1] + "\0",
    "line": DIGITS + "\n",
    "wide": "０" * 64,
    "dots": "../" * 21 + "a",
    "none": None,
    "number": 5,
    "list": [DIGITS],
}
TYPES: dict[str, Any] = {"up": "../../docs/passwords", "nul": "image/png\0", "number": 5, "other": "text/html"}


def _at(name: str, put: Callable[[Path], None]) -> Attack:
    return lambda root, outside: put(root / name)


def _linked(name: str, target: str) -> Attack:
    return lambda root, outside: link(root / name, outside.folder / target)


def _digest(text: Any, *, latest: bool) -> Attack:
    def attack(root: Path, outside: Outside) -> None:
        value = text.replace("{outside}", str(outside.folder)) if isinstance(text, str) else text
        forge_assets(root, lambda record: {**record, "sha256": value}, latest=latest)

    return attack


def _type(value: Any) -> Attack:
    return lambda root, outside: forge_assets(root, lambda record: {**record, "content_type": value}, latest=True)


def _picture(put: Callable[[Path], None]) -> Attack:
    return lambda root, outside: put(stored(root))


def _picture_linked(root: Path, outside: Outside) -> None:
    link(stored(root), outside.folder / "key")


def _shard_linked(root: Path, outside: Outside) -> None:
    shard = stored(root).parent
    shard.rename(outside.folder / "shard")
    link(shard, outside.folder / "shard")


def _parts_linked(root: Path, outside: Outside) -> None:
    """Replace partial downloads of pictures and their notes by symbolic links."""
    for name in ("a" * 32, "b" * 32):
        link(root / f".work/assets/{name}.part", outside.folder / "key")
        link(root / f".work/assets/{name}.json", outside.folder / "passwords")


def _index_leads_out(root: Path, outside: Outside) -> None:
    """Add lines to the index of views that name files outside the archive."""
    index = root / ".work/views.jsonl"
    lines = [["markdown", "../../../docs/passwords", "00", "00"], ["..", "../docs/key", "00", "00"], [1, 2, 3, 4], {}]
    data = index.read_bytes() + b"".join(lossless_json.dumps(line) + b"\n" for line in lines)
    index.write_bytes(data)
    note = root / ".work/latest.json"
    record = dict(lossless_json.loads(note.read_bytes()))
    note.write_bytes(lossless_json.dumps({**record, "index_sha256": hashlib.sha256(data).hexdigest()}))


def _plan_leads_out(root: Path, outside: Outside) -> None:
    """Leave the plan of an unfinished removal that names files outside the archive."""
    names = ["../../../docs/passwords", "../../docs/passwords", f"{outside.folder}/passwords", DIGITS]
    plan = {
        "at": "2026-01-01T00:00:00Z", "records": {"entries": ["1"], "assets": names}, "counted": {"entries": 1},
        "also": {}, "assets": names, "runs": {}, "exchanges": {"1": {name: [0] for name in names}}, "shown": [],
        "note": None, "run": None,
    }  # fmt: skip
    (root / ".work/forgetting.json").write_bytes(lossless_json.dumps(plan))


def _far_version(root: Path, outside: Outside) -> None:
    link(root / "versions/99999999999999999999", outside.folder)
    folder(root / "versions/4294967296")


ATTACKS: dict[str, Attack] = {
    **{f"link {name}": _linked(name, "key") for name in FILES},
    **{f"link {name}/": _linked(name, "deep") for name in FOLDERS},
    **{f"dangling {name}": _linked(name, "new") for name in (*FILES[:4], *FILES[14:20], "latest", "versions", ".work")},
    **{f"zero {name}": _at(name, lambda path: link(path, "/dev/zero")) for name in SPECIAL},
    **{f"fifo {name}": _at(name, fifo) for name in SPECIAL},
    **{f"folder {name}": _at(name, folder) for name in SPECIAL},
    **{f"socket {name}": _at(name, sock) for name in SPECIAL},
    **{f"endless {name}": _at(name, endless) for name in ENDLESS},
    **{f"digest {name}": _digest(value, latest=False) for name, value in DIGESTS.items()},
    **{f"digest {name}, latest": _digest(value, latest=True) for name, value in DIGESTS.items()},
    **{f"type {name}": _type(value) for name, value in TYPES.items()},
    "picture is a link": _picture_linked,
    "picture is a fifo": _picture(fifo),
    "picture is a folder": _picture(folder),
    "picture is a socket": _picture(sock),
    "folder of pictures is a link": _shard_linked,
    "parts are links": _parts_linked,
    "index leads out": _index_leads_out,
    "plan leads out": _plan_leads_out,
    "far version": _far_version,
}
"""Changes that an attacker or a failing disk may have made to an archive."""
WHOLE = ("digest up, latest", "digest absolute", "picture is a link", "plan leads out")
"""Attacks that are tried with all commands and export formats."""


def chosen(name: str, *, most: bool) -> list[tuple[str, ...]]:
    """Return the commands to try an attack with: a rotating choice, or all that write and a rotating choice of others."""
    if name in WHOLE:
        return [*READERS, *COPIES, *WRITERS, *ONLINE]
    turn = list(ATTACKS).index(name)

    def some(commands: tuple[tuple[str, ...], ...], count: int) -> list[tuple[str, ...]]:
        return list(islice(cycle(commands), turn * count, (turn + 1) * count))

    if most:
        return [*some(READERS, 5), ("verify",), COPIES[turn % 2], *some(COPIES[2:], 2), *WRITERS, *ONLINE]
    return [*some(READERS, 2), *some(COPIES, 1), *some(WRITERS, 1), *some(ONLINE, 1)]


WITHOUT_AN_ARCHIVE = {"completion", "init", "demo", "profiles", "login", "logout", "whoami", "fleet"}
SERVED = {"serve", "app"}
"""Tried in test_served.py and test_window.py."""


def test_every_command_and_format_is_tried() -> None:
    cases = [command for name in ATTACKS for command in chosen(name, most=False)]
    assert len(cases) >= 1_000
    assert {command[0] for command in cases} == COMMANDS.keys() - WITHOUT_AN_ARCHIVE - SERVED
    assert {command[1] for command in cases if command[0] == "export"} == FORMATS.keys()


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("most", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_nothing_outside_is_touched(
    whole: Whole, archive: Path, new_home: tuple[str, ...], tmp_path: Path, name: str, most: bool
) -> None:
    outside = Outside.made(tmp_path / "docs")
    ATTACKS[name](archive, outside)
    before = outside.state()
    place = Place(archive, tmp_path / "out", whole.picture, new_home, whole.key)
    place.out.mkdir()
    environ = {"TMPDIR": str(place.out), "XDG_CONFIG_HOME": str(place.out / "config")}
    wrong: list[str] = []
    for number, command in enumerate(chosen(name, most=most)):
        given = whole.online(command, archive) or arguments(command, place, number)
        trace = tmp_path / "trace.json"
        trace.unlink(missing_ok=True)
        run = whole.runs.start(*given, trace=trace, environ=environ)
        done = run.wait()
        wrong += [f"{' '.join(command)}: {each}" for each in faults(done, trace, outside, tmp_path)]
        if outside.state() != before:
            wrong.append(f"{' '.join(command)}: changed {outside.folder}")
            break
    strange = [path for path in tmp_path.rglob("passwords*") if not _is_in(str(path), outside.folder)]
    wrong += [f"{path} was written" for path in strange if not path.is_symlink()]
    written = [path for path in place.out.rglob("*") if path.is_file() and not path.is_symlink()]
    wrong += [f"{path} holds what is not the blog's" for path in written if _leaks(path.read_bytes())]
    sent = [
        repr([whole.home.rest_posts, whole.home.rest_comments]).encode(),
        *(content for _, content in whole.home.files.values()),
    ]
    wrong += ["what is not the blog's was moved"] * any(map(_leaks, sent))
    assert wrong == []


def faults(done: Done, trace: Path, outside: Outside, around: Path) -> list[str]:
    """Return a description of each thing that the run did wrong."""
    found = []
    if done.code not in DOCUMENTED:
        found.append(f"exit {done.code}: {done.err[-300:]}")
    if done.seconds > SECONDS:
        found.append(f"took {done.seconds:.0f} s of CPU time")
    said = done.out + done.err
    found += [f"says {word}: {done.err[-300:]}" for word in ("Unexpected", "Traceback") if word in said]
    if _leaks(said.encode()):
        found.append("tells what is not the blog's")
    if trace.exists():
        seen = json.loads(trace.read_text("utf-8"))
        found += [f"read {path}" for path in seen["read"] if _is_in(path, outside.folder) or path == "/dev/zero"]
        # Commands may write only below the case's folder, and not in the reader's. pytest's output files are outside.
        found += [
            f"changed {path}"
            for path in seen["changed"]
            if _is_in(path, outside.folder) or not (_is_in(path, around) or path.startswith("/dev/"))
        ]
    elif done.code >= 0:
        found.append("left no trace")
    return found


def _is_in(path: str, folder: Path) -> bool:
    return path == str(folder) or path.startswith(f"{folder}/")


def _leaks(data: bytes) -> bool:
    return SECRET[:20] in data or base64.b64encode(SECRET)[:20] in data
