"""Run the importers, and write the tables with the numbers of records into docs/importers.md.

python -m tests.importers.table [TESTS]

With names of tests, in pytest's form, only the rows of these tests are updated.
"""

from __future__ import annotations

import sys
from typing import Final

import pytest

from tests.importers.conftest import LEDGER, ROOT
from tests.importers.ledger import as_markdown, shown_as_markdown

_PAGE: Final = ROOT / "docs" / "importers.md"
_BEGIN: Final = {
    "table": "<!-- table: python -m tests.importers.table -->\n",
    "shown": "<!-- shown: python -m tests.importers.table -->\n",
}
_END: Final = "<!-- end -->\n"
_NOT_YET: Final = "--deselect=tests/importers/test_table.py::test_every_format_has_a_consumer"


class _Writer:
    """A plugin that writes the table once every test has passed."""

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Replace the table in the page."""
        if exitstatus == pytest.ExitCode.OK:
            found = session.config.stash[LEDGER]
            _write("table", as_markdown(found.rows))
            _write("shown", shown_as_markdown(found.shown))


def _write(name: str, table: str) -> None:
    """Put a table into the page; if only some tests ran, the other rows stay unchanged."""
    before, begin, rest = _PAGE.read_text(encoding="utf-8").partition(_BEGIN[name])
    old, end, after = rest.partition(_END)
    lines = table.splitlines()
    rows_before = [line for line in old.splitlines() if sys.argv[1:] and line.startswith("| ") and line != lines[0]]
    known = {_key(line): line for line in [*rows_before, *lines[2:]]}
    if known:
        rows = [known[key] for key in sorted(known)]
        _PAGE.write_text("\n".join([f"{before}{begin}", *lines[:2], *rows, "", f"{end}{after}"]), encoding="utf-8")


def _key(line: str) -> tuple[str, ...]:
    """Return the format, the consumer and the blog of a row."""
    return tuple(cell.strip() for cell in line.split("|")[1:4])


if __name__ == "__main__":
    tests = sys.argv[1:] or [str(ROOT / "tests" / "importers")]
    sys.exit(pytest.main(["-m", "importers", *tests, _NOT_YET], plugins=[_Writer()]))
