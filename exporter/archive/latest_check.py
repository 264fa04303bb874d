"""Comparing a file of ``latest/`` with the versions, in one pass over the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.archive.lines import intact_data, latest_head, put_head

if TYPE_CHECKING:
    from exporter.archive.safe_files import InnerPath
    from exporter.archive.state import State
    from exporter.model.kinds import Kind

_BUFFER_BYTES: Final = 256 * 1024


def shows(path: InnerPath, state: State, kind: Kind) -> bool:
    """Return whether a file has exactly the lines of ``latest/`` for a kind of this state.

    Nearly all lines follow from the hash of their data, so the line in the version is not read again.

    Args:
        path: the file; one that cannot be read does not have them.
        state: the state, from versions whose lines are right.
        kind: the kind.

    Raises:
        ArchiveDamaged: a version changed since it was checked.
    """
    records = state.kinds[kind]
    offset = 0
    try:
        with path.open("rb", _BUFFER_BYTES) as file:
            for key, row in records.keys.items():
                record_id = str(key)
                head = latest_head(record_id, records.version(row))
                length = max(0, records.place(row)[2] - len(put_head(record_id)) + len(head))
                if intact_data(file.read(length), head, records.identity(row)) is None:
                    expected = state.latest_line(kind, record_id, row)
                    file.seek(offset)
                    if file.read(len(expected)) != expected:
                        return False
                    length = len(expected)
                offset += length
            return not file.read(1)
    except OSError:
        return False
