"""Read an archive as FORMAT.md describes it, with the standard library only."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KINDS = ("entries", "entry_list", "comments", "files", "user", "assets")
State = dict[str, dict[str, bytes]]
sys.set_int_max_str_digits(0)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)


def canonical(text: bytes) -> bytes:
    plain = json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return plain.encode("utf-8", "backslashreplace")


def apply_line(records: dict[str, bytes], line: bytes, place: str) -> None:
    if line.startswith(b'{"op":"remove",'):
        records.pop(json.loads(line)["id"], None)
        return
    head_text, _, rest = line.partition(b',"data":')
    head, data = json.loads(head_text + b"}"), rest.removesuffix(b"}")
    if "raw_sha256" in head:
        require(sha256(data) == head["raw_sha256"], f"{place}: raw_sha256 of {head['id']}")
        require(sha256(canonical(data)) == head["sha256"], f"{place}: sha256 of {head['id']}")
    else:
        require(sha256(data) == head["sha256"], f"{place}: sha256 of {head['id']}")
    records[head["id"]] = data


def states(root: Path) -> Iterator[tuple[int, State]]:
    """Yield each version's number and its state: for every kind, the bytes of each record by ID."""
    info = json.loads((root / "archive.json").read_bytes())
    require(info["format"] == "blog-exporter-archive" and info["format_version"] == 1, "archive.json")
    state: State = {kind: {} for kind in KINDS}
    parent: dict[str, Any] | None = None
    for folder in sorted((root / "versions").iterdir(), key=lambda path: int(path.name)):
        for row in (folder / "SHA256SUMS").read_text("utf-8").splitlines():
            require(sha256((folder / row[66:]).read_bytes()) == row[:64], f"{folder.name}: SHA256SUMS of {row[66:]}")
        manifest_bytes = (folder / "manifest.json").read_bytes()
        require(json.loads(manifest_bytes)["parent"] == parent, f"{folder.name}: parent")
        parent = {"version": int(folder.name), "sha256": sha256(manifest_bytes)}
        for kind in KINDS:
            for line in (folder / f"{kind}.jsonl").read_bytes().split(b"\n")[:-1]:
                apply_line(state[kind], line, f"{folder.name}: {kind}")
        yield int(folder.name), {kind: dict(records) for kind, records in state.items()}
