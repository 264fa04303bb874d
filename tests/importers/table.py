"""Run the importers, and write the table of what went in and out into docs/importers.md.

python -m tests.importers.table
"""

from __future__ import annotations

import sys
from typing import Final

import pytest

from tests.importers.conftest import LEDGER, ROOT
from tests.importers.ledger import as_markdown

_PAGE: Final = ROOT / "docs" / "importers.md"
_BEGIN: Final = "<!-- table: python -m tests.importers.table -->\n"
_END: Final = "<!-- end -->\n"
_NOT_YET: Final = "--deselect=tests/importers/test_table.py::test_every_format_has_a_consumer"


class _Writer:
    """A plugin that writes the table once every test has passed."""

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Replace the table in the page."""
        if exitstatus == pytest.ExitCode.OK:
            before, _, rest = _PAGE.read_text(encoding="utf-8").partition(_BEGIN)
            after = rest.partition(_END)[2]
            table = as_markdown(session.config.stash[LEDGER].rows)
            _PAGE.write_text(f"{before}{_BEGIN}\n{table}\n{_END}{after}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(pytest.main(["-m", "importers", str(ROOT / "tests" / "importers"), _NOT_YET], plugins=[_Writer()]))
