"""The addresses in every entry, remembered between runs, so that only changed entries are parsed again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from exporter import lossless_json
from exporter.archive import atomic
from exporter.crawl.assets.addresses import FoundAddress, addresses
from exporter.html.embedded import Use
from exporter.service.interface import Records

_RULES = 2
"""Counts changes of what is looked for, so that entries are parsed anew by a program that finds more."""


class AddressCache:
    """The addresses of every entry, by its id and the state it was in.

    Args:
        path: the file they are remembered in.
        base: the blog's address; what was remembered for another one is worth nothing.
        service: reads the records.
    """

    def __init__(self, path: Path, base: str, service: Records) -> None:
        self._path = path
        self._base = base
        self._service = service
        self._known: dict[str, tuple[str, list[FoundAddress]]] = {}
        self._used: dict[str, tuple[str, list[FoundAddress]]] = {}
        self._load()

    def of(
        self, entry_id: str, identity: bytes | None, load: Callable[[], Mapping[str, Any] | None]
    ) -> list[FoundAddress]:
        """Return what an entry embeds; ``load`` reads it where that is not known for this ``identity``."""
        state = (identity or b"").hex()
        known = self._known.get(entry_id)
        if known is None or known[0] != state or not state:
            known = (state, addresses(self._service.post(load() or {}), self._base))
        self._used[entry_id] = known
        return known[1]

    def save(self) -> None:
        """Remember what was asked for, and nothing else."""
        if self._used == self._known:
            return
        head = lossless_json.dumps({"rules": _RULES, "base": self._base})
        lines = [
            lossless_json.dumps([entry_id, state, [(url, use.value) for url, use in shows]])
            for entry_id, (state, shows) in self._used.items()
        ]
        with atomic.translated(self._path):
            atomic.make_folder(self._path.parent)
            atomic.write_file(self._path, b"\n".join([head, *lines, b""]))

    def _load(self) -> None:
        try:
            head, *lines = self._path.read_bytes().splitlines()
            if lossless_json.loads(head) != {"rules": _RULES, "base": self._base}:
                return
            for line in lines:
                entry_id, state, shows = lossless_json.loads(line)
                self._known[entry_id] = (state, [(url, Use(use)) for url, use in shows])
        except (OSError, lossless_json.NotJson, TypeError, ValueError):
            self._known = {}
