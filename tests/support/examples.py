"""Property tests with few examples in the default lane, and with many in the lane thorough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings

Test = Callable[..., None]


def in_both_lanes(given_values: Callable[[Any], Any], check: Test, *, some: int, many: int) -> tuple[Test, Test]:
    """Return two tests of a property: with ``some`` examples, and with ``many`` in the lane thorough.

    Args:
        given_values: the result of :func:`hypothesis.given`.
        check: the function with the assertions.
        some: the number of examples in the default lane.
        many: the number in the lane thorough.
    """
    short, long = (settings(max_examples=number, deadline=None)(given_values(check)) for number in (some, many))
    return short, pytest.mark.thorough(long)
