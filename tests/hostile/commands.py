"""All commands, with the arguments that a reader of a stranger's archive would use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from exporter.export.formats import FORMATS

PUBLIC = ("--public-open-flg", "1", "--visible-delete-flg", "f", "--period-flg-public")
HOME = str(Path(__file__).parent.parent.parent / "sample_output" / "latest" / "markdown")
"""Pages of another blog."""
READERS: tuple[tuple[str, ...], ...] = (
    ("status",), ("log",), ("diff",), ("show", "entry", "1"), ("show", "asset", "{picture}", "--json"),
    ("show", "entry", "1", "--markdown"), ("show", "entry", "1", "--html"), ("search", "海"), ("search", "海", "--regex"), ("files",), ("files", "--json"),
    ("inspect",), ("verify",), ("verify", "--quick"), ("verify", "--evidence"), ("doctor",), ("prune", "--keep-last", "1", "--dry-run"),
    ("forget", "--comment", "1", "--dry-run"), ("forget", "--entry", "1", "--author", "a", "--dry-run"),
    ("compare", HOME, *PUBLIC), ("check", "--base-url", "http://127.0.0.1:9"),
    ("schedule", "print", "--for", "cron", "--base-url", "http://127.0.0.1:9"),
)  # fmt: skip
COPIES: tuple[tuple[str, ...], ...] = (
    ("site", "{out}"),
    ("site", "{out}", "--public-only", *PUBLIC),
    ("library", "build", "--out", "{out}"),
    ("library", "build", "--out", "{out}", "--public-only", *PUBLIC),
    *(("export", form, "{out}", *(() if FORMATS[form].whole else PUBLIC)) for form in FORMATS),
    ("diff", "--html", "{out}.html"),
    ("sync", "{out}"),
    ("move", "wordpress", "--map", "{out}.jsonl", "--allow-private-network", *PUBLIC),
)
WRITERS: tuple[tuple[str, ...], ...] = (
    ("site",),
    ("rebuild",),
    ("prune", "--keep-last", "1"),
    ("seal", "--seal-key", "{key}"),
    ("forget", "--entry", "1", "--yes"),
    ("seal", "--seal-key", "{key}", "--rewritten"),
    ("unjoin", "wordpress"),
)
ONLINE: tuple[tuple[str, ...], ...] = (("capture",), ("backup",), ("rename",))
"""Commands that ask the blog; :meth:`Whole.online` knows their options."""


@dataclass(frozen=True)
class Place:
    """The paths and options that commands are run with.

    Attributes:
        archive: the archive.
        out: an empty folder for the output.
        picture: the address of a picture.
        new_home: the options that name a WordPress to move to.
        key: the reader's SSH key.
    """

    archive: Path
    out: Path
    picture: str
    new_home: Sequence[str]
    key: Path


def arguments(command: Sequence[str], place: Place, number: int) -> list[str]:
    """Return the arguments of a command; ``number`` gives each command its own output folder."""
    name, *rest = command
    out = str(place.out / str(number))
    values = {"{out}": out, "{picture}": place.picture, "{key}": str(place.key)}
    filled = [reduce(lambda text, each: text.replace(*each), values.items(), word) for word in rest]
    if name in {"export", "library"}:
        return [name, filled[0], str(place.archive), *filled[1:]]
    if name == "schedule":
        return [name, filled[0], str(place.archive), *filled[1:]]
    if name == "move":
        return [name, filled[0], str(place.archive), *filled[1:], *place.new_home]
    return [name, str(place.archive), *filled]
