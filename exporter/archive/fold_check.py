"""Applying the lines of a version to the state before it while they are checked, and finding those that change nothing.

Reading and splitting a line costs more than all else in a check of a whole archive, so each is read and split once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.archive.state import key_of_id
from exporter.message import Message, message

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.archive.lines import RecordLine
    from exporter.archive.manifest import Manifest
    from exporter.archive.state import Key, State
    from exporter.model.kinds import Kind


class FoldCheck:
    """The lines of one segment, applied to a state one by one.

    Args:
        state: the state before the version.
        kind: the kind of the segment's records.
        path: the segment.
        version: the number of the version.
        manifest: its manifest. A pruned version may remove records that no version has any more, and a healed one
            repeats records.

    Attributes:
        wrong: the lines that do not change the state, in words.
    """

    def __init__(self, state: State, kind: Kind, path: Path, version: int, manifest: Manifest) -> None:
        self._records = state.kinds[kind]
        self._segment = state.segments.add(path)
        self._version = version
        self._healed = manifest.healed is not None
        self._removes_unknown = self._healed or manifest.pruned is not None
        self._first_new = self._records.rows()
        self._before: dict[Key, bytes | None] = {}
        self._offset = 0
        self.wrong: list[Message] = []

    def apply(self, line: RecordLine, length: int) -> None:
        """Apply the next line, which has this number of bytes."""
        records = self._records
        key = key_of_id(line.record_id)
        row = records.keys.find(key)
        repeated = key in self._before or (row is not None and row >= self._first_new)
        if repeated:
            before = self._before.get(key)
            self.wrong.append(message("{record_id} has two lines", record_id=line.record_id))
        else:
            before = None if row is None else records.identity(row)
            if row is not None or line.removed:
                self._before[key] = before
        if line.removed:
            if before is None and not self._removes_unknown:
                self.wrong.append(message("{record_id} is removed but did not exist", record_id=line.record_id))
            records.keys.remove(key)
        else:
            if before is not None and not self._healed and before == line.identity:
                self.wrong.append(message("{record_id} is put but did not change", record_id=line.record_id))
            place = self._segment, self._offset, length
            records.put_at(key, row, line.identity, line.version or self._version, place)
        self._offset += length
