"""What a person meets first in an archive's folder: ``index.html`` and 最初にお読みください.txt, both derived.

``index.html`` is there as long as the site is that it leads to. The text is README.txt in Japanese, for Windows too: it
begins with a byte order mark and its lines end with CR LF, since Notepad of before 2019 shows neither UTF-8 nor lines
otherwise. Both are made again by each run that brings ``latest/`` up to date, so older archives get them. Their hashes
are in ``.work/``, as those of other views are. A file of these names that the program did not write is left alone.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.checksums import sha256_or_none
from exporter.archive.safe_files import FileTooLarge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.archive.layout import Layout
    from exporter.archive.safe_files import InnerPath

_MOST: Final = 1 << 20
_MARKS: Final = (b'<meta name="generator" content="blog-exporter">', "このフォルダーは、blog-exporter ".encode())
"""What each of the two files has near its beginning when the program wrote it."""
_BEGINNING: Final = 1000
_STYLE: Final = (
    ":root{color-scheme:light dark}"
    "body{margin:0;font:1rem/1.8 system-ui,sans-serif}"
    "main{max-width:36rem;margin:0 auto;padding:2rem 1rem}"
    "h1{font-size:1.2rem;overflow-wrap:anywhere}"
    "section{margin-top:2rem}"
    ".open{display:inline-block;padding:.6rem 1.4rem;border:2px solid;border-radius:.5rem}"
    ".open{font-weight:bold;text-decoration:none}"
    ".open span{margin-left:.6em;font-weight:normal}"
)


def refresh_front_door(layout: Layout, blog_id: str) -> None:
    """Bring both files up to date; the caller holds the lock.

    Raises:
        BlogExporterError: they cannot be written.
    """
    site = (layout.latest / "site" / "index.html").kind() == ""
    page = index_page(blog_id, layout.readme_ja.name) if site else None
    with atomic.translated(layout.root):
        atomic.make_folder(layout.work)
        noted = _noted(layout)
        for path, wanted in ((layout.index, page), (layout.readme_ja, readme_ja())):
            _keep(layout, noted, path, wanted)


def damaged_files(layout: Layout) -> Iterator[str]:
    """Yield the names of those that are not as they were written."""
    for name, digest in _noted(layout).items():
        if sha256_or_none(layout.root / name) != digest:
            yield name


def index_page(blog_id: str, readme_name: str) -> bytes:
    """Return ``index.html``: a page without scripts that leads to the site; ``blog_id`` is untrusted."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    values = {"digest": digest, "style": _STYLE, "blog_id": escape(blog_id), "readme_ja": quote(readme_name)}
    return _bundled("front_door.html").format(**values).encode("utf-8", "replace")


def readme_ja() -> bytes:
    """Return README.txt in Japanese, with a byte order mark and line ends CR LF."""
    return _bundled("README.ja.txt").replace("\n", "\r\n").encode("utf-8-sig")


def _bundled(name: str) -> str:
    return resources.files("exporter.archive").joinpath(name).read_text("utf-8")


def _noted(layout: Layout) -> dict[str, str]:
    """Return the hashes of what was written, of these two names alone."""
    try:
        rows = lossless_json.loads(layout.front_door.read_bytes(_MOST))
    except (OSError, lossless_json.NotJson):
        return {}
    known = rows if isinstance(rows, dict) else {}
    return {name: str(known[name]) for name in (layout.index.name, layout.readme_ja.name) if name in known}


def _keep(layout: Layout, noted: dict[str, str], path: InnerPath, wanted: bytes | None) -> None:
    """Make a file what it should be, or remove it for ``None``, unless somebody else put it there.

    While it changes no hash of it is noted, so that a kill leaves nothing that looks like damage.
    """
    kind = path.kind()
    try:
        found = path.read_bytes(_MOST) if kind == "" else None
    except FileTooLarge:
        found = b""
    if kind or (found is not None and path.name not in noted and not _is_ours(found)):
        return
    digest = None if wanted is None else hashlib.sha256(wanted).hexdigest()
    if found != wanted:
        if noted.pop(path.name, None) is not None:
            atomic.write_file(layout.front_door, lossless_json.dumps(noted))
        if wanted is None:
            path.unlink(missing_ok=True)
        else:
            atomic.write_file(path, wanted)
    if digest is not None and noted.get(path.name) != digest:
        noted[path.name] = digest
        atomic.write_file(layout.front_door, lossless_json.dumps(noted))


def _is_ours(data: bytes) -> bool:
    return any(mark in data[:_BEGINNING] for mark in _MARKS)
