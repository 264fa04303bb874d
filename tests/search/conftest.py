from __future__ import annotations

from tests.history.conftest import _no_waiting_for_the_disk

__all__ = ["_no_waiting_for_the_disk"]
