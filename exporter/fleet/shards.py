"""Read the archives of a fleet that changed, one of its 256 folders at a time, in worker processes.

The catalogue, the index page and the search index keep their results with the marks of the archives. So an unchanged
archive is not opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypeVar

from exporter.archive.archive import Archive, read_consistently
from exporter.archive.fleet_folder import archives_in, mark_of, open_archive, shards_in
from exporter.fleet.pool import WorkerPool, results_as_completed
from exporter.fleet.work import FATAL, trouble_of
from exporter.settings import Settings

UNREADABLE: Final = "unreadable"
"""The mark of an archive that cannot be read. It matches no archive, so that each update tries again."""
_MAX_NAMED: Final = 1_000
Made = TypeVar("Made")


class ShardTask(NamedTuple):
    """The task of a worker: update the results for one folder of the fleet."""

    root: Path
    shard: str
    settings: Settings


@dataclass(slots=True)
class ShardCounts:
    """Counts for one folder of a fleet, or for all.

    Attributes:
        blogs: the number of blogs.
        entries: the number of their entries, if they are counted.
        read: archives that were read now.
        kept: archives that had not changed since the last time.
        dropped: archives that no longer exist, if they are counted.
        troubles: the number of archives that could not be read.
        trouble: their names with reasons, the first thousand.
        changed: whether the results differ from those before, if this is known.
    """

    blogs: int = 0
    entries: int = 0
    read: int = 0
    kept: int = 0
    dropped: int = 0
    troubles: int = 0
    trouble: list[tuple[str, str]] = field(default_factory=list)
    changed: bool = False

    def add(self, part: ShardCounts) -> None:
        """Count the archives of another folder."""
        self.blogs += part.blogs
        self.entries += part.entries
        self.read += part.read
        self.kept += part.kept
        self.dropped += part.dropped
        self.troubles += part.troubles
        self.trouble += part.trouble[: _MAX_NAMED - len(self.trouble)]
        self.changed = self.changed or part.changed

    def fail(self, name: str, reason: str) -> None:
        """Count an archive that cannot be read."""
        self.trouble.append((name, reason))
        self.troubles += 1


class Reading(NamedTuple, Generic[Made]):
    """An archive of a shard.

    Attributes:
        blog_id: its blog.
        mark: its mark, see :func:`~exporter.archive.fleet_folder.mark_of`, or :data:`UNREADABLE`.
        made: the result of reading it; ``None`` if it is unchanged or cannot be read.
        reason: why it cannot be read; ``None`` if it can.
    """

    blog_id: str
    mark: str
    made: Made | None
    reason: str | None


def read_changed(
    root: Path, shard: str, marks: Mapping[str, str], read: Callable[[Archive], Made], counts: ShardCounts
) -> Iterator[Reading[Made]]:
    """Yield the archives of a shard in the order of their names, and read those that changed.

    Args:
        root: the fleet's folder.
        shard: the shard.
        marks: the marks of the last time, by blog.
        read: called once or more with an archive that changed.
        counts: counts the archives.

    Raises:
        NoSpace, NoMemory, Interrupted, MemoryError: reading ended with an error that is not about the archive.
    """
    for found in archives_in(root, shard):
        name = shard if found.blog_id == shard else f"{shard}/{found.path.name}"
        if found.trouble is not None:
            counts.fail(name, found.trouble)
            continue
        counts.blogs += 1
        made: Made | None = None
        try:
            mark = mark_of(found.path)
            if marks.get(found.blog_id) == mark:
                counts.kept += 1
            else:
                open_archive(found)
                made = read_consistently(found.path, read)
                counts.read += 1
        except FATAL:
            raise
        except Exception as error:  # noqa: BLE001 - whatever an archive holds, the others have their turn
            reason = trouble_of(error)
            counts.fail(name, reason)
            yield Reading(found.blog_id, UNREADABLE, None, reason)
        else:
            yield Reading(found.blog_id, mark, made, None)


def update_shards(
    root: Path, settings: Settings, pool: WorkerPool, work: Callable[[ShardTask], ShardCounts]
) -> ShardCounts:
    """Call ``work`` for each shard of a fleet in the workers of a pool, and return the counts of all."""
    counts = ShardCounts()
    tasks = (ShardTask(root, shard, settings.without_secrets()) for shard in shards_in(root))
    with closing(results_as_completed(pool, work, tasks)) as parts:
        for part in parts:
            counts.add(part)
    return counts
