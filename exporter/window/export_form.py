"""The export form: its questions about a blog and a destination, and the command that the answers make.

The questions, their proposals and checks are those of ``export`` on a terminal (:mod:`exporter.cli.export_plan`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter.archive.archive import Archive
from exporter.cli.answers import FlagAnswers, declared_flags
from exporter.cli.destinations import DESTINATIONS, Destination
from exporter.cli.export import export_command
from exporter.cli.export_options import ExportJob, check_options, old_urls
from exporter.cli.export_plan import (
    REPEATED,
    address_or_none,
    check_new_folder,
    command_words,
    comment_ways,
    free_folder,
    home_of,
    new_pattern,
    old_pattern,
    proposed_media,
    proposed_new_url,
)
from exporter.cli.output import Output
from exporter.cli.samples import FlagSamples, Sample, public_codes
from exporter.errors import UsageError
from exporter.export.formats import NAMED, Format
from exporter.export.interface import Comments, Paper
from exporter.export.own_links import InferredPattern, infer_entry_url
from exporter.export.posts import entry_combinations
from exporter.message import message
from exporter.model.kinds import Kind
from exporter.service.declarations import FlagSettings
from exporter.service.interface import Records
from exporter.service.registry import FLAG_SETTINGS, service_of
from exporter.settings import Settings, resolve
from exporter.window.actions import chosen, folder, line, ticked
from exporter.window.archives import blogs_folder
from exporter.window.uploads import safe_name

if TYPE_CHECKING:
    from exporter.archive.state import State
    from exporter.html.links import AddressPattern
    from exporter.window.pages import Asked
    from exporter.window.window import Window

_SILENT: Final = Output(verbosity=-1)


@dataclass
class BlogFacts:
    """The answers that are known for a blog already, and samples for the questions about its flags.

    Attributes:
        blog_id: the blog.
        service: reads its records.
        answers: the meaning of its flags, as far as settings or earlier answers declare it.
        undeclared: whether nothing says yet which entries are public, or which of those with a new value.
        known: the patterns of its entries' addresses.
        inferred: a pattern found in the links between entries, if no pattern is declared.
        entries: samples of entries to ask about; empty if their flags are declared.
        comments: samples of comments to ask about; empty if their flags are declared.
        first: the id and the title of an entry whose address to ask for; ``None`` if addresses are known.
    """

    blog_id: str
    service: Records
    answers: FlagAnswers
    undeclared: bool
    known: tuple[AddressPattern, ...]
    inferred: InferredPattern | None = None
    entries: list[Sample] = field(default_factory=list)
    comments: list[Sample] = field(default_factory=list)
    first: tuple[str, str] | None = None

    @property
    def flags(self) -> FlagSettings:
        """The names of the settings that declare the flags."""
        return self.service.flag_settings


def destination(name: str) -> Destination:
    """Return a place where a blog can go.

    Raises:
        UsageError: the name is unknown.
    """
    for place in DESTINATIONS:
        if place.name == name and place.form in NAMED:
            return place
    raise UsageError(message("There is no such destination. Choose one of the list."))


def facts_of(window: Window, archive: Path) -> BlogFacts:
    """Read the facts about a blog's addresses and flags from its archive.

    Raises:
        NoArchive, ArchiveDamaged: the archive cannot be read.
        UsageError: a settings file cannot be read.
    """
    reader = Archive.open(archive)
    blog_id = reader.info.blog_id
    settings = resolve({}, config=window.config, blog_id=blog_id)
    service = service_of(settings, reader.info.service)
    with contextlib.closing(reader.state()) as state:
        answers = declared_flags(service, settings, archive, blog_id, _SILENT, all_as_draft=False)
        return _facts(state, settings, service, answers)


def _facts(state: State, settings: Settings, service: Records, answers: FlagAnswers) -> BlogFacts:
    known = old_urls({"old_urls": ()}, settings)
    found = BlogFacts(state.blog_id, service, answers, answers.is_undeclared(state, service), known)
    if not known:
        found.inferred = infer_entry_url(service, state)
        found.known = () if found.inferred is None else (found.inferred.pattern,)
    of_comments = answers.has_undeclared_comments(state, service)
    if found.undeclared or of_comments:
        samples = FlagSamples(state, service, found.known)
        found.entries = samples.entries() if found.undeclared else []
        found.comments = samples.comments() if of_comments else []
    if not found.known:
        combinations = entry_combinations(state, service)
        found.first = (combinations[0].first, combinations[0].samples[0]) if combinations else None
    return found


def proposed_folder(blog_id: str, place: Destination) -> Path:
    """Return a new folder for an export, below ``~/blogs``."""
    return free_folder(blogs_folder() / safe_name(f"{blog_id}-{place.name}"))


def asked_ways(place: Destination) -> list[Comments]:
    """Return the possible places of comments, the format's usual one first."""
    shows = NAMED[place.form].shows
    return sorted(comment_ways(place), key=lambda way: way is not shows)


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers in a form: the requested export, and the new blog's address, which may be empty."""

    job: ExportJob
    home: str

    def words(self) -> list[str]:
        """Return the command. It states every answer, because a trial stores none."""
        return words_of(self.job)


def words_of(job: ExportJob) -> list[str]:
    """Return the command that writes an export."""
    names = (*FLAG_SETTINGS, *REPEATED)
    return command_words("export", job.given, job.form, str(job.archive), str(job.target), names=names)


def read_answers(asked: Asked, place: Destination, facts: BlogFacts, archive: Path) -> Answers:
    """Return the export that a form asks for. Only content that the owner called public is exported.

    Raises:
        UsageError, ValueError: an answer is missing or wrong.
    """
    form, target = NAMED[place.form], folder(line(asked, "folder"))
    check_new_folder(target, archive)
    given: dict[str, Any] = {**no_options(place.form, archive, target), **place.preset}
    home = ""
    if not form.whole:
        home = _read_addresses(asked, place, facts, given) if place.home else ""
        read_flags(asked, facts, form, given)
    if place.fetches and chosen(asked, "pictures", ("stay", "bring")) == "bring":
        base = address_or_none(line(asked, "base")) or proposed_media(place, home)
        if not base:
            raise UsageError(message("Name the address of the place where you will put the pictures."))
        given["media_base_url"], given["media_folder"] = base, True
    ways = asked_ways(place)
    if ways:
        way = chosen(asked, "comments", [str(each) for each in ways])
        given["comments"] = None if way == str(ways[0]) else way
    if form.book:
        given |= {"title": line(asked, "title") or None, "vertical": ticked(asked, "vertical")}
        given["by_year"] = ticked(asked, "by_year")
    if form.printed:
        given["paper"] = chosen(asked, "paper", [str(each) for each in Paper])
    if form.mails:
        given["without_addresses"] = ticked(asked, "without_addresses")
    if given["only"] == "public" and ticked(asked, "rest"):
        given["only"] = "all"
    check_options(place.form, given)
    return Answers(ExportJob(place.form, archive, target, given), home)


def _read_addresses(asked: Asked, place: Destination, facts: BlogFacts, given: dict[str, Any]) -> str:
    """Read the answers about the old and new addresses; return the new blog's."""
    home, known = home_of(line(asked, "home")), facts.known
    if facts.first is not None:
        known = old_pattern(facts.first[0], facts.service.key_fields[Kind.ENTRIES], line(asked, "old"))
    given["old_urls"] = tuple(pattern.text for pattern in known)
    if home and known:
        answer = line(asked, "new") or proposed_new_url(place, home)
        given["new_url"] = new_pattern(facts.service, answer)
    return home


def read_flags(asked: Asked, facts: BlogFacts, form: Format, given: dict[str, Any]) -> None:
    """Read which samples are public. Without a public entry, everything becomes a draft.

    Raises:
        UsageError: there is no public entry, and the format has no drafts.
    """
    public = frozenset(asked.form.get("public", []))
    if facts.undeclared:
        found = public_codes(facts.entries, lambda sample: sample.key in public)
        if found.public:
            given[facts.flags.public] = ",".join(found.public)
            if facts.flags.period:
                given[facts.flags.period] = "yes" if found.period else None
        elif form.drafts:
            given["all_as_draft"] = True
        else:
            raise UsageError(message("This format has no drafts, so without a public entry there is nothing to write."))
    if form.comments and facts.comments:
        visible = frozenset(asked.form.get("visible", []))
        given[facts.flags.comments] = ",".join(each.code for each in facts.comments if each.key in visible) or (
            None if given["all_as_draft"] else "none"
        )


def no_options(form: str, archive: Path, target: Path) -> dict[str, Any]:
    """Return all options of ``export`` with their defaults."""
    return dict(parsed(("export", form, str(archive), str(target))).given)


def parsed(words: tuple[str, ...]) -> ExportJob:
    """Return the export that a command describes.

    Raises:
        UsageError: it is not an export.
    """
    given: Mapping[str, Any] = export_command.make_context("export", list(words[1:])).params
    form, archive, target = given["form"], given["archive"], given["target"]
    if words[0] != "export" or form not in NAMED or archive is None or target is None:
        raise UsageError(message("This is not an export."))
    return ExportJob(form, Path(archive), target, given)
