"""Reading Parquet back."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arro3.core import RecordBatchReader


def read_parquet(file: BytesIO) -> RecordBatchReader:
    """Read a table; its library comes with the ``parquet`` extra and is not needed to collect the tests."""
    from arro3.io import read_parquet as read  # noqa: PLC0415

    return read(file)
