"""Questions on a terminal: each is asked until its answer can be used. They go to standard error, as all talk does."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from exporter.archive.archive import Archive
from exporter.cli import answers
from exporter.cli.answers import flag_answers
from exporter.cli.export_options import Job, check_options, resolved, run
from exporter.cli.output import Output, size_text
from exporter.cli.wizard_texts import DESTINATIONS, WORDS, Destination, language_of
from exporter.errors import BlogExporterError, UsageError
from exporter.export.flags import Combination, comment_combinations, entry_combinations, flag_lines
from exporter.export.folder import check_target, report_path
from exporter.export.formats import NAMED, Format
from exporter.export.targets import Matter, Target
from exporter.export.words import Language
from exporter.html.links import absolute
from exporter.library.export import Exported, check_apart
from exporter.model.publication import Declared
from exporter.service.interface import Records
from exporter.service.registry import service_of
from exporter.text import printable


class Questions:
    """Asks in one language.

    Args:
        words: the texts of that language.
    """

    def __init__(self, words: Mapping[str, str]) -> None:
        self.words = words

    def say(self, text: str = "") -> None:
        """Print a line; untrusted text in it cannot steer the terminal."""
        click.echo(printable(text), err=True)

    def text(self, question: str, default: str = "", check: Callable[[str], str] | None = None) -> str:
        """Ask for a text.

        Args:
            question: what is asked.
            default: the answer of whoever only presses Enter.
            check: returns what is wrong with an answer, or nothing.
        """
        shown = f"{printable(question)} [{printable(default)}]" if default else printable(question)
        while True:
            answer = click.prompt(shown, default=default, show_default=False, err=True, type=str).strip()
            wrong = "" if check is None else check(answer)
            if not wrong:
                return answer
            self.say(wrong)

    def number(self, question: str, options: Sequence[str], default: int | None = None) -> int:
        """Ask for one of several options and return its place in the list, from 0."""
        self.say(question)
        for number, option in enumerate(options, 1):
            self.say(f"{number:>4}  {option}")

        def check(answer: str) -> str:
            fits = answer.isascii() and answer.isdecimal() and 1 <= int(answer) <= len(options)
            return "" if fits else self.words["no_number"].format(most=len(options))

        return int(self.text(self.words["number"], "" if default is None else str(default + 1), check)) - 1

    def values(self, question: str, known: Sequence[str]) -> list[str]:
        """Ask for some of the values that occur, with commas between them; an empty answer gives none."""

        def check(answer: str) -> str:
            return "" if set(_split(answer)) <= set(known) else self.words["no_value"].format(known=", ".join(known))

        return _split(self.text(question, "", check))

    def agreed(self, question: str, *, default: bool) -> bool:
        """Ask whether something is so."""
        letters = "Y/n" if default else "y/N"

        def check(answer: str) -> str:
            return "" if not answer or _meaning(answer) is not None else self.words["yes_or_no"]

        answer = self.text(f"{question} [{letters}]", "", check)
        return default if not answer else bool(_meaning(answer))


def _split(answer: str) -> list[str]:
    return [part.strip() for part in answer.replace("、", ",").replace("，", ",").split(",") if part.strip()]


def _meaning(answer: str) -> bool | None:
    known = {"y": True, "yes": True, "はい": True, "n": False, "no": False, "いいえ": False}
    return known.get(answer.lower())


_REPEATED: Final = {
    "limits_of": "--target",
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (
            "only", "media_base_url", "title", "at", "since", "until", "category", "all_as_draft", "media_folder",
            "vertical", "by_year",
        )
    },
}  # fmt: skip
"""The options that the same export needs again, by the names of their values."""


def ask_and_export(out: Output, archive: Path | None, given: dict[str, Any]) -> int:
    """Ask what is needed, show what an export would hold, and make it once that is agreed to.

    Args:
        out: how the command talks.
        archive: the archive's folder, where it was named.
        given: the options of the command line; what they say is not asked for.
    """
    language: Language = given["lang"] or language_of(os.environ)
    wizard = _Wizard(Questions(WORDS[language]), language, dict(given))
    return wizard.run(out, archive)


class _Wizard:
    def __init__(self, ask: Questions, language: Language, given: dict[str, Any]) -> None:
        self._ask = ask
        self._words = ask.words
        self._language = language
        self._given = given

    def run(self, out: Output, named: Path | None) -> int:
        archive = named if named is not None else self._archive()
        reader = Archive.open(archive)
        blog_id = reader.info.blog_id
        self._ask.say(self._words["of"].format(blog_id=blog_id))
        place = self._destination()
        self._given = {**self._given, **place.preset}
        check_options(place.form, self._given)
        if not NAMED[place.form].whole:
            self._flags(out, reader, NAMED[place.form])
        self._wishes(place, blog_id)
        target = self._target(archive, f"{blog_id}-{place.name}")
        job = Job(place.form, archive, target, self._given)
        # Stored answers are printed once, in the language of the questions.
        tried, _ = run(job, out, dry_run=True, on_stored=_ignore)
        if self._agreed(tried, NAMED[place.form].target):
            done, _ = run(job, out, dry_run=False, on_stored=_ignore)
            self._finish(out, place, job, done)
        return 0

    def _archive(self) -> Path:
        here = sorted(path.parent for path in Path().glob("*/archive.json"))
        default = str(here[0]) if len(here) == 1 else ""

        def check(answer: str) -> str:
            found = bool(answer) and Path(answer).expanduser().joinpath("archive.json").is_file()
            return "" if found else self._words["no_archive"].format(path=answer)

        return Path(self._ask.text(self._words["archive"], default, check)).expanduser()

    def _destination(self) -> Destination:
        offered = [place for place in DESTINATIONS if place.form in NAMED]
        return offered[self._ask.number(self._words["where"], [one.label[self._language] for one in offered])]

    def _flags(self, out: Output, reader: Archive, form: Format) -> None:
        """Ask which values of the flags are public, as far as nothing says so yet.

        Raises:
            UsageError: what was said already names no value that occurs.
        """
        given = self._given
        settings = resolved(given, reader.info.blog_id, out)
        words, blog_id, service = self._words, reader.info.blog_id, service_of(settings, reader.info.service)

        def on_stored(said: str, path: Path) -> None:
            self._ask.say(words["using"].format(blog_id=blog_id, said=said, path=path))

        declared = answers.declared_flags(settings, blog_id, on_stored, all_as_draft=given["all_as_draft"])
        with contextlib.closing(reader.state(reader.version_at(given["at"], settings.timezone))) as state:
            if declared.public_access is not None or declared.all_as_draft:
                answers.check_answers(declared, given, state, service, out.warn)
                return
            self._ask.say()
            self._ask.say(words["flags"])
            for line in flag_lines(state, service, words["entries"], words["comments"], words["such_as"]):
                self._ask.say(line)
            self._ask.say(words["flags_hint"])
            comments = comment_combinations(state, service) if form.comments else []
            self._ask_flags(form, service, entry_combinations(state, service), comments, declared)

    def _ask_flags(
        self,
        form: Format,
        service: Records,
        entries: list[Combination],
        comments: list[Combination],
        declared: Declared,
    ) -> None:
        known = _values(entries, service.access_flag)
        opened = self._ask.values(self._words["open"] if form.drafts else self._words["open_only"], known)
        while not opened and not form.drafts:
            self._ask.say(self._words["no_drafts"])
            opened = self._ask.values(self._words["open_only"], known)
        if not opened:
            self._ask.say(self._words["drafts"])
            self._given["all_as_draft"] = True
        else:
            self._given["public_open_flg"] = ",".join(opened)
        if opened and not declared.period_public and "t" in _values(entries, service.period_flag):
            self._given["period_flg_public"] = self._ask.agreed(self._words["period"], default=False)
        known = [value for value in _values(comments, service.deleted_flag) if value in {"t", "f"}]
        if known and not declared.visible_comment_flags:
            shown = self._ask.values(self._words["deleted"], known)
            self._given["visible_delete_flg"] = ",".join(shown) or None

    def _wishes(self, place: Destination, blog_id: str) -> None:
        """Ask what is a matter of taste: pictures, the look of a book, what is not public."""
        words, given = self._words, self._given
        if place.fetches and not given["media_base_url"] and not given["media_folder"]:
            brings = self._ask.number(words["pictures"], [words["stay"], words["bring"]], 0)
            if brings:
                given["media_base_url"] = self._ask.text(words["base"], "", self._no_address)
                given["media_folder"] = True
        if NAMED[place.form].book:
            given["title"] = given["title"] or self._ask.text(words["title"], blog_id)
            given["vertical"] = given["vertical"] or self._ask.agreed(words["vertical"], default=False)
            given["by_year"] = given["by_year"] or self._ask.agreed(words["by_year"], default=False)
        settled = given["only"] != "public" or given["public_only"]
        rest = words["rest_of_drafts" if given["all_as_draft"] else "rest"]
        if not settled and self._ask.agreed(rest, default=False):
            given["only"] = "all"

    def _no_address(self, answer: str) -> str:
        fits = answer.startswith(("https://", "http://")) and absolute(answer, "") is not None
        return "" if fits else self._words["no_base"]

    def _target(self, archive: Path, proposed: str) -> Path:
        def check(answer: str) -> str:
            path = Path(answer).expanduser()
            try:
                for folder in (path, path.with_name(f"{path.name}.NOT-PUBLIC")) if path.name else (path,):
                    check_apart(folder, archive)
                    check_target(folder, force=self._given["force"])
            except UsageError:
                return self._words["taken"].format(path=answer)
            return ""

        return Path(self._ask.text(self._words["out"], _free(proposed), check)).expanduser()

    def _agreed(self, tried: list[Exported], target: Target | None) -> bool:
        """Show what the export would hold, and ask whether to make it."""
        self._ask.say()
        self._ask.say(self._words["checking"])
        for side in tried:
            self._ask.say()
            self._ask.say(str(side.folder))
            for line in side.report.lines(self._language):
                self._ask.say(line)
        self._ask.say()
        if target is not None and not target.keeps(Matter.FORMAT):
            self._ask.say(self._words["unsure"].format(title=target.title, form=target.form))
        if not any(side.document["out"]["entries"] for side in tried):
            self._ask.say(self._words["nothing"])
        if self._given["dry_run"]:
            self._ask.say(self._words["only_checked"])
            return False
        if self._ask.agreed(self._words["go"], default=True):
            return True
        self._ask.say(self._words["stopped"])
        return False

    def _finish(self, out: Output, place: Destination, job: Job, done: list[Exported]) -> None:
        words, say = self._words, self._ask.say
        say()
        for side in done:
            size = size_text(side.document["bytes"])
            say(words["done"].format(path=side.folder, files=f"{side.document['file_count']:,}", size=size))
            say(words["report"].format(path=report_path(side.folder)))
            if side.private:
                say(words["private"].format(path=side.folder))
        self._keep(out, job, done[0].document["blog_id"], say)
        if NAMED[place.form].whole or not done[0].private:
            say()
            say(words["next"])
            for number, step in enumerate(place.steps[self._language], 1):
                say(f"  {number}. {step.format(out=done[0].folder)}")
        say()
        say(words["again"])
        say(f"  {command_line(job)}")

    def _keep(self, out: Output, job: Job, blog_id: str, say: Callable[[str], None]) -> None:
        try:
            path = answers.keep(flag_answers(job.given), blog_id, out)
        except BlogExporterError as error:
            out.warn(str(error))
            return
        if path is not None:
            say(self._words["kept"].format(path=path))


def command_line(job: Job) -> str:
    """Return the command that does the same again without a question; the answers about the flags are kept."""
    parts = ["blog-exporter", "export", job.form, str(job.archive), str(job.target)]
    for name, option in _REPEATED.items():
        value = job.given[name]
        if value and (name, value) != ("only", "public"):
            parts += [option] if value is True else [option, str(value)]
    return shlex.join([*parts, "--force"])


def _ignore(_said: str, _path: Path) -> None:
    """Stand in for what prints the stored answers: they were printed already."""


def _values(combinations: list[Combination], name: str) -> list[str]:
    found = {one.flags[name] for one in combinations}
    return sorted(str(value) for value in found if isinstance(value, str | int) and not isinstance(value, bool))


def _free(proposed: str) -> str:
    """Return a name no folder here has yet."""
    name, number = proposed, 1
    while Path(name).exists() or Path(f"{name}.NOT-PUBLIC").exists():
        number += 1
        name = f"{proposed}-{number}"
    return name
