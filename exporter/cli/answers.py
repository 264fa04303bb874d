"""The owner's answers about a blog's flags: from the settings, from an earlier export, or to questions with samples.

Answers given as options are kept for each blog in ``exports.json``, in the user's configuration folder. Options,
variables and the settings file have priority over them. An entry without an answer is not public.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from exporter.archive import atomic
from exporter.cli.output import Output, counted
from exporter.cli.questions import Questions
from exporter.errors import BlogExporterError, UsageError
from exporter.export.interface import RecordSource
from exporter.export.posts import Combination, comment_combinations, entry_combinations, occurring
from exporter.html.links import AddressPattern
from exporter.message import either, message
from exporter.model.kinds import Kind
from exporter.model.publication import Declared, PostStatus, Verdict
from exporter.service.interface import Records
from exporter.service.registry import FLAG_SETTINGS
from exporter.settings import SETTINGS, Settings, config_folder, option_name
from exporter.text import printable

_VALUES_SHOWN: Final = 10
_MAX_QUESTIONS: Final = 20
"""Combinations of flags asked about, the most frequent first. A blog has a few; all others are not public."""


def answers_path() -> Path:
    """Return the file of the kept answers."""
    return config_folder() / "exports.json"


def declared_flags(service: Records, settings: Settings, blog_id: str, out: Output, *, all_as_draft: bool) -> Declared:
    """Return the meaning of a blog's flags, from the settings or else from the kept answers.

    Args:
        service: names the settings that declare it.
        settings: the first source.
        blog_id: the blog.
        out: prints the kept answers in use, as they decide about publication.
        all_as_draft: whether every entry becomes a draft, so that the kept answers about entries are not used.

    Raises:
        UsageError: the file of answers cannot be read.
    """
    flags, kept = service.flag_settings, _read(answers_path()).get(blog_id, {})
    found: dict[str, Any] = {}
    used: dict[str, str | None] = {}
    for name in filter(None, flags):
        found[name] = settings.get(name)
        if found[name] is None and isinstance(kept.get(name), str):
            try:
                found[name] = SETTINGS[name].read(kept[name])
            except ValueError as error:
                about = {"path": answers_path(), "name": name, "blog_id": blog_id, "text": kept[name]}
                raise UsageError("{path}: {name} of {blog_id} is {text!r}: {reason}.", **about, reason=error) from error
            if name == flags.comments or not all_as_draft:
                used[name] = kept[name]
    if used:
        said: dict[str, Any] = {"said": printable(as_settings(used)), "path": printable(str(answers_path()))}
        out.say("Using the answers kept for {blog_id}: {said} (in {path})", blog_id=printable(blog_id), **said)
    return service.declared(found, all_as_draft=all_as_draft)


def check_answers(
    said: Declared, given: Mapping[str, Any], records: RecordSource, service: Records, warn: Callable[[str], None]
) -> None:
    """Compare the answers with the values that occur, since a typing error would publish nothing, and be kept.

    Args:
        said: the answers, from any source.
        given: the options of the command line by their names.
        records: the state to publish.
        service: reads the records.
        warn: called with declared values that no entry has, if entries have other declared values.

    Raises:
        UsageError: no entry has a value declared public, or no comment has a value declared visible.
    """
    public, _, comments = service.flag_settings
    if said.public_access is not None and (given.get(public) is not None or not said.all_as_draft):
        found = occurring(records, service, Kind.ENTRIES, service.access_flag, said.public_access)
        unknown = said.public_access - set(found)
        if unknown == said.public_access and found:
            raise UsageError(_not_among(public, said.public_access, service.access_flag, found, "entry"))
        if unknown and found:
            values = either(sorted(unknown))
            warn(
                message(
                    "No entry has {flag} {values}, which you declared public.", flag=service.access_flag, values=values
                )
            )
    if given.get(comments) is not None:
        shown = occurring(records, service, Kind.COMMENTS, service.deleted_flag, said.visible_comment_flags)
        if shown and not said.visible_comment_flags & set(shown):
            raise UsageError(_not_among(comments, said.visible_comment_flags, service.deleted_flag, shown, "comment"))


def _not_among(name: str, values: frozenset[str], flag: str, found: Counter[str], noun: str) -> str:
    known = [
        message("{value} ({count})", value=printable(value, 40), count=counted(count, noun))
        for value, count in found.most_common(_VALUES_SHOWN)
    ]
    return message(
        "{name} is {values}, which does not occur: {flag} is {known}. Choose one of these with {option}, or see "
        "inspect DIR.",
        name=name,
        values=",".join(sorted(values)),
        flag=flag,
        known=either(known),
        option=option_name(name),
    )


def as_settings(answers: Mapping[str, str | None]) -> str:
    """Return answers as a settings file has them, with commas between them."""
    return ", ".join(f'{name} = "{value}"' for name, value in sorted(answers.items()) if value is not None)


def keep_answers(given: Mapping[str, Any], blog_id: str, out: Output) -> None:
    """Keep the options about a blog's flags, and print them if they are new."""
    new = {name: given[name] for name in FLAG_SETTINGS if given[name] is not None}
    path = answers_path()
    kept = _read(path)
    known = kept.get(blog_id, {})
    if not new or {**known, **new} == known:
        return
    kept[blog_id] = {**known, **new}
    text = json.dumps(kept, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
    shown = printable(as_settings(new))
    try:
        with atomic.translated(path):
            atomic.make_folder(path.parent)
            atomic.write_file(path, text.encode())
    except BlogExporterError as error:
        out.warn(
            "The answers could not be kept: {reason} Put them into the settings file: {answers}",
            reason=error,
            answers=shown,
        )
        return
    where: dict[str, Any] = {"blog_id": printable(blog_id), "path": printable(str(path))}
    out.say("Kept for {blog_id}, so that you need not repeat it: {answers} (in {path})", answers=shown, **where)


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UsageError("{path} cannot be read ({reason}); repair or remove it.", path=path, reason=error) from error
    if not isinstance(document, dict) or not all(isinstance(answers, dict) for answers in document.values()):
        raise UsageError("{path} must hold an object for each blog; repair or remove it.", path=path)
    return document


class EntryAnswers(NamedTuple):
    """The public codes of access, and whether entries with a period of publication are as public as others."""

    public: list[str]
    period: bool


class FlagQuestions:
    """Asks about each combination of flags whether its sample, opened in a browser, is public.

    Args:
        ask: the questions on the terminal.
        records: the blog.
        service: reads its records.
        addresses: the patterns of its entries' addresses; empty if unknown.
    """

    def __init__(
        self, ask: Questions, records: RecordSource, service: Records, addresses: Sequence[AddressPattern]
    ) -> None:
        self._ask = ask
        self._records = records
        self.service = service
        self._addresses = addresses

    def entries(self) -> EntryAnswers:
        """Ask about the entries; a code is public only if all samples with it are."""
        found = entry_combinations(self._records, self.service)[:_MAX_QUESTIONS]
        answers: defaultdict[str, list[bool]] = defaultdict(list)
        periods: list[bool] = []
        for one in sorted(found, key=self._is_periodic):
            code = self._code(one)
            if code is None or (self._is_periodic(one) and answers.get(code) and not all(answers[code])):
                continue
            if self._verdict(one, code, period=True).status is PostStatus.PRIVATE:
                text = message(
                    "Entries with {flags}: {count:,}. They are marked as private, and stay private.",
                    flags=_shown(one),
                    count=one.count,
                )
                self._ask.say(text)
                continue
            public = self._is_public(one)
            if self._is_periodic(one):
                periods.append(public)
            if not self._is_periodic(one) or code not in answers:
                answers[code].append(public)
        return EntryAnswers([code for code, said in answers.items() if all(said)], bool(periods) and all(periods))

    def comments(self) -> list[str]:
        """Ask about the comments; return the values of their flag that mean visible."""
        found = comment_combinations(self._records, self.service)
        flag = self.service.deleted_flag
        known = [one for one in found if one.flags[flag] in ("t", "f")]
        if known:
            self._ask.say()
            self._ask.say(message("Comments also have a flag."))
        return [str(one.flags[flag]) for one in known if self._is_visible(one)]

    def _is_public(self, one: Combination) -> bool:
        raw = self._raw(Kind.ENTRIES, one.first)
        date = self.service.post(raw).date
        self._ask.say()
        text = message(
            "Entries with {flags}: {count:,}. Sample: “{title}” ({day})",
            flags=_shown(one),
            count=one.count,
            title=one.samples[0],
            day="-" if date is None else f"{date:%Y-%m-%d}",
        )
        self._ask.say(text)
        self._say_address(raw)
        return self._ask.agreed(message("Can everybody read it?"), default=False)

    def _is_visible(self, one: Combination) -> bool:
        entry_id = self.service.post_id(self._raw(Kind.COMMENTS, one.first))
        text = message(
            "Comments with {flags}: {count:,}. Sample: “{title}”",
            flags=_shown(one),
            count=one.count,
            title=one.samples[0],
        )
        self._ask.say(text)
        self._say_address(self._raw(Kind.ENTRIES, entry_id))
        return self._ask.agreed(message("Can everybody see that comment?"), default=False)

    def _say_address(self, raw: dict[str, Any]) -> None:
        made = (pattern.fill(raw) for pattern in self._addresses)
        address = next(filter(None, [self.service.post(raw).permalink, *made]), None)
        unknown = message("    Its address is unknown: look for it on the blog.")
        self._ask.say(unknown if address is None else f"    {address}")

    def _is_periodic(self, one: Combination) -> bool:
        cause = self._verdict(one, self._code(one) or "", period=False).cause
        return cause is not None and cause.field == self.service.period_flag

    def _verdict(self, one: Combination, code: str, *, period: bool) -> Verdict:
        """Return the verdict on the sample if its code were public."""
        post = self.service.post(self._raw(Kind.ENTRIES, one.first), self._records.load(Kind.ENTRY_LIST, one.first))
        return self.service.publication(post, Declared(frozenset({code}), period_public=period), None)

    def _code(self, one: Combination) -> str | None:
        """Return the code of access as settings write it; ``None`` for a value that cannot be declared."""
        value = self.service.flags(self._raw(Kind.ENTRIES, one.first)).get(self.service.access_flag)
        return str(value) if isinstance(value, str | int) and not isinstance(value, bool) and str(value) else None

    def _raw(self, kind: Kind, record_id: str) -> dict[str, Any]:
        return self._records.load(kind, record_id) or {}


def _shown(one: Combination) -> str:
    written = ((name, "-" if value is None else '""' if value == "" else value) for name, value in one.flags.items())
    return ", ".join(f"{name} {value}" for name, value in written)
