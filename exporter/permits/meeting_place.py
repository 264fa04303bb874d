"""The folder where owners and crawlers find each other: the lock, the address, the epoch, the secret, the budgets.

It is the fleet's own and shared by all of its machines; whoever can read it may ask for permits.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from exporter import lossless_json
from exporter.archive.atomic import make_folder, write_file
from exporter.archive.lock import ArchiveLock
from exporter.archive.safe_files import inner
from exporter.errors import UsageError
from exporter.message import message
from exporter.permits.budget import HostLimits

_MOST: Final = 1 << 20


class Owner(NamedTuple):
    """Who owns the budgets.

    Attributes:
        epoch: how many owners there were.
        host: where it listens; empty when it has ended in order, nothing being held by anybody.
        port: likewise.
    """

    epoch: int
    host: str
    port: int


class Terms(NamedTuple):
    """What an owner is to keep.

    Attributes:
        hosts: the limits of origins.
        others: those of any other host.
        lease: seconds for which a crawler may use its share without a word from the owner.
        longest: seconds that a request may take in all: the total time-out.
    """

    hosts: Mapping[str, HostLimits]
    others: HostLimits = HostLimits()
    lease: float = 3.0
    longest: float = 120.0


class MeetingPlace:
    """A folder, made where it is missing.

    Raises:
        UsageError: what is there is not what an owner wrote.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self, terms: Terms) -> Self:
        """Make the folder, and say what owners are to keep."""
        make_folder(inner(self.folder))
        if not (self.folder / "token").exists():
            write_file(inner(self.folder / "token"), secrets.token_hex(32).encode())
        document = {**terms._asdict(), "hosts": {origin: list(each) for origin, each in terms.hosts.items()}}
        write_file(inner(self.folder / "terms.json"), lossless_json.dumps(document | {"others": list(terms.others)}))
        return self

    def lock(self) -> ArchiveLock:
        """Return the lock that only the owner has."""
        return ArchiveLock(self.folder / "lock")

    def terms(self) -> Terms:
        """Return what owners are to keep."""
        found = self._document("terms.json")
        try:
            hosts = {str(origin): HostLimits(int(most), rate) for origin, (most, rate) in found["hosts"].items()}
            return Terms(hosts, HostLimits(*found["others"]), float(found["lease"]), float(found["longest"]))
        except (AttributeError, KeyError, TypeError, ValueError):
            raise self._wrong("terms.json") from None

    def owner(self) -> Owner | None:
        """Return who owns the budgets, or did last; ``None`` where nobody ever did."""
        if not (self.folder / "owner.json").exists():
            return None
        found = self._document("owner.json")
        try:
            return Owner(int(found["epoch"]), str(found["host"]), int(found["port"]))
        except (KeyError, TypeError, ValueError):
            raise self._wrong("owner.json") from None

    def publish(self, owner: Owner) -> None:
        """Say who the owner is; for the holder of the lock."""
        write_file(inner(self.folder / "owner.json"), lossless_json.dumps(owner._asdict()))

    def proof(self, *parts: str) -> str:
        """Return what shows that one knows the secret, which itself is never sent."""
        secret = inner(self.folder / "token").read_bytes(_MOST)
        return hmac.digest(secret, "\n".join(parts).encode(errors="replace"), "sha256").hex()

    def _document(self, name: str) -> dict[str, Any]:
        try:
            found = lossless_json.loads(inner(self.folder / name).read_bytes(_MOST))
        except (OSError, lossless_json.NotJson):
            raise self._wrong(name) from None
        if not isinstance(found, dict):
            raise self._wrong(name)
        return found

    def _wrong(self, name: str) -> UsageError:
        return UsageError(
            message(
                "{path} is not readable as what an owner of permits wrote: end all runs of this fleet, remove the "
                "folder, and start again",
                path=self.folder / name,
            )
        )
