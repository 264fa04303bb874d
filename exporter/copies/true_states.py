"""Which version of a file that changes is the true one, where whoever has the keys can write others over it.

The log of runs only grows: every true state of it begins with all that were there before. So what was put over it, and
does not, is none. The seal is true where it agrees with ``archive.json`` and the log. Of an encrypted copy, what does
not open, or has no proof in it, is none either; whoever cannot open it takes the newest version.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from exporter.archive.manifest import read_sums

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from exporter.copies.s3_bucket import BucketObject

    Read = Callable[[BucketObject], bytes | None]
    """Reads a version; ``None`` for what the copy's writer did not write."""

LOG: Final = "runs.jsonl"
SEAL: Final = "SHA256SUMS"
INFO: Final = "archive.json"
_PASSING: Final = "versions.new.json"
_PLACE: Final = re.compile(
    rf"(?P<folder>(?:.*/)?)(?P<file>{re.escape(LOG)}|{SEAL}|{re.escape(_PASSING)})(?P<ending>(?:\.age)?)", re.DOTALL
)
_OF_A_PRUNE: Final = re.compile(r"(?:.*/)?versions\.new(?:/.*|\.json(?:\.age)?)", re.DOTALL)
_OF_A_VERSION: Final = re.compile(r"(?:.*/)?versions(?:\.new)?/[0-9]+/", re.DOTALL)


def changes(name: str) -> bool:
    """Tell whether an object of this name, of an archive or of one in a fleet, is replaced by others."""
    found = _PLACE.fullmatch(name)
    return found is not None and _OF_A_VERSION.fullmatch(found["folder"]) is None


def beside(name: str) -> tuple[str, str, str]:
    """Return what kind of file a changing one is, and the names of the log and of ``archive.json`` beside it."""
    found = _PLACE.fullmatch(name)
    if found is None:
        raise ValueError(name)
    log, info = (f"{found['folder']}{each}{found['ending']}" for each in (LOG, INFO))
    return found["file"], log, info


def is_of_a_prune(name: str) -> bool:
    """Tell whether an object of this name belongs to the prune of a copy: its note, or the versions to be."""
    return _OF_A_PRUNE.fullmatch(name) is not None


def true_log(versions: Sequence[BucketObject], read: Read) -> BucketObject:
    """Return the true state of the log of runs.

    Args:
        versions: at least one, the newest first.
        read: reads one.
    """
    content = read(versions[0])
    if content is not None and all(_begins_with(content, each) for each in versions[1:]):
        return versions[0]
    true, content = versions[0], None
    for each in reversed(versions):
        if content is not None and each.size <= len(content):
            continue
        later = read(each)
        if later is not None and (content is None or (len(later) > len(content) and later.startswith(content))):
            true, content = each, later
    return true


def true_seal(versions: Sequence[BucketObject], read: Read, log: bytes, info: bytes) -> BucketObject:
    """Return the newest seal that agrees with the log of runs and ``archive.json``; the newest where none does.

    Args:
        versions: at least one, the newest first.
        read: reads one.
        log: the content of the log.
        info: the content of ``archive.json``.
    """
    wanted = {LOG: hashlib.sha256(log).hexdigest(), INFO: hashlib.sha256(info).hexdigest()}
    for each in versions:
        stated = read_sums(read(each) or b"")
        if all(stated.get(name) == digest for name, digest in wanted.items()):
            return each
    return versions[0]


def _begins_with(content: bytes, earlier: BucketObject) -> bool:
    """Tell whether a content begins with a version, whose ETag is its MD5 with nearly all services."""
    beginning = memoryview(content)[: earlier.size]
    return len(beginning) == earlier.size and hashlib.md5(beginning, usedforsecurity=False).hexdigest() == earlier.etag
