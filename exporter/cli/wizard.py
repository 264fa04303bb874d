"""``export`` on a terminal: asks where the blog goes and what that needs, writes it, and tells what to do there."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from exporter.archive.archive import Archive
from exporter.archive.state import State
from exporter.cli import answers
from exporter.cli.amounts import size_text
from exporter.cli.answers import flag_answers
from exporter.cli.export_options import Job, check_options, old_urls, resolved, run
from exporter.cli.flag_questions import FlagQuestions
from exporter.cli.output import Output
from exporter.cli.questions import Questions
from exporter.cli.wizard_texts import DESTINATIONS, WORDS, Destination
from exporter.errors import BlogExporterError, UsageError
from exporter.export.folder import check_target, report_path
from exporter.export.formats import NAMED, Format
from exporter.export.interface import Comments
from exporter.export.media import FOLDER, MADE_FIELDS
from exporter.export.own_links import infer_entry_url
from exporter.export.posts import entry_combinations
from exporter.export.report import inferred_line
from exporter.export.targets import TARGETS, Matter, Target
from exporter.html.links import AddressPattern, absolute
from exporter.library.export import Exported, check_apart
from exporter.service.interface import Records
from exporter.service.registry import service_of
from exporter.settings import Settings
from exporter.translation import Language, current_language, translated

_REPEATED: Final = {
    "limits_of": "--target",
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (
            "only", "media_base_url", "new_url", "title", "at", "since", "until", "category", "all_as_draft",
            "media_folder", "vertical", "by_year", "preset", "comments",
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
    language = current_language()
    wizard = _Wizard(Questions(WORDS[language]), language, dict(given))
    return wizard.run(out, archive)


class _Wizard:
    def __init__(self, ask: Questions, language: Language, given: dict[str, Any]) -> None:
        self._ask = ask
        self._words = ask.words
        self._language = language
        self._given = given
        self._home = ""

    def run(self, out: Output, named: Path | None) -> int:
        archive = named if named is not None else self._archive()
        reader = Archive.open(archive)
        blog_id = reader.info.blog_id
        self._ask.say(self._words["of"].format(blog_id=blog_id))
        place = self._destination()
        self._given = {**self._given, **place.preset}
        check_options(place.form, self._given)
        if not NAMED[place.form].whole:
            self._about_the_blog(out, reader, place)
        self._wishes(place, blog_id)
        target = self._target(archive, f"{blog_id}-{place.name}")
        job = Job(place.form, archive, target, self._given)
        # Stored answers are printed once, in the language of the questions.
        tried, _ = run(job, out, dry_run=True, on_stored=_ignore)
        if self._agreed(tried, NAMED[place.form].target):
            done, _ = run(job, out, dry_run=False, on_stored=_ignore)
            redirects = self._redirects(place, job)
            if redirects is not None:
                run(redirects, out, dry_run=False, on_stored=_ignore)
            self._finish(out, place, job, done, redirects)
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

    def _about_the_blog(self, out: Output, reader: Archive, place: Destination) -> None:
        """Ask what concerns the blog itself: its addresses, old and new, and what its flags mean.

        Raises:
            UsageError: what was said already names no value that occurs.
        """
        settings = resolved(self._given, reader.info.blog_id, out)
        service = service_of(settings, reader.info.service)
        version = reader.version_at(self._given["at"], settings.timezone)
        with contextlib.closing(reader.state(version)) as state:
            known = old_urls(self._given, settings) or self._inferred(state, service)
            if place.home:
                known = self._addresses(place, state, service, known)
            self._flags(out, settings, state, FlagQuestions(self._ask, state, service, known), NAMED[place.form])

    def _inferred(self, state: State, service: Records) -> tuple[AddressPattern, ...]:
        """Return how the texts' own links show the addresses of entries, and say so; nothing where they do not."""
        shown = infer_entry_url(service, state)
        if shown is None:
            return ()
        self._ask.say(translated(inferred_line(shown.pattern.text, shown.matches)))
        return (shown.pattern,)

    def _addresses(
        self, place: Destination, state: State, service: Records, known: tuple[AddressPattern, ...]
    ) -> tuple[AddressPattern, ...]:
        """Ask where the new blog is, and how old and new addresses of entries are made; return how the old ones are."""
        words, given = self._words, self._given
        self._home = self._ask.text(words["home"], "", self._no_home)
        if self._home:
            self._home = f"{self._home.rstrip('/')}/"
        combinations = entry_combinations(state, service)
        if not known and combinations:
            entry_id, question = combinations[0].first, words["old"].format(title=combinations[0].samples[0])
            answer = self._ask.text(question, "", partial(self._no_old, entry_id))
            known = (AddressPattern(_pattern_of(answer, entry_id) or "", "--old-url"),) if answer else ()
        given["old_urls"] = tuple(pattern.text for pattern in known)
        if self._home and known and not given["new_url"]:
            fields = (*service.post_fields, *MADE_FIELDS)
            shown = ", ".join(f"{{{name}}}" for name in ("entry_id", "name", *MADE_FIELDS) if name in fields)
            default = f"{self._home}{place.new_url}" if place.new_url else ""
            question = words["new"].format(fields=shown)
            given["new_url"] = self._ask.text(question, default, partial(self._no_new, fields)) or None
        return known

    def _flags(self, out: Output, settings: Settings, state: State, questions: FlagQuestions, form: Format) -> None:
        """Ask which values of the flags are public, as far as nothing says so yet."""
        words, given, blog_id = self._words, self._given, state.blog_id

        def on_stored(said: str, path: Path) -> None:
            self._ask.say(words["using"].format(blog_id=blog_id, said=said, path=path))

        declared = answers.declared_flags(settings, blog_id, on_stored, all_as_draft=given["all_as_draft"])
        if declared.public_access is not None or declared.all_as_draft:
            answers.check_answers(declared, given, state, questions.service, out.warn)
            return
        self._ask.say()
        self._ask.say(words["flags"])
        found = questions.entries()
        while not found.public and not form.drafts:
            self._ask.say(words["no_drafts"])
            found = questions.entries()
        if found.public:
            given["public_open_flg"] = ",".join(found.public)
            given["period_flg_public"] = given["period_flg_public"] or found.period
        else:
            self._ask.say(words["drafts"])
            given["all_as_draft"] = True
        if form.comments and not declared.visible_comment_flags:
            given["visible_delete_flg"] = ",".join(questions.comments()) or None

    def _wishes(self, place: Destination, blog_id: str) -> None:
        """Ask what is a matter of taste: pictures, the look of a book, what is not public."""
        words, given = self._words, self._given
        if place.fetches and not given["media_base_url"] and not given["media_folder"]:
            brings = not self._ask.number(words["pictures"], [words["bring"], words["stay"]], 0)
            proposed = f"{self._home}{place.media}" if self._home and place.media else ""
            base = self._ask.text(words["base"], proposed, self._no_base) if brings else ""
            if base:
                given["media_base_url"], given["media_folder"] = base, True
            elif brings:
                self._ask.say(words["stays"])
        self._about_comments(place)
        if NAMED[place.form].book:
            given["title"] = given["title"] or self._ask.text(words["title"], blog_id)
            given["vertical"] = given["vertical"] or self._ask.agreed(words["vertical"], default=False)
            given["by_year"] = given["by_year"] or self._ask.agreed(words["by_year"], default=False)
        settled = given["only"] != "public" or given["public_only"]
        rest = words["rest_of_drafts" if given["all_as_draft"] else "rest"]
        if not settled and self._ask.agreed(rest, default=False):
            given["only"] = "all"

    def _about_comments(self, place: Destination) -> None:
        """Ask how comments come along, where readers see the format; what stands beside pages needs a site."""
        words, given, form = self._words, self._given, NAMED[place.form]
        if form.shows is None or given["comments"] is not None or given["no_comments"]:
            return
        ways = [way for way in Comments if place.home or way is not Comments.SIDECAR]
        shown = [words[f"comments_{way}"] for way in ways]
        way = ways[self._ask.number(words["comments_how"], shown, ways.index(form.shows))]
        given["comments"] = None if way is form.shows else str(way)

    def _no_base(self, answer: str) -> str:
        return "" if not answer or _is_address(answer) else self._words["no_base"]

    def _no_home(self, answer: str) -> str:
        return "" if not answer or _is_address(answer) else self._words["no_home"]

    def _no_old(self, entry_id: str, answer: str) -> str:
        fits = not answer or (_is_address(answer) and _pattern_of(answer, entry_id) is not None)
        return "" if fits else self._words["no_old"].format(id=entry_id)

    def _no_new(self, fields: Sequence[str], answer: str) -> str:
        try:
            if answer:
                AddressPattern(answer, "--new-url", path=True).check(fields)
        except UsageError as error:
            return self._words["no_new"].format(wrong=error)
        return ""

    def _target(self, archive: Path, proposed: str) -> Path:
        def check(answer: str) -> str:
            path = Path(answer).expanduser()
            try:
                for folder in _folders(path):
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
            for line in side.report.lines(translated):
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

    def _redirects(self, place: Destination, job: Job) -> Job | None:
        """Return what makes the redirects beside an export; ``None`` where there is nothing public to lead to."""
        given = job.given
        if not given["new_url"] or given["all_as_draft"] or given["only"] == "private":
            return None
        limits = place.form if place.form in TARGETS else given["limits_of"]
        unused = {"only": "public", "media_base_url": "", "media_folder": False, "preset": None, "comments": None}
        return Job("redirects", job.archive, _redirects_of(job.target), {**given, **unused, "limits_of": limits})

    def _finish(self, out: Output, place: Destination, job: Job, done: list[Exported], redirects: Job | None) -> None:
        words, say = self._words, self._ask.say
        say()
        for side in done:
            size = size_text(side.document["bytes"])
            say(words["done"].format(path=side.folder, files=f"{side.document['file_count']:,}", size=size))
            say(words["report"].format(path=report_path(side.folder)))
            if side.private:
                say(words["private"].format(path=side.folder))
        if redirects is not None:
            say(words["redirects"].format(path=redirects.target))
        self._keep(out, job, done[0].document["blog_id"], say)
        if NAMED[place.form].whole or not done[0].private:
            say()
            say(words["next"])
            for number, step in enumerate(self._steps(place, job, done[0], redirects), 1):
                say(f"  {number}. {step}")
        say()
        say(words["again"])
        for each in filter(None, (job, redirects)):
            say(f"  {command_line(each)}")

    def _steps(self, place: Destination, job: Job, done: Exported, redirects: Job | None) -> Iterator[str]:
        """Yield what to do next, as the answers want it."""
        words, base, home = self._words, job.given["media_base_url"], self._home or "NEW_HOME"
        if place.form == "wordpress":
            user = ("--to", home, "--new-home-user", "USER")
            yield words["move"].format(command=_again("move", job, "wordpress", str(job.archive), *user))
        brought = [file.path for file in done.files if file.path.startswith(f"{FOLDER}/")] if base else []
        if brought:
            sample = f"{base.rstrip('/')}/{brought[0].removeprefix(f'{FOLDER}/')}"
            folder = place.folder[self._language] if self._home and base == f"{self._home}{place.media}" else ""
            yield words["upload"].format(
                media=done.folder / FOLDER, folder=folder or words["web_space"], base=base, sample=sample
            )
        comments = job.given["comments"] or NAMED[place.form].shows
        for step in place.steps[self._language]:
            if step.when in {"", "bring" if base else "stay", comments}:
                yield step.text.format(out=done.folder)
        if comments == Comments.SIDECAR:
            yield words["beside"].format(path=done.folder / NAMED[place.form].beside)
        if redirects is not None:
            yield words["forward"].format(path=redirects.target)
            yield words["rented"]
        if place.home:
            left_out = () if comments in {None, Comments.BODY} else ("--no-comments",)
            yield words["proof"].format(command=_again("compare", job, str(job.archive), home, *left_out))

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
    return f"{_again('export', job, job.form, str(job.archive), str(job.target), names=tuple(_REPEATED))} --force"


_CHOSEN: Final = ("only", "at", "since", "until", "category", "all_as_draft")
"""What chooses a part of the blog, as other commands take it too."""


def _again(command: str, job: Job, *arguments: str, names: Sequence[str] = _CHOSEN) -> str:
    """Return a command for the same blog, with those options of an export that are named, and the old addresses."""
    parts = ["blog-exporter", command, *arguments]
    for name in names:
        value = job.given[name]
        if value and (name, value) != ("only", "public"):
            parts += [_REPEATED[name]] if value is True else [_REPEATED[name], str(value)]
    parts += [part for pattern in job.given["old_urls"] for part in ("--old-url", pattern)]
    return shlex.join(parts)


def _ignore(_said: str, _path: Path) -> None:
    """Stand in for what prints the stored answers: they were printed already."""


def _is_address(answer: str) -> bool:
    return answer.startswith(("https://", "http://")) and absolute(answer, "") is not None


def _pattern_of(address: str, entry_id: str) -> str | None:
    """Return how addresses are made, given that of an entry; ``None`` where its id is not in the path exactly once."""
    scheme, mark, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    made, times = re.subn(rf"(?<![0-9A-Za-z]){re.escape(entry_id)}(?![0-9A-Za-z])", "{entry_id}", path)
    return f"{scheme}{mark}{host}{slash}{made}" if times == 1 and "{" not in path else None


def _redirects_of(target: Path) -> Path:
    return target.with_name(f"{target.name}.redirects")


def _folders(target: Path) -> tuple[Path, ...]:
    """Return the folders that an export may need, itself among them."""
    if not target.name:
        return (target,)
    return target, target.with_name(f"{target.name}.NOT-PUBLIC"), _redirects_of(target)


def _free(proposed: str) -> str:
    """Return a name no folder here has yet."""
    name, number = proposed, 1
    while any(folder.exists() for folder in _folders(Path(name))):
        number += 1
        name = f"{proposed}-{number}"
    return name
