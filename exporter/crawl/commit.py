"""From ledgers to a version: the lines that are new, changed or gone, in the order of ids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from exporter.archive.lines import remove_line
from exporter.archive.manifest import KindCounts
from exporter.model.kinds import Kind, sort_key

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from exporter.crawl.ledger import Ledger


def count(ledger: Ledger, gone: Mapping[str, dict[str, Any]]) -> KindCounts:
    """Count what a run found of a kind."""
    new = changed = 0
    for record_id in ledger.changed():
        if record_id not in ledger.base:
            new += 1
        elif record_id not in gone and not ledger.heals(record_id):
            changed += 1
    return KindCounts(total=len(ledger.base) + new - len(gone), new=new, changed=changed, gone=len(gone))


def lines(ledger: Ledger, gone: Mapping[str, dict[str, Any]]) -> Iterator[bytes]:
    """Yield a version's lines of a kind, tombstones of what is ``gone`` among them; the spooled ones as they are."""
    ids = sorted({*ledger.changed(), *gone}, key=sort_key) if gone else ledger.changed()
    for record_id in ids:
        if record_id in gone:
            yield remove_line(record_id, gone[record_id])
        else:
            yield ledger.line(record_id)


def has_changes(counts: Mapping[Kind, KindCounts]) -> bool:
    """Tell whether a version is needed."""
    return any(found.new or found.changed or found.gone for found in counts.values())
