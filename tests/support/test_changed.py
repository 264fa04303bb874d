"""The tests that ``make quick`` chooses."""

from __future__ import annotations

import pytest

from tests.support.changed import ROOT, chosen_for


@pytest.mark.parametrize(
    ("paths", "chosen"),
    [
        (["exporter/html/markdown.py"], ["tests/html", "tests/test_architecture.py"]),
        (["exporter/text.py"], ["tests/test_architecture.py", "tests/test_text.py"]),
        (["tests/html/test_markdown.py"], ["tests/html/test_markdown.py"]),
        (["tests/html/test_markdown.py", "exporter/html/markdown.py"], ["tests/html", "tests/test_architecture.py"]),
        (["tests/site/conftest.py"], ["tests/site"]),
        (["tests/site/reference/index.html"], ["tests/site"]),
        (["tests/conftest.py"], []),
        (["docs/copies.md"], ["tests/docs", "tests/test_docs.py"]),
        (["exporter/locale/ja.json", "Makefile"], []),
    ],
)
def test_the_tests_for_a_change(paths: list[str], chosen: list[str]) -> None:
    assert chosen_for(paths) == chosen


def test_every_room_has_tests() -> None:
    modules = [path.name for path in (ROOT / "exporter").glob("[!_]*") if path.suffix == ".py" or path.is_dir()]
    assert [each for each in modules if each != "locale" and len(chosen_for([f"exporter/{each}/x.py"])) < 2] == []
