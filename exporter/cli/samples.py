"""A blog's combinations of flags, each with a sample to look at, and the meaning of its owner's answers about them.

The questions on the terminal and the form in the window show the same samples and read their answers in the same way.
A code is public only if the owner called every sample with it public, and a record marked as private stays private.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from exporter.export.interface import RecordSource
from exporter.export.posts import Combination, comment_combinations, entry_combinations
from exporter.html.links import AddressPattern
from exporter.model.kinds import Kind
from exporter.model.publication import Declared, PostStatus, Verdict
from exporter.service.interface import Records
from exporter.setting_types import values

_MAX_SAMPLES: Final = 20
"""Combinations of flags asked about, the most frequent first. A blog has a few; all others are not public."""
_KEY_CHARACTERS: Final = 16


@dataclass(frozen=True, slots=True)
class Sample:
    """Records with the same flags, and the first of them.

    Attributes:
        code: the value that a setting declares: of access for entries, of the flag for comments.
        flags: all flags with their values, for people.
        count: how many records have them.
        title: the entry's title, or the comment's text.
        day: the entry's date, as 2016-03-19; empty if unknown.
        address: the entry's address, or that of the comment's entry; ``None`` if unknown.
        key: names these flags in a form, so that an answer is never read for other flags.
        periodic: whether the entry is shown only for a period.
        private: whether the entry is marked as private, independently of its code.
    """

    code: str
    flags: str
    count: int
    title: str
    day: str
    address: str | None
    key: str
    periodic: bool = False
    private: bool = False


class EntryAnswers(NamedTuple):
    """The public codes of access, and whether entries with a period of publication are as public as others."""

    public: list[str]
    period: bool


def public_codes(samples: Sequence[Sample], is_public: Callable[[Sample], bool]) -> EntryAnswers:
    """Return the meaning of the owner's answers about entries; a code is public only if all samples with it are.

    Args:
        samples: in the order of :meth:`FlagSamples.entries`.
        is_public: the answer about a sample; not called for one with a period whose code is not public without it.
            The answer about a sample that is marked as private is not used.
    """
    answers: defaultdict[str, list[bool]] = defaultdict(list)
    periods: list[bool] = []
    for sample in samples:
        known = answers.get(sample.code)
        if sample.periodic and known and not all(known):
            continue
        public = is_public(sample)
        if sample.private:
            continue
        if sample.periodic:
            periods.append(public)
        if not sample.periodic or known is None:
            answers[sample.code].append(public)
    return EntryAnswers([code for code, said in answers.items() if all(said)], bool(periods) and all(periods))


class FlagSamples:
    """Finds the samples.

    Args:
        records: the blog.
        service: reads its records.
        addresses: the patterns of its entries' addresses; empty if unknown.
    """

    def __init__(self, records: RecordSource, service: Records, addresses: Sequence[AddressPattern]) -> None:
        self._records = records
        self._service = service
        self._addresses = addresses

    def entries(self) -> list[Sample]:
        """Return the samples of entries, those with a period last; without values that no setting can declare."""
        found = entry_combinations(self._records, self._service)[:_MAX_SAMPLES]
        samples = [sample for one in found if (sample := self._entry(one)) is not None]
        return sorted(samples, key=lambda sample: sample.periodic)

    def comments(self) -> list[Sample]:
        """Return the samples of comments whose flag has one of its two known values."""
        flag = self._service.deleted_flag
        found = comment_combinations(self._records, self._service)
        return [self._comment(one, str(one.flags[flag])) for one in found if one.flags[flag] in ("t", "f")]

    def _entry(self, one: Combination) -> Sample | None:
        raw = self._raw(Kind.ENTRIES, one.first)
        code = _code(self._service.flags(raw).get(self._service.access_flag))
        if code is None:
            return None
        date, cause = self._service.post(raw).date, self._verdict(raw, one.first, code, period=False).cause
        return Sample(
            code,
            _shown(one),
            one.count,
            one.samples[0],
            "" if date is None else f"{date:%Y-%m-%d}",
            self._address(raw),
            _key(one),
            cause is not None and cause.field == self._service.period_flag,
            self._verdict(raw, one.first, code, period=True).status is PostStatus.PRIVATE,
        )

    def _comment(self, one: Combination, code: str) -> Sample:
        entry = self._raw(Kind.ENTRIES, self._service.post_id(self._raw(Kind.COMMENTS, one.first)))
        return Sample(code, _shown(one), one.count, one.samples[0], "", self._address(entry), _key(one))

    def _address(self, raw: dict[str, Any]) -> str | None:
        made = (pattern.fill(raw) for pattern in self._addresses)
        return next(filter(None, [self._service.post(raw).permalink, *made]), None)

    def _verdict(self, raw: dict[str, Any], entry_id: str, code: str, *, period: bool) -> Verdict:
        """Return the verdict on the sample if its code were public."""
        post = self._service.post(raw, self._records.load(Kind.ENTRY_LIST, entry_id))
        return self._service.publication(post, Declared(frozenset({code}), period_public=period), None)

    def _raw(self, kind: Kind, record_id: str) -> dict[str, Any]:
        return self._records.load(kind, record_id) or {}


def _code(value: object) -> str | None:
    """Return a code of access as settings write it; ``None`` for a value that they would read as another."""
    if not isinstance(value, str | int) or isinstance(value, bool):
        return None
    code = str(value)
    try:
        return code if values(code) == {code} else None
    except ValueError:
        return None


def _shown(one: Combination) -> str:
    written = ((name, "-" if value is None else '""' if value == "" else value) for name, value in one.flags.items())
    return ", ".join(f"{name} {value}" for name, value in written)


def _key(one: Combination) -> str:
    flags = json.dumps(one.flags, ensure_ascii=True, sort_keys=True, default=str)
    return hashlib.sha256(flags.encode()).hexdigest()[:_KEY_CHARACTERS]
