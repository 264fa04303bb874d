"""Checking the captures of an archive: their chain, their seal, their log and the files of each of them.

The records inside the WARC files are checked by :mod:`exporter.warc.checks`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from exporter import lossless_json
from exporter.archive.captures import INDEX, RUNS, Capture, captures, is_capture_file
from exporter.archive.checks import ChecksumCache, Finding, FindingCode, descriptor_sha256
from exporter.archive.documents import run_lines, runs_sha256
from exporter.archive.forgotten import newest_name
from exporter.archive.layout import (
    CAPTURE,
    CAPTURE_RUNS,
    MAX_CAPTURE_BYTES,
    SUMS,
    capture_name,
    captures_in,
    version_name,
)
from exporter.archive.manifest import capture_fault, capture_run_fault, read_sums, write_sums
from exporter.archive.safe_files import MAX_DOCUMENT_BYTES, HeldFolder
from exporter.errors import ArchiveDamaged
from exporter.message import message

if TYPE_CHECKING:
    from exporter.archive.layout import Layout

_FOREIGN: Final = message("no part of the format")
_UNREADABLE: Final = message("it cannot be read")
_MISSING: Final = message("{sums} names it, and it is missing", sums=SUMS)
_REQUIRED: Final = (CAPTURE, INDEX)


def check_captures(
    layout: Layout, sealed: Mapping[str, str], linked: str | None, removal: Mapping[str, str] | None = None
) -> Iterator[Finding]:
    """Check that no capture disappeared or was replaced, and the log of their runs.

    Args:
        layout: the archive.
        sealed: the rows of the root's ``SHA256SUMS``.
        linked: the hash of the newest capture when the newest line of ``runs.jsonl`` was written, if there was one.
        removal: during a removal of records that was interrupted, the new hash of each changed capture by its old hash.
    """
    try:
        found = captures(layout)
        names = layout.captures.names() if layout.captures.kind() == "a folder" else []
    except (ArchiveDamaged, OSError):
        yield Finding(FindingCode.CAPTURE_DAMAGED, "captures", _UNREADABLE)
        return
    known = {version_name(each.number) for each in found} | {RUNS}
    for name in names:
        if name not in known:
            yield Finding(FindingCode.STRANGE_FILE, f"captures/{name}", _FOREIGN)
    numbers = [each.number for each in found]
    named = captures_in(sealed)
    gaps = [
        _gap(before + 1, after - 1)
        for before, after in pairwise([0, *numbers, max([*numbers, *named], default=0) + 1])
        if after - before > 1
    ]
    yield from gaps
    digests: dict[int, str] = {}
    yield from _chain(found, digests)
    for number in named:
        wanted = sealed[capture_name(number)]
        if digests.get(number, wanted) != wanted:
            as_noted = removal is not None and newest_name(removal, wanted) == digests[number]
            code = FindingCode.NOT_SEALED if as_noted else FindingCode.CAPTURE_DAMAGED
            yield Finding(code, capture_name(number), message("it differs from the sealed one"))
    if numbers and not named:
        yield Finding(FindingCode.NOT_SEALED, SUMS, message("it does not name the newest capture"))
    if linked is not None and linked not in digests.values() and not gaps:
        detail = message("the capture that its newest line names is missing")
        yield Finding(FindingCode.CAPTURE_MISSING, "runs.jsonl", detail)
    yield from _log(layout, sealed.get(CAPTURE_RUNS), max(numbers, default=0), is_changing=removal is not None)


def _chain(found: list[Capture], digests: dict[int, str]) -> Iterator[Finding]:
    """Check each ``capture.json``, and put its hash into ``digests``."""
    for capture in found:
        before = capture.number - 1
        digest, document, fault = _description(capture)
        if fault is not None:
            yield Finding(FindingCode.CAPTURE_DAMAGED, capture_name(capture.number), fault)
        elif document["capture"] != capture.number:
            detail = message("it says capture {number}", number=document["capture"])
            yield Finding(FindingCode.CAPTURE_DAMAGED, capture_name(capture.number), detail)
        elif (before == 0 or before in digests) and _parent_of(document) != (before, digests.get(before)):
            detail = message("it does not name the capture before it")
            yield Finding(FindingCode.CHAIN_BROKEN, capture_name(capture.number), detail)
        digests[capture.number] = digest


def _gap(first: int, last: int) -> Finding:
    path = f"captures/{version_name(first)}"
    if first == last:
        return Finding(FindingCode.CAPTURE_MISSING, path, message("it is missing"))
    detail = message("it and all captures up to {last} are missing", last=version_name(last))
    return Finding(FindingCode.CAPTURE_MISSING, path, detail)


def _description(capture: Capture) -> tuple[str, dict[str, Any], str | None]:
    """Return a ``capture.json``'s hash and content, and its fault."""
    try:
        data = (capture.folder / CAPTURE).read_bytes(MAX_CAPTURE_BYTES)
    except OSError:
        return "", {}, _UNREADABLE
    digest = hashlib.sha256(data).hexdigest()
    try:
        document = lossless_json.loads(data)
    except lossless_json.NotJson as error:
        return digest, {}, message("it is not JSON: {error}", error=error)
    fault = capture_fault(document)
    return digest, {} if fault else document, fault


def _parent_of(document: Mapping[str, Any]) -> tuple[int, str | None]:
    """Return number and hash of the capture before; 0 without one."""
    parent = document["parent"]
    return (0, None) if parent is None else (parent["capture"], parent["sha256"])


def _log(layout: Layout, sealed: str | None, newest: int, *, is_changing: bool) -> Iterator[Finding]:
    """Check the lines of ``captures/runs.jsonl``, from which an unfinished removal may have taken addresses."""
    path = layout.capture_runs
    if path.kind() is None:
        if sealed is not None:
            yield Finding(FindingCode.CAPTURE_DAMAGED, CAPTURE_RUNS, message("it is missing"))
        return
    running = hashlib.sha256()
    try:
        for number, line in enumerate(run_lines(path), 1):
            running.update(line)
            if not line.endswith(b"\n"):
                yield Finding(FindingCode.NOT_SEALED, CAPTURE_RUNS, message("its last line was cut short"))
                break
            try:
                value = lossless_json.loads(line)
                fault = capture_run_fault(value)
            except lossless_json.NotJson as error:
                value, fault = None, message("it is not JSON: {error}", error=error)
            if fault is not None:
                detail = message("line {number} is not a run: {fault}", number=number, fault=fault)
                yield Finding(FindingCode.CAPTURE_DAMAGED, CAPTURE_RUNS, detail)
            elif (value.get("capture") or 0) > newest:
                detail = message("line {number} names a capture that is missing", number=number)
                yield Finding(FindingCode.CAPTURE_MISSING, CAPTURE_RUNS, detail)
        if sealed is not None and runs_sha256(path, sealed) == sealed != running.hexdigest():
            detail = message("it does not begin with the sealed lines: some were changed or cut off")
            code = FindingCode.NOT_SEALED if is_changing else FindingCode.CAPTURE_DAMAGED
            yield Finding(code, CAPTURE_RUNS, detail)
    except OSError:
        yield Finding(FindingCode.CAPTURE_DAMAGED, CAPTURE_RUNS, _UNREADABLE)


def check_capture_files(capture: Capture, cache: ChecksumCache) -> Iterator[Finding]:
    """Check the files of a capture against its ``SHA256SUMS`` and its ``capture.json``.

    Args:
        capture: the capture.
        cache: the files that need not be read again.
    """
    place = f"captures/{version_name(capture.number)}"
    with HeldFolder(capture.folder) as folder:
        try:
            data = folder.read_bytes(SUMS, MAX_DOCUMENT_BYTES)
            names = folder.names()
        except OSError:
            yield Finding(FindingCode.CAPTURE_DAMAGED, f"{place}/{SUMS}", _UNREADABLE)
            return
        rows = read_sums(data)
        if write_sums(rows) != data:
            detail = message("it has a row without a hash and a name")
            yield Finding(FindingCode.CAPTURE_DAMAGED, f"{place}/{SUMS}", detail)
        for name in names:
            if name not in rows and name != SUMS:
                yield Finding(FindingCode.STRANGE_FILE, f"{place}/{name}", _FOREIGN)
        right: set[str] = set()
        for name in dict.fromkeys((*_REQUIRED, *rows)):
            if not is_capture_file(name):
                detail = message("it names a file that no capture has")
                yield Finding(FindingCode.CAPTURE_DAMAGED, f"{place}/{SUMS}", detail)
            elif name not in rows:
                detail = message("{sums} does not name it", sums=SUMS)
                yield Finding(FindingCode.CAPTURE_DAMAGED, f"{place}/{name}", detail)
            elif name not in names:
                yield Finding(FindingCode.CAPTURE_DAMAGED, f"{place}/{name}", _MISSING)
            else:
                damage = list(_file(folder, place, name, rows[name], cache))
                yield from damage
                right |= set() if damage else {name}
        yield from _stated(capture, folder, place, rows, right)


def _file(folder: HeldFolder, place: str, name: str, sha256: str, cache: ChecksumCache) -> Iterator[Finding]:
    try:
        stat = folder.lstat(name)
        if cache.is_unchanged(f"{place}/{name}", stat):
            return
        if descriptor_sha256(folder.descriptor(name)) == sha256:
            cache.add(f"{place}/{name}", stat)
            return
    except OSError:
        yield Finding(FindingCode.CAPTURE_DAMAGED, f"{place}/{name}", _UNREADABLE)
        return
    detail = message("its hash is not the one in {sums}", sums=SUMS)
    yield Finding(FindingCode.CAPTURE_DAMAGED, f"{place}/{name}", detail)


def _stated(
    capture: Capture, folder: HeldFolder, place: str, rows: Mapping[str, str], right: set[str]
) -> Iterator[Finding]:
    """Compare the list of files in ``capture.json`` with the files."""
    _, document, fault = _description(capture)
    if fault is not None:
        return  # reported by check_captures
    stated = {each["name"]: (each["bytes"], each["sha256"]) for each in (*document["segments"], *document["files"])}
    found: dict[str, tuple[int, str]] = {}
    for name in rows.keys() - {CAPTURE}:
        # The size of a damaged file is no news: it is reported with the file.
        size = folder.lstat(name).st_size if name in right else stated.get(name, (0, ""))[0]
        found[name] = size, rows[name]
    if found != stated:
        detail = message("its list of files differs from the files")
        yield Finding(FindingCode.CAPTURE_DAMAGED, f"{place}/{CAPTURE}", detail)
