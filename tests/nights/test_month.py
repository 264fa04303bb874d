"""A month of nights: one notification when something breaks, one when it heals, else none; and the page is current."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tests.nights.month import PAGE, Night, month, page


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> list[Night]:
    return month(Path(tmp_path_factory.mktemp("month")))


@pytest.mark.thorough
def test_the_page_is_current(nights: list[Night]) -> None:
    assert page(nights) == PAGE.read_text(encoding="utf-8"), "run python -m tests.nights.month"


def test_each_night_says_what_is_new_and_nothing_else(nights: list[Night]) -> None:
    ran = [night for night in nights if night.code is not None]
    assert {night.code for night in ran} == {0, 3, 4, 12, 20, 28}
    assert ran[0].mail == ""
    for before, night in pairwise(ran):
        if night.code == before.code:
            named_once = "is gone (404)" in night.words
            assert (night.mail != "") is named_once, night
            assert night.command == "", night
        elif night.code:
            assert "error: " in night.mail or "incomplete: " in night.mail, night
            assert night.command == "failed", night
        else:
            assert night.mail.count("\n") == 1, night
            assert "is well again" in night.mail, night
            assert night.command == "healed", night


def test_the_monitor_is_up_only_after_a_success(nights: list[Night]) -> None:
    assert all((night.monitor == "up") is (night.code == 0) for night in nights)


def test_no_notification_has_a_secret(nights: list[Night]) -> None:
    assert "tok-3n" not in page(nights)
