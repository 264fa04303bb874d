"""Read the archives that changed since the last update, for the catalogue, the index page and the search index.

Each of the three keeps a mark with its results for an archive, so that it opens no unchanged archive. A worker updates
one of the fleet's 256 folders at a time.
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
    """A worker's task: update the results for one folder."""

    root: Path
    shard: str
    settings: Settings


@dataclass(slots=True)
class ShardCounts:
    """Counts for one folder, or for all.

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
    """An archive and the result of reading it.

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
    task: ShardTask, marks: Mapping[str, str], read: Callable[[Archive], Made], counts: ShardCounts
) -> Iterator[Reading[Made]]:
    """Yield a folder's archives, sorted by name, after reading those that changed.

    Args:
        task: names the folder.
        marks: the previous marks by blog.
        read: called with each archive that changed, and again if a prune disturbs it.
        counts: counts the archives.

    Raises:
        NoSpace, NoMemory, Interrupted, MemoryError: reading ended with an error that is not about the archive.
    """
    for found in archives_in(task.root, task.shard):
        name = task.shard if found.blog_id == task.shard else f"{task.shard}/{found.path.name}"
        if found.trouble is not None:
            counts.fail(name, found.trouble)
            continue
        counts.blogs += 1
        made: Made | None = None
        reason = None
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
            mark, reason = UNREADABLE, trouble_of(error)
            counts.fail(name, reason)
        yield Reading(found.blog_id, mark, made, reason)


def update_shards(
    root: Path, settings: Settings, pool: WorkerPool, work: Callable[[ShardTask], ShardCounts]
) -> ShardCounts:
    """Have the pool's workers call ``work`` for each folder, and return all counts together."""
    counts = ShardCounts()
    tasks = (ShardTask(root, shard, settings.without_secrets()) for shard in shards_in(root))
    with closing(results_as_completed(pool, work, tasks)) as parts:
        for part in parts:
            counts.add(part)
    return counts
