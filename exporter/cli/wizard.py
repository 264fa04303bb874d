"""``export`` on a terminal: asks where the blog goes, exports it, and prints the steps that its owner takes there."""

from __future__ import annotations

import contextlib
from functools import partial
from pathlib import Path
from typing import Any

from exporter.archive.archive import Archive
from exporter.archive.state import State
from exporter.cli.answers import FlagAnswers, FlagQuestions, check_answers, declared_flags, keep_answers
from exporter.cli.destinations import DESTINATIONS, Destination
from exporter.cli.export_options import ExportJob, check_options, old_urls, print_doubt, resolved, run_export
from exporter.cli.export_plan import (
    COMMENT_WAYS,
    address_or_none,
    check_new_folder,
    command_line,
    comment_ways,
    free_folder,
    home_of,
    new_pattern,
    next_steps,
    offered_fields,
    old_pattern,
    proposed_media,
    proposed_new_url,
    redirects_job,
)
from exporter.cli.output import Output, counted, size_text
from exporter.cli.questions import Questions
from exporter.cli.undeclared import takes_comments
from exporter.export.folder import report_path
from exporter.export.formats import NAMED, Format
from exporter.export.media import FOLDER
from exporter.export.own_links import infer_entry_url
from exporter.export.posts import entry_combinations
from exporter.export.report import inferred_line
from exporter.html.links import AddressPattern
from exporter.library.export import Exported
from exporter.message import listed, message
from exporter.model.kinds import Kind
from exporter.service.interface import Records
from exporter.service.registry import service_of
from exporter.text import printable
from exporter.translation import translated


def ask_and_export(out: Output, archive: Path | None, given: dict[str, Any]) -> int:
    """Ask about an export, show its content, and write it after a confirmation.

    Args:
        out: prints warnings.
        archive: the archive's folder, if it was named.
        given: the options of the command line; the questions that they answer are not asked.
    """
    return _Wizard(dict(given)).run(out, archive)


class _Wizard:
    def __init__(self, given: dict[str, Any]) -> None:
        self._ask = Questions()
        self._given = given
        self._home = ""

    def run(self, out: Output, named: Path | None) -> int:
        archive = named if named is not None else self._archive()
        reader = Archive.open(archive)
        blog_id = reader.info.blog_id
        self._ask.say(message("Moving the blog {blog_id}. Ctrl-C ends this at any time.", blog_id=blog_id))
        offered = [place for place in DESTINATIONS if place.form in NAMED]
        where = message("Where does the blog go?")
        place = offered[self._ask.number(where, [one.label for one in offered])]
        self._given = {**self._given, **place.preset}
        check_options(place.form, self._given)
        if not NAMED[place.form].whole:
            self._about_the_blog(out, reader, place)
        self._ask_options(place, blog_id)
        target = self._target(archive, f"{blog_id}-{place.name}")
        job = ExportJob(place.form, archive, target, self._given)
        quiet = Output(verbosity=-1)  # the kept answers were printed before
        tried, _ = run_export(job, quiet, dry_run=True)
        if self._confirmed(out, tried, place.form):
            done, options = run_export(job, quiet, dry_run=False)
            redirects = redirects_job(place, job)
            if redirects is not None:
                run_export(redirects, quiet, dry_run=False)
            keep_answers(job.given, archive, options.service, out, version=done[0].document["version"])
            self._finish(place, job, done, redirects)
        return 0

    def _archive(self) -> Path:
        here = sorted(path.parent for path in Path().glob("*/archive.json"))
        default = str(here[0]) if len(here) == 1 else ""

        def read(answer: str) -> Path:
            path = Path(answer).expanduser()
            if not answer or not (path / "archive.json").is_file():
                text = message("{path} is not an archive; name a folder with an archive.json in it.", path=answer)
                raise ValueError(text)
            return path

        return self._ask.value(message("Which archive do you want to export (its folder)"), default, read)

    def _about_the_blog(self, out: Output, reader: Archive, place: Destination) -> None:
        """Ask about the blog's old and new addresses, and what its flags mean.

        Raises:
            UsageError: an option declares a value that does not occur.
        """
        settings = resolved(self._given, reader.info.blog_id, out)
        service = service_of(settings, reader.info.service)
        version = reader.version_at(self._given["at"], settings.timezone)
        with contextlib.closing(reader.state(version)) as state:
            known = old_urls(self._given, settings) or self._inferred(state, service)
            if place.home:
                known = self._addresses(place, state, service, known)
            drafts, root = self._given["all_as_draft"], reader.path
            answers = declared_flags(service, settings, root, state.blog_id, out, all_as_draft=drafts)
            self._flags(out, answers, state, FlagQuestions(self._ask, state, service, known), NAMED[place.form])

    def _inferred(self, state: State, service: Records) -> tuple[AddressPattern, ...]:
        """Return the pattern of entry addresses that the links in the texts show, and print it."""
        found = infer_entry_url(service, state)
        if found is None:
            return ()
        self._ask.say(translated(inferred_line(found.pattern.text, found.matches)))
        return (found.pattern,)

    def _addresses(
        self, place: Destination, state: State, service: Records, known: tuple[AddressPattern, ...]
    ) -> tuple[AddressPattern, ...]:
        """Ask for the new blog's address and for the patterns of entry addresses; return the old patterns."""
        given = self._given
        question = message("Address of the new blog (such as https://example.com/; empty if there is none yet)")
        self._home = self._ask.value(question, "", home_of)
        combinations = entry_combinations(state, service)
        if not known and combinations:
            question = message(
                "Address of the entry “{title}” on the old blog (empty if you do not know)",
                title=combinations[0].samples[0],
            )
            read = partial(old_pattern, combinations[0].first, service.key_fields[Kind.ENTRIES])
            known = self._ask.value(question, "", read)
        given["old_urls"] = tuple(pattern.text for pattern in known)
        if self._home and known and not given["new_url"]:
            question = message(
                "Pattern of entry addresses on the new blog ({fields} can be used; empty if you do not know)",
                fields=offered_fields(service),
            )
            default = proposed_new_url(place, self._home)
            given["new_url"] = self._ask.value(question, default, partial(new_pattern, service))
        return known

    def _flags(self, out: Output, answers: FlagAnswers, state: State, questions: FlagQuestions, form: Format) -> None:
        """Ask which flag values are public, unless they are declared."""
        given = self._given
        names = questions.service.flag_settings
        asks_comments = takes_comments(form, given) and answers.has_undeclared_comments(state, questions.service)
        if not answers.is_undeclared(state, questions.service):
            check_answers(answers, given, state, questions.service, out.warn)
            if asks_comments:
                given[names.comments] = ",".join(questions.comments()) or "none"
            return
        self._ask.say()
        new = answers.new_values(state, questions.service)
        if new:
            text = message(
                "The blog has entries with {flag} {values}, which it did not have when you said which entries are "
                "public. So here is a sample of each kind again.",
                flag=questions.service.access_flag,
                values=listed([printable(value, 40) for value in new]),
            )
            self._ask.say(text)
        text = message(
            "Nothing says yet which entries are public. Here is a sample of each kind: open it in a browser where "
            "you are not signed in."
        )
        self._ask.say(text)
        found = questions.entries()
        while not found.public and not form.drafts:
            text = message(
                "This format has no drafts, so without a public entry there is nothing to write. Once more; Ctrl-C "
                "ends here."
            )
            self._ask.say(text)
            found = questions.entries()
        if found.public:
            given[names.public] = ",".join(found.public)
            if names.period:
                given[names.period] = given[names.period] or ("yes" if found.period else None)
        else:
            text = message("No entry is known to be public, so everything will be a draft. Private entries stay out.")
            self._ask.say(text)
            given["all_as_draft"] = True
        if asks_comments:
            given[names.comments] = ",".join(questions.comments()) or (None if given["all_as_draft"] else "none")

    def _ask_options(self, place: Destination, blog_id: str) -> None:
        """Ask about pictures, comments, book layout, and entries that are not public."""
        given = self._given
        if place.fetches and not given["media_base_url"] and not given["media_folder"]:
            self._about_pictures(place)
        self._about_comments(place)
        if NAMED[place.form].book:
            given["title"] = given["title"] or self._ask.text(message("Title of the book"), blog_id)
            for name, question in (
                ("vertical", message("Should its lines run from top to bottom?")),
                ("by_year", message("A book for each year?")),
            ):
                given[name] = given[name] or self._ask.agreed(question, default=False)
        question = message("Write drafts and private entries also, into a separate folder?")
        if given["all_as_draft"]:
            question = message("Write private entries also, into a separate folder?")
        if given["only"] == "public" and self._ask.agreed(question, default=False):
            given["only"] = "all"

    def _about_pictures(self, place: Destination) -> None:
        ways = [
            message("Export them; I will put them in a new place"),
            message("Leave them where they are (they may be lost when the old blog goes)"),
        ]
        if self._ask.number(message("What about the pictures?"), ways, 0):
            return
        question = message("Address of that place (such as https://example.com/media/; empty if you have none)")
        base = self._ask.value(question, proposed_media(place, self._home), address_or_none)
        if base:
            self._given["media_base_url"], self._given["media_folder"] = base, True
        else:
            self._ask.say(message("Pictures stay where they are."))

    def _about_comments(self, place: Destination) -> None:
        """Ask how comments come along in a format that readers see."""
        ways, shows = comment_ways(place), NAMED[place.form].shows
        if shows is None or self._given["comments"] is not None:
            return
        question = message("What about your readers' comments?")
        way = ways[self._ask.number(question, [COMMENT_WAYS[way] for way in ways], ways.index(shows))]
        self._given["comments"] = None if way is shows else str(way)

    def _target(self, archive: Path, proposed: str) -> Path:
        def read(answer: str) -> Path:
            return check_new_folder(Path(answer).expanduser(), archive, force=self._given["force"])

        return self._ask.value(message("New folder to write into"), str(free_folder(Path(proposed))), read)

    def _confirmed(self, out: Output, tried: list[Exported], form: str) -> bool:
        """Show the export's content, and ask whether to write it."""
        say = self._ask.say
        say()
        say(message("Checking; nothing is written yet."))
        for side in tried:
            say()
            for line in (str(side.folder), *side.report.lines(translated)):
                say(line)
        say()
        print_doubt(out, form)
        if not any(side.document["out"]["entries"] for side in tried):
            say(message("No entry is public; the lines above say why."))
        if self._given["dry_run"]:
            say(message("This was a check only; nothing was written."))
            return False
        if self._ask.agreed(message("Write this?"), default=True):
            return True
        say(message("Nothing was written."))
        return False

    def _finish(self, place: Destination, job: ExportJob, done: list[Exported], redirects: ExportJob | None) -> None:
        say = self._ask.say
        say()
        for side in done:
            files, size = counted(side.document["file_count"], "file"), size_text(side.document["bytes"])
            say(message("Written to {path} ({files}, {size}).", path=side.folder, files=files, size=size))
            say(message("The whole report: {path}", path=report_path(side.folder)))
            if side.private:
                say(message("{path} holds content that is not public: never import or publish it.", path=side.folder))
        if redirects is not None:
            say(message("Redirects from the old addresses to the new ones: {path}", path=redirects.target))
        if NAMED[place.form].whole or not done[0].private:
            say()
            say(message("Next steps"))
            pictures = [file.path for file in done[0].files if file.path.startswith(f"{FOLDER}/")]
            steps = next_steps(place, job, done[0].folder, pictures, redirects, self._home)
            for number, step in enumerate(steps, 1):
                say(f"  {number}. {translated(step)}")
        say()
        say(message("To do the same again"))
        for each in filter(None, (job, redirects)):
            say(f"  {command_line(each)}")
