"""What the flags of a blog mean, asked of its owner with a sample of each kind. What is not known is not public."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from exporter.cli.questions import Questions
from exporter.export.interface import RecordSource
from exporter.export.posts import Combination, comment_combinations, entry_combinations
from exporter.html.links import AddressPattern
from exporter.model.kinds import Kind
from exporter.model.publication import Declared, PostStatus, Verdict
from exporter.service.interface import Records

_MOST: Final = 20
"""How many combinations are asked for, the most frequent; a blog has a few, and all others are not public."""


class EntryAnswers(NamedTuple):
    """The codes of access that mean public, and whether entries shown for some time are as public as others."""

    public: list[str]
    period: bool


class FlagQuestions:
    """Asks of each combination of flags whether its sample, opened in a browser, is public.

    Args:
        ask: asks.
        records: the blog.
        service: reads its records.
        addresses: how the addresses of its entries are made; empty where that is not known.
    """

    def __init__(
        self, ask: Questions, records: RecordSource, service: Records, addresses: Sequence[AddressPattern]
    ) -> None:
        self._ask = ask
        self._words = ask.words
        self._records = records
        self.service = service
        self._addresses = addresses

    def entries(self) -> EntryAnswers:
        """Ask of the entries: a code is public only if all samples with it are."""
        found = entry_combinations(self._records, self.service)[:_MOST]
        answers: defaultdict[str, list[bool]] = defaultdict(list)
        periods: list[bool] = []
        for one in sorted(found, key=self._is_periodic):
            code = self._code(one)
            if code is None or (self._is_periodic(one) and answers.get(code) and not all(answers[code])):
                continue
            if self._verdict(one, code, period=True).status is PostStatus.PRIVATE:
                self._ask.say(self._words["never"].format(flags=_shown(one), count=f"{one.count:,}"))
                continue
            public = self._is_public(one)
            if self._is_periodic(one):
                periods.append(public)
            if not self._is_periodic(one) or code not in answers:
                answers[code].append(public)
        return EntryAnswers([code for code, said in answers.items() if all(said)], bool(periods) and all(periods))

    def comments(self) -> list[str]:
        """Ask of the comments; return the values of their flag that mean shown."""
        found = comment_combinations(self._records, self.service)
        flag = self.service.deleted_flag
        known = [one for one in found if one.flags[flag] in ("t", "f")]
        if known:
            self._ask.say()
            self._ask.say(self._words["comments"])
        return [str(one.flags[flag]) for one in known if self._is_shown(one)]

    def _is_public(self, one: Combination) -> bool:
        raw = self._raw(Kind.ENTRIES, one.first)
        date = self.service.post(raw).date
        day = "-" if date is None else f"{date:%Y-%m-%d}"
        self._ask.say()
        self._say("sample", one, day=day)
        self._say_address(raw)
        return self._ask.agreed(self._words["public"], default=False)

    def _is_shown(self, one: Combination) -> bool:
        entry_id = self.service.post_id(self._raw(Kind.COMMENTS, one.first))
        self._say("comment", one)
        self._say_address(self._raw(Kind.ENTRIES, entry_id))
        return self._ask.agreed(self._words["shown"], default=False)

    def _say(self, name: str, one: Combination, **fields: str) -> None:
        said = {"flags": _shown(one), "count": f"{one.count:,}", "title": one.samples[0], **fields}
        self._ask.say(self._words[name].format(**said))

    def _say_address(self, raw: dict[str, Any]) -> None:
        made = (pattern.fill(raw) for pattern in self._addresses)
        address = next(filter(None, made), None)
        self._ask.say(self._words["find"] if address is None else self._words["at"].format(address=address))

    def _is_periodic(self, one: Combination) -> bool:
        cause = self._verdict(one, self._code(one) or "", period=False).cause
        return cause is not None and cause.field == self.service.period_flag

    def _verdict(self, one: Combination, code: str, *, period: bool) -> Verdict:
        """Return what the sample would be if its code were public."""
        post = self.service.post(self._raw(Kind.ENTRIES, one.first), self._records.load(Kind.ENTRY_LIST, one.first))
        return self.service.publication(post, Declared(frozenset({code}), period_public=period), None)

    def _code(self, one: Combination) -> str | None:
        """Return the code of access as settings write it; ``None`` for what nobody can declare."""
        value = self._raw(Kind.ENTRIES, one.first).get(self.service.access_flag)
        return str(value) if isinstance(value, str | int) and not isinstance(value, bool) and str(value) else None

    def _raw(self, kind: Kind, record_id: str) -> dict[str, Any]:
        return self._records.load(kind, record_id) or {}


def _shown(one: Combination) -> str:
    written = ((name, "-" if value is None else '""' if value == "" else value) for name, value in one.flags.items())
    return ", ".join(f"{name} {value}" for name, value in written)
