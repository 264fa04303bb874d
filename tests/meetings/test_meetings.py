"""Each feature meets each other one, in both orders: nothing is lost, nothing forgotten or private comes out.

Every feature meets two others in the lane ``test``, and all of them in the lane ``thorough``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from exporter.cli.main import COMMANDS
from tests.cli.conftest import Program
from tests.meetings.features import ALONE, FEATURES
from tests.meetings.world import TOKEN, AddressWorld, ServiceWorld, World
from tests.support.ssh_signing import signing_here
from tests.wordpress.fake import LOGIN

WORLDS = {"service": ServiceWorld, "address": AddressWorld}


def meetings() -> Iterator[Any]:
    """Yield the pairs of features with the kinds of blogs that have both. Neighbours are a sample of all pairs."""
    numbers = {name: number for number, name in enumerate(FEATURES)}
    for (first, second), (at, world) in product(product(FEATURES, repeat=2), enumerate(WORLDS)):
        if all(WORLDS[world] in FEATURES[name].worlds for name in (first, second)):
            distance = (numbers[second] - numbers[first]) % len(numbers)
            is_sample = distance == 1 and numbers[first] % len(WORLDS) == at
            marks = () if is_sample else (pytest.mark.thorough,)
            yield pytest.param(WORLDS[world], first, second, id=f"{first} then {second} ({world})", marks=marks)


@pytest.fixture(autouse=True)
def _own_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BLOG_EXPORTER_TOKEN", TOKEN)
    monkeypatch.setenv("BLOG_EXPORTER_NEW_HOME_TOKEN", LOGIN[1])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize(("world", "first", "second"), [*meetings()])
def test_meeting(world: type[World], first: str, second: str, program: Program, tmp_path: Path) -> None:
    met = world(tmp_path, program)
    with met.opened(), signing_here():
        features = [FEATURES[name](met) for name in (first, second)]
        for each in features:
            each.act()
        met.write_a_post()
        met.backup()
        met.look()
        for each in features:
            each.look()
        met.look()


def test_every_command_is_one_of_a_feature_or_stands_alone_for_a_reason() -> None:
    used = [command for each in FEATURES.values() for command in each.commands]
    assert sorted([*used, *ALONE]) == sorted(COMMANDS)


def test_every_pair_of_features_meets() -> None:
    for first, second in product(FEATURES.values(), repeat=2):
        assert {*first.worlds} & {*second.worlds}, (first.name, second.name)
