"""The page of all screens shows the current output of the program."""

from __future__ import annotations

import pytest

from tests.support import screens
from tests.support.runs import Runs, Zygote


@pytest.mark.no_cover
def test_the_first_screens_are_current(zygote: Zygote) -> None:
    assert screens.page_of("en").read_text("utf-8").startswith(screens.page("en", zygote, 8)), "run make screens"


@pytest.mark.no_cover
@pytest.mark.thorough
@pytest.mark.parametrize("language", screens.LANGUAGES)
def test_the_screens_are_current(language: str, zygote: Zygote) -> None:
    assert screens.page(language, zygote) == screens.page_of(language).read_text("utf-8"), "run make screens"


def test_without_a_command_the_help_is_shown_unchanged(runs: Runs) -> None:
    shown = runs.run()
    assert shown.code == 2
    assert shown.err == runs.run("--help").out
