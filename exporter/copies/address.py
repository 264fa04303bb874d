"""Distinguish copies in S3 from local folders, and refuse unsupported addresses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from exporter.errors import UsageError
from exporter.message import message

S3_SCHEME: Final = "s3://"
_REMOTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:", re.ASCII)
"""A scheme (RFC 3986, section 3.1) or the remote of rclone. A single letter before the colon is a drive of Windows."""


def is_address(place: str) -> bool:
    """Return whether a copy is at an address, and not in a folder of this machine.

    Schemes are compared without regard to case (RFC 3986, section 3.1).

    Raises:
        UsageError: the place is an address of another kind, such as ``gs://`` or ``b2:``.
    """
    if place[: len(S3_SCHEME)].lower() == S3_SCHEME:
        return True
    found = _REMOTE.match(place)
    if found is not None and not Path(place).is_dir():
        raise UsageError(
            message(
                "{place} is not supported: a copy can be in a folder, or at an address such as s3://bucket/prefix. To "
                "use a folder of that name, type {folder}.",
                place=place,
                folder=f"./{place}",
            )
        )
    return False
