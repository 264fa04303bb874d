"""The events of a capture."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from exporter.capture.scope import AddressKind


class Effect(StrEnum):
    """The effect of an answer on the archive."""

    WRITTEN = auto()
    REVISIT = auto()
    """Only its head was written, because the archive has the same payload at another address or from before."""
    NOT_SHOWN = auto()
    """Nothing was written, because only the archive names this address, and its entry may be private."""
    FORGOTTEN = auto()
    """Nothing was written, because the answer shows a record that was removed from the archive for good."""
    UNCHANGED = auto()
    """Nothing was written, because the newest record of this address is the same."""


@dataclass(frozen=True, slots=True)
class CaptureStarted:
    """The capture begins; ``home`` is the blog's home page."""

    blog_id: str
    home: str


@dataclass(frozen=True, slots=True)
class CaptureResumed:
    """An interrupted capture is resumed; ``answered`` addresses were answered before."""

    started_at: str
    answered: int


@dataclass(frozen=True, slots=True)
class HomeMoved:
    """The home page leads to another host, whose pages are also captured."""

    home: str
    target: str


@dataclass(frozen=True, slots=True)
class AddressCaptured:
    """An address was answered; ``size`` bytes were received, ``known`` addresses are known so far."""

    url: str
    kind: AddressKind
    status: int
    effect: Effect
    size: int
    known: int


@dataclass(frozen=True, slots=True)
class AddressFailed:
    """An address has no answer for now."""

    url: str
    kind: AddressKind
    reason: str


@dataclass(frozen=True, slots=True)
class LimitReached:
    """A limit ends the capture early, or leaves pages out."""

    reason: str


@dataclass(frozen=True, slots=True)
class AssetsCompleted:
    """The archive lacked the files at these addresses, and a capture has them; ``version`` has their records."""

    addresses: tuple[str, ...]
    version: int


CaptureEvent = (
    CaptureStarted | CaptureResumed | HomeMoved | AddressCaptured | AddressFailed | LimitReached | AssetsCompleted
)
