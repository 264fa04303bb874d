"""The owner's answers about a blog's flags: from the settings, from an earlier export, or to questions with samples.

Answers given as options are kept for each blog in ``exports.json``, in the user's configuration folder. Options,
variables and the settings file have priority over them. An entry without an answer is not public.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from exporter.archive import atomic
from exporter.cli.output import Output, counted
from exporter.cli.questions import Questions
from exporter.cli.samples import EntryAnswers, FlagSamples, Sample, public_codes
from exporter.errors import BlogExporterError, UsageError
from exporter.export.interface import RecordSource
from exporter.export.posts import occurring
from exporter.html.links import AddressPattern
from exporter.message import either, message
from exporter.model.kinds import Kind
from exporter.model.publication import Declared
from exporter.service.interface import Records
from exporter.service.registry import FLAG_SETTINGS
from exporter.setting_sources import option_name
from exporter.settings import SETTINGS, Settings, config_folder
from exporter.text import printable

_VALUES_SHOWN: Final = 10


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
