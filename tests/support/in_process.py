"""A worker that calls its functions in this process."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from threading import Lock
from typing import Any, Final, Self
from unittest.mock import patch

from PIL import Image

from exporter.worker import WorkerFailed

_ONE_AT_A_TIME: Final = Lock()


class InProcess:
    """Takes the place of :class:`exporter.worker.Worker` for pictures and expressions of which none is hostile."""

    def __init__(self, shared: Any = None, memory: int | None = None) -> None:
        assert shared is None
        self.memory = memory

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def call(self, function: Callable[..., Any] | str, *args: Any, seconds: float | None = None) -> Any:
        assert seconds is None or seconds > 0
        called = pkgutil.resolve_name(function) if isinstance(function, str) else function
        with _ONE_AT_A_TIME, patch.object(Image, "MAX_IMAGE_PIXELS", Image.MAX_IMAGE_PIXELS):
            try:
                return called(*args)
            except Exception as error:
                raise WorkerFailed(f"{type(error).__name__}: {error}") from error
