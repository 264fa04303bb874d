"""Run the importers, and write the tables of docs/importers.md: numbers of records, and kinds of content.

python -m tests.importers.table [TESTS]

With names of tests, in pytest's form, only the rows of these tests are updated. The table of kinds needs all tests of
``tests/importers/test_kinds.py``.
"""

from __future__ import annotations

import sys
from typing import Final

import pytest

from tests.importers.conftest import LEDGER, ROOT
from tests.importers.kinds_homes import TARGETS
from tests.importers.ledger import as_markdown, kinds_as_markdown

_PAGE: Final = ROOT / "docs" / "importers.md"
_BEGIN: Final = {
    "table": "<!-- table: python -m tests.importers.table -->\n",
    "kinds": "<!-- kinds: python -m tests.importers.table -->\n",
}
_END: Final = "<!-- end -->\n"
_NOT_YET: Final = (
    "--deselect=tests/importers/test_table.py::test_every_format_has_a_consumer",
    "--deselect=tests/importers/test_kinds.py::test_the_page_has_what_was_seen",
)


class _Writer:
    """A plugin that writes the table once every test has passed."""

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Replace the table in the page."""
        if exitstatus == pytest.ExitCode.OK:
            found = session.config.stash[LEDGER]
            _write_rows(as_markdown([row for row in found.rows if row.blog == "demo"]))
            if len(found.kinds) == len(TARGETS):
                before, begin, _, end, after = _parted("kinds")
                _write(f"{before}{begin}", kinds_as_markdown(found.kinds), f"{end}{after}")


def _parted(name: str) -> tuple[str, str, str, str, str]:
    """Return the page before a table, the mark that begins it, the table, the mark that ends it, and the rest."""
    before, begin, rest = _PAGE.read_text(encoding="utf-8").partition(_BEGIN[name])
    return before, begin, *rest.partition(_END)


def _write(*lines: str) -> None:
    _PAGE.write_text("\n".join(lines), encoding="utf-8")


def _write_rows(table: str) -> None:
    """Put the table of exports into the page; if only some tests ran, the other rows stay unchanged."""
    before, begin, old, end, after = _parted("table")
    lines = table.splitlines()
    rows_before = [line for line in old.splitlines() if sys.argv[1:] and line.startswith("| ") and line != lines[0]]
    known = {_key(line): line for line in [*rows_before, *lines[2:]]}
    if known:
        rows = [known[key] for key in sorted(known)]
        _write(f"{before}{begin}", *lines[:2], *rows, "", f"{end}{after}")


def _key(line: str) -> tuple[str, ...]:
    """Return the format and the consumer of a row."""
    return tuple(cell.strip() for cell in line.split("|")[1:3])


if __name__ == "__main__":
    tests = sys.argv[1:] or [str(ROOT / "tests" / "importers")]
    sys.exit(pytest.main(["-m", "importers", *tests, *_NOT_YET], plugins=[_Writer()]))
