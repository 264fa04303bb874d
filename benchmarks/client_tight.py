"""What a short script can reach: the bare loop, and each record parsed, hashed and written once, without any checks."""

from __future__ import annotations

import asyncio
import hashlib
import os
from argparse import Namespace
from pathlib import Path
from typing import BinaryIO

import orjson

from benchmarks.client_bare import read_all
from benchmarks.client_options import client_options, report

_KEYS = ("cm_id", "file_id", "entry_id", "id")


class _Keeper:
    """Keeps a line for each state of a record, and of the records only their hashes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._known: dict[tuple[str, str], bytes] = {}

    def keep(self, address: str, body: bytes) -> None:
        answer = orjson.loads(body)
        data = answer["json"]["data"] if "json" in answer else answer
        kind = address.partition("?")[0]
        for record in data.get("list", (data,)):
            text = orjson.dumps(record, option=orjson.OPT_SORT_KEYS)
            digest = hashlib.sha256(text)
            key = (kind, next(record[name] for name in _KEYS if name in record))
            if self._known.get(key) != digest.digest():
                self._known[key] = digest.digest()
                self._file.write(b'{"id":"%b","sha256":"%b","data":' % (key[1].encode(), digest.hexdigest().encode()))
                self._file.write(text + b"}\n")


def back_up(options: Namespace) -> tuple[int, int]:
    """Read every address and keep the records in ``options.out``; returns the number of requests and of bytes."""
    with Path(options.out).open("wb", buffering=1 << 20) as file:
        keeper = _Keeper(file)
        done = asyncio.run(read_all(options, keeper.keep))
        file.flush()
        os.fsync(file.fileno())
    return done


if __name__ == "__main__":
    report(*back_up(client_options(__doc__)))
