"""The owner's answers about a blog's flags: from the settings, from an earlier export, or to questions with samples.

Answers given as options are kept in the blog's archive (:mod:`exporter.archive.declared`), and are about the values
that it had then. Options, variables and the settings file have priority over them. An entry without an answer is not
public.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from exporter.archive.archive import Archive
from exporter.archive.declared import (
    FlagDeclaration,
    add_declaration,
    damaged_declaration,
    read_declarations,
)
from exporter.archive.layout import Layout
from exporter.cli.output import Output, counted
from exporter.cli.questions import Questions
from exporter.cli.samples import EntryAnswers, FlagSamples, Sample, public_codes
from exporter.clock import SystemClock, timestamp
from exporter.errors import ArchiveDamaged, BlogExporterError, UsageError
from exporter.export.interface import RecordSource
from exporter.export.posts import occurring
from exporter.frozen import frozen
from exporter.html.links import AddressPattern
from exporter.message import either, message, said
from exporter.model.kinds import Kind
from exporter.model.publication import Declared
from exporter.service.interface import Records
from exporter.setting_sources import Origin, option_name
from exporter.settings import SETTINGS, Settings
from exporter.text import printable

_VALUES_SHOWN: Final = 10
_CHARACTERS_SHOWN: Final = 1_000
"""An archive from elsewhere may keep answers of any length."""
_VALUES_KEPT: Final = 1_000
"""The most frequent values of a flag are kept as seen. A field with more is no flag: the others stay undeclared."""
_LONGEST_VALUE: Final = 100
FLAG_VALUES: Final = frozenset({"t", "f"})
"""The values of a comment's flag that a setting can declare."""
_LIMITED: Final = "t"
"""The value of the flag of entries that are shown for a limited time."""


@frozen
class FlagAnswers:
    """What is known about a blog's flags.

    Attributes:
        declared: their meaning. A value that came after the declaration is not declared.
        stated: the same with values that came later, or that do not occur.
        seen: the values of the access flag when the declaration in use was kept; ``None`` if it comes from the
            settings, which are about all values, or if the service needs none.
        seen_of_comments: the same for the flag of comments.
    """

    declared: Declared
    stated: Declared
    seen: frozenset[str] | None = None
    seen_of_comments: frozenset[str] | None = None

    def new_values(self, records: RecordSource, service: Records) -> list[str]:
        """Return the values of the access flag that came after the declaration in use."""
        if self.seen is None:
            return []
        return sorted(set(occurring(records, service, Kind.ENTRIES, service.access_flag)) - self.seen)

    def new_values_of_comments(self, records: RecordSource, service: Records) -> list[str]:
        """Return the values of the flag of comments that came after the declaration in use."""
        if self.seen_of_comments is None:
            return []
        return sorted(set(occurring(records, service, Kind.COMMENTS, service.deleted_flag)) - self.seen_of_comments)

    def is_undeclared(self, records: RecordSource, service: Records) -> bool:
        """Return whether the owner must still declare which entries are public."""
        return service.is_undeclared(self.declared) or bool(self.new_values(records, service))

    def has_undeclared_comments(self, records: RecordSource, service: Records) -> bool:
        """Return whether the owner must still declare which of the blog's comments are shown."""
        if service.has_undeclared_comments(self.declared):
            found = occurring(records, service, Kind.COMMENTS, service.deleted_flag, FLAG_VALUES)
            return bool(FLAG_VALUES & set(found))
        return bool(FLAG_VALUES.intersection(self.new_values_of_comments(records, service)))


def declared_flags(
    service: Records, settings: Settings, root: Path, blog_id: str, out: Output, *, all_as_draft: bool
) -> FlagAnswers:
    """Return the meaning of a blog's flags, from the settings or else from the answers kept in its archive.

    Args:
        service: names the settings that declare it.
        settings: the first source.
        root: the archive, which need not exist yet.
        blog_id: the blog.
        out: prints the kept answers in use, as they decide about publication.
        all_as_draft: whether every entry becomes a draft, so that the kept answers about entries are not used.

    Raises:
        ArchiveDamaged: the kept answers cannot be read.
    """
    flags, layout = service.flag_settings, Layout(root)
    found = {name: settings.get(name) for name in filter(None, flags)}
    missing = [name for name, value in found.items() if value is None]
    if flags.public and settings.sources[flags.public].origin is Origin.OPTION:
        missing = [name for name in missing if name != flags.period]  # an answer about entries replaces the whole one
    kept = _kept(layout, service) if missing else {}
    kept = {name: kept[name] for name in missing if name in kept}
    for name, declaration in kept.items():
        found[name] = _read(layout, name, declaration.settings[name])
    used = {
        name: declaration.settings[name]
        for name, declaration in kept.items()
        if name == flags.comments or not all_as_draft
    }
    if used:
        path = printable(str(layout.declared))
        about: dict[str, Any] = {"said": printable(as_settings(used), _CHARACTERS_SHOWN), "path": path}
        out.say("Using the answers kept for {blog_id}: {said} (in {path})", blog_id=printable(blog_id), **about)
    return _limited(service.declared(found, all_as_draft=all_as_draft), kept, service)


def declared_for_backup(service: Records, settings: Settings, root: Path, blog_id: str, out: Output) -> Declared:
    """Return the meaning of a blog's flags; if the kept answers are damaged, warn and use the settings alone.

    A backup that is not made loses more than one that knows of no public entry.
    """
    try:
        return declared_flags(service, settings, root, blog_id, out, all_as_draft=False).declared
    except ArchiveDamaged as error:
        out.warn(said(error))
        return service.declared(settings)


def _kept(layout: Layout, service: Records) -> dict[str, FlagDeclaration]:
    """Return, for each setting, the newest declaration about it.

    A declaration of the public values takes back an earlier one about entries that are shown for a limited time.
    """
    public, period, _ = service.flag_settings
    found: dict[str, FlagDeclaration] = {}
    for declaration in read_declarations(layout, service.name):
        if public in declaration.settings:
            found.pop(period, None)
        found.update(dict.fromkeys(declaration.settings, declaration))
    return found


def _read(layout: Layout, name: str, text: str) -> Any:
    try:
        return SETTINGS[name].read(text)
    except ValueError as error:
        fault = message("{name} is {text!r}: {reason}", name=name, text=printable(text, 60), reason=error)
        raise damaged_declaration(layout, fault) from error


def _limited(stated: Declared, kept: Mapping[str, FlagDeclaration], service: Records) -> FlagAnswers:
    """Return the answers without values that the archive did not have when they were kept."""
    if not service.is_undeclared(Declared()):
        return FlagAnswers(
            stated, stated
        )  # its words are documented, so the owner declares no code of one archive alone
    seen = {
        name: frozenset(kept[name].seen.get(flag, ())) for name, (_, flag) in _flags_of(service).items() if name in kept
    }
    public, period, comments = service.flag_settings
    known = stated
    if known.public_access is not None and public in seen:
        known = replace(known, public_access=known.public_access & seen[public])
    if period in seen:
        known = replace(known, period_public=known.period_public and _LIMITED in seen[period])
    if comments in seen and known.visible_comment_flags is not None:
        known = replace(known, visible_comment_flags=known.visible_comment_flags & seen[comments])
    return FlagAnswers(known, stated, None if stated.all_as_draft else seen.get(public), seen.get(comments))


def check_answers(
    answers: FlagAnswers,
    given: Mapping[str, Any],
    records: RecordSource,
    service: Records,
    warn: Callable[[str], None],
) -> None:
    """Compare the answers with the values that occur, since a typing error would publish nothing, and be kept.

    Args:
        answers: the answers, from any source.
        given: the options of the command line by their names.
        records: the state to publish.
        service: reads the records.
        warn: called with declared values that no entry has, if entries have other declared values.

    Raises:
        UsageError: no entry has a value declared public, or no comment has a value declared visible.
    """
    public, _, comments = service.flag_settings
    known = answers.stated
    if known.public_access is not None and (given.get(public) is not None or not known.all_as_draft):
        found = occurring(records, service, Kind.ENTRIES, service.access_flag, known.public_access)
        unknown = known.public_access - set(found)
        if unknown == known.public_access and found:
            raise UsageError(_not_among(public, known.public_access, service.access_flag, found, "entry"))
        if unknown and found:
            values = either(sorted(unknown))
            warn(
                message(
                    "No entry has {flag} {values}, which you declared public.", flag=service.access_flag, values=values
                )
            )
    if given.get(comments) is not None and known.visible_comment_flags:
        shown = occurring(records, service, Kind.COMMENTS, service.deleted_flag, known.visible_comment_flags)
        if shown and not known.visible_comment_flags & set(shown):
            raise UsageError(_not_among(comments, known.visible_comment_flags, service.deleted_flag, shown, "comment"))


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


def keep_answers(
    given: Mapping[str, Any], root: Path, service: Records, out: Output, *, version: int | None = None
) -> None:
    """Keep the options about a blog's flags in its archive, and print them if they are new.

    A failure to write is a warning, since the work is done.

    Args:
        given: the options of the command line by their names.
        root: the archive.
        service: the one that read it.
        out: prints them.
        version: the version that they were compared with; the newest one by default.
    """
    about = {name: flag for name, flag in _flags_of(service).items() if given.get(name) is not None}
    if not about:
        return
    new = {name: str(given[name]) for name in about}
    shown = printable(as_settings(new))
    try:
        archive = Archive.open(root)
        with contextlib.closing(archive.state(version)) as state:
            seen = {flag: _seen(state, service, kind, flag) for kind, flag in about.values()}
        kept = _kept(archive.layout, service)
        for name, before in kept.items():
            if new.get(name) == before.settings[name]:  # said before, also about values that this version lacks
                flag = about[name][1]
                seen[flag] = tuple(sorted({*seen[flag], *before.seen.get(flag, ())}))
        now = SystemClock().now()
        declaration = FlagDeclaration(timestamp(now), service.name, new, seen)
        if _says(kept, declaration, service):
            return
        with archive.lock() as lock:
            lock.acquire(now)
            add_declaration(archive.layout, declaration)
    except BlogExporterError as error:
        out.warn(
            "The answers could not be kept: {reason} Put them into the settings file: {answers}",
            reason=error,
            answers=shown,
        )
        return
    where: dict[str, Any] = {
        "blog_id": printable(archive.info.blog_id),
        "path": printable(str(archive.layout.declared)),
    }
    out.say("Kept for {blog_id}, so that you need not repeat it: {answers} (in {path})", answers=shown, **where)


def _says(kept: Mapping[str, FlagDeclaration], new: FlagDeclaration, service: Records) -> bool:
    """Return whether the kept declarations say the same as a new one."""
    public, period, _ = service.flag_settings
    if public in new.settings and period in kept and period not in new.settings:
        return False
    return all(
        name in kept
        and kept[name].settings[name] == text
        and all(kept[name].seen.get(flag) == values for flag, values in new.seen.items())
        for name, text in new.settings.items()
    )


def _flags_of(service: Records) -> dict[str, tuple[Kind, str]]:
    """Return the flag that each setting is about, with the kind of its records."""
    flags = service.flag_settings
    found = {flags.public: (Kind.ENTRIES, service.access_flag)} if flags.public else {}
    if flags.period:
        found[flags.period] = (Kind.ENTRIES, service.period_flag)
    if flags.comments:
        found[flags.comments] = (Kind.COMMENTS, service.deleted_flag)
    return found


def _seen(records: RecordSource, service: Records, kind: Kind, flag: str) -> tuple[str, ...]:
    found = occurring(records, service, kind, flag).most_common(_VALUES_KEPT)
    return tuple(sorted(value for value, _ in found if len(value) <= _LONGEST_VALUE))


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
        self._samples = FlagSamples(records, service, addresses)
        self.service = service

    def entries(self) -> EntryAnswers:
        """Ask about the entries; see :func:`~exporter.cli.samples.public_codes`."""
        return public_codes(self._samples.entries(), self._is_public)

    def comments(self) -> list[str]:
        """Ask about the comments; return the values of their flag that mean visible."""
        samples = self._samples.comments()
        if samples:
            self._ask.say()
            self._ask.say(message("Comments also have a flag."))
        return [sample.code for sample in samples if self._is_visible(sample)]

    def _is_public(self, sample: Sample) -> bool:
        if sample.private:
            text = message(
                "Entries with {flags}: {count:,}. They are marked as private, and stay private.",
                flags=sample.flags,
                count=sample.count,
            )
            self._ask.say(text)
            return False
        self._ask.say()
        text = message(
            "Entries with {flags}: {count:,}. Sample: “{title}” ({day})",
            flags=sample.flags,
            count=sample.count,
            title=sample.title,
            day=sample.day or "-",
        )
        self._ask.say(text)
        self._say_address(sample)
        return self._ask.agreed(message("Can everybody read it?"), default=False)

    def _is_visible(self, sample: Sample) -> bool:
        text = message(
            "Comments with {flags}: {count:,}. Sample: “{title}”",
            flags=sample.flags,
            count=sample.count,
            title=sample.title,
        )
        self._ask.say(text)
        self._say_address(sample)
        return self._ask.agreed(message("Can everybody see that comment?"), default=False)

    def _say_address(self, sample: Sample) -> None:
        unknown = message("    Its address is unknown: look for it on the blog.")
        self._ask.say(unknown if sample.address is None else f"    {sample.address}")
