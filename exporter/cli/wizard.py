"""``export`` on a terminal: asks where the blog goes, exports it, and prints the steps that its owner takes there."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from exporter.archive.archive import Archive
from exporter.archive.state import State
from exporter.cli.answers import FlagQuestions, check_answers, declared_flags, keep_answers
from exporter.cli.destinations import DESTINATIONS, OUT, WEB_SPACE, Destination
from exporter.cli.export_options import Job, check_options, old_urls, print_doubt, resolved, run_export
from exporter.cli.output import Output, counted, size_text
from exporter.cli.questions import Questions
from exporter.export.folder import check_target, report_path
from exporter.export.formats import NAMED, Format
from exporter.export.interface import Comments
from exporter.export.media import FOLDER, MADE_FIELDS
from exporter.export.own_links import infer_entry_url
from exporter.export.posts import entry_combinations
from exporter.export.report import inferred_line
from exporter.export.targets import TARGETS
from exporter.html.links import AddressPattern, absolute
from exporter.library.export import Exported, check_apart
from exporter.message import message
from exporter.model.kinds import Kind
from exporter.service.interface import Records
from exporter.service.registry import service_of
from exporter.settings import Settings, option_name
from exporter.translation import translated

_REPEATED: Final = (
    "limits_of", "only", "media_base_url", "new_url", "title", "at", "since", "until", "category", "tag",
    "all_as_draft", "media_folder", "vertical", "by_year", "paper", "cover", "preset", "comments",
)  # fmt: skip
"""The values of options that the same export needs again."""
_CHOSEN: Final = ("only", "at", "since", "until", "category", "tag", "all_as_draft")
"""The options, shared with other commands, that choose a part of the blog."""
_COMMENTS: Final = {
    Comments.BODY: message("Show them below the entries"),
    Comments.SIDECAR: message("Put them into separate files (to show them with Disqus, for example)"),
    Comments.NONE: message("Leave them out (the archive keeps them)"),
}


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
        job = Job(place.form, archive, target, self._given)
        quiet = Output(verbosity=-1)  # the kept answers were printed before
        tried, _ = run_export(job, quiet, dry_run=True)
        if self._confirmed(out, tried, place.form):
            done, _ = run_export(job, quiet, dry_run=False)
            redirects = self._redirects(place, job)
            if redirects is not None:
                run_export(redirects, quiet, dry_run=False)
            self._finish(out, place, job, done, redirects)
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
            self._flags(out, settings, state, FlagQuestions(self._ask, state, service, known), NAMED[place.form])

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
        home = self._ask.value(question, "", _address_or_none)
        self._home = f"{home.rstrip('/')}/" if home else ""
        combinations = entry_combinations(state, service)
        if not known and combinations:
            question = message(
                "Address of the entry “{title}” on the old blog (empty if you do not know)",
                title=combinations[0].samples[0],
            )
            read = partial(_old_pattern, combinations[0].first, service.key_fields[Kind.ENTRIES])
            known = self._ask.value(question, "", read)
        given["old_urls"] = tuple(pattern.text for pattern in known)
        if self._home and known and not given["new_url"]:
            fields = (*service.post_fields, *MADE_FIELDS)
            offered = (service.key_fields[Kind.ENTRIES], "name", *MADE_FIELDS)
            shown = ", ".join(f"{{{name}}}" for name in offered if name in fields)
            default = f"{self._home}{place.new_url}" if place.new_url else ""
            question = message(
                "Pattern of entry addresses on the new blog ({fields} can be used; empty if you do not know)",
                fields=shown,
            )
            given["new_url"] = self._ask.value(question, default, partial(_new_pattern, fields))
        return known

    def _flags(self, out: Output, settings: Settings, state: State, questions: FlagQuestions, form: Format) -> None:
        """Ask which flag values are public, unless they are declared."""
        given = self._given
        names, drafts = questions.service.flag_settings, given["all_as_draft"]
        declared = declared_flags(questions.service, settings, state.blog_id, out, all_as_draft=drafts)
        if not questions.service.is_undeclared(declared):
            check_answers(declared, given, state, questions.service, out.warn)
            return
        self._ask.say()
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
            given[names.period] = given[names.period] or ("yes" if found.period else None)
        else:
            text = message("No entry is known to be public, so everything will be a draft. Private entries stay out.")
            self._ask.say(text)
            given["all_as_draft"] = True
        if form.comments and not declared.visible_comment_flags:
            given[names.comments] = ",".join(questions.comments()) or None

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
        proposed = f"{self._home}{place.media}" if self._home and place.media else ""
        base = self._ask.value(question, proposed, _address_or_none)
        if base:
            self._given["media_base_url"], self._given["media_folder"] = base, True
        else:
            self._ask.say(message("Pictures stay where they are."))

    def _about_comments(self, place: Destination) -> None:
        """Ask how comments come along in a format that readers see; separate files need a site."""
        form = NAMED[place.form]
        if form.shows is None or self._given["comments"] is not None:
            return
        ways = [way for way in Comments if place.home or way is not Comments.SIDECAR]
        question = message("What about your readers' comments?")
        way = ways[self._ask.number(question, [_COMMENTS[way] for way in ways], ways.index(form.shows))]
        self._given["comments"] = None if way is form.shows else str(way)

    def _target(self, archive: Path, proposed: str) -> Path:
        def read(answer: str) -> Path:
            path = Path(answer).expanduser()
            for folder in _folders(path):
                check_apart(folder, archive)
                check_target(folder, force=self._given["force"])
            return path

        return self._ask.value(message("New folder to write into"), _free(proposed), read)

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

    def _redirects(self, place: Destination, job: Job) -> Job | None:
        """Return the export of the redirects; ``None`` if there is no public entry to redirect to."""
        given = job.given
        if not given["new_url"] or given["all_as_draft"] or given["only"] == "private":
            return None
        limits = place.form if place.form in TARGETS else given["limits_of"]
        unused = {"only": "public", "media_base_url": "", "media_folder": False, "preset": None, "comments": None}
        return Job("redirects", job.archive, _redirects_of(job.target), {**given, **unused, "limits_of": limits})

    def _finish(self, out: Output, place: Destination, job: Job, done: list[Exported], redirects: Job | None) -> None:
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
        keep_answers(job.given, done[0].document["blog_id"], out)
        if NAMED[place.form].whole or not done[0].private:
            say()
            say(message("Next steps"))
            for number, step in enumerate(self._steps(place, job, done[0], redirects), 1):
                say(f"  {number}. {translated(step)}")
        say()
        say(message("To do the same again"))
        for each in filter(None, (job, redirects)):
            say(f"  {command_line(each)}")

    def _steps(self, place: Destination, job: Job, done: Exported, redirects: Job | None) -> Iterator[str]:
        """Yield the next steps that follow from the answers."""
        base, home = job.given["media_base_url"], self._home or "NEW_HOME"
        if place.form == "wordpress":
            user = ("--to", home, "--new-home-user", "USER")
            yield message(
                "The program can do all of it by the API of WordPress, pictures included: {command} To do it by hand, "
                "continue with the next steps.",
                command=_again("move", job, "wordpress", str(job.archive), *user),
            )
        brought = [file.path for file in done.files if file.path.startswith(f"{FOLDER}/")] if base else []
        if brought:
            yield message(
                "Put the content of {media} into {folder}, so that it is found at {base}; open {sample} in a "
                "browser to check it.",
                media=done.folder / FOLDER,
                folder=place.folder if self._home and base == f"{self._home}{place.media}" else WEB_SPACE,
                base=base,
                sample=f"{base.rstrip('/')}/{brought[0].removeprefix(f'{FOLDER}/')}",
            )
        comments = job.given["comments"] or NAMED[place.form].shows
        for step in place.steps("bring" if base else "stay", comments):
            yield step.replace(OUT, str(done.folder))
        if comments == Comments.SIDECAR:
            yield message(
                "The comments are in {path}: the .xml with disqus in its name is for the import of Disqus, the .json "
                "for your own script.",
                path=done.folder / NAMED[place.form].beside,
            )
        if redirects is not None:
            yield message(
                "To bring visitors of old links to the new blog, use the one file of {path} that suits the old server: "
                "include nginx.conf in the server block of nginx; put the content of apache.conf into .htaccess for "
                "Apache; put _redirects into the folder that Netlify or Cloudflare Pages publish. redirects.csv is the "
                "same list as a table.",
                path=redirects.target,
            )
            yield message(
                "A rented blog takes no such files: write the new address into its last entry and its profile before "
                "it closes."
            )
        if place.home:
            left_out = () if comments in {None, Comments.BODY} else ("--no-comments",)
            command = _again("compare", job, str(job.archive), home, *left_out)
            yield message("In the end, check that everything arrived: {command}", command=command)


def command_line(job: Job) -> str:
    """Return the command that repeats an export without a question; the answers about the flags are kept."""
    return f"{_again('export', job, job.form, str(job.archive), str(job.target), names=_REPEATED)} --force"


def _again(command: str, job: Job, *arguments: str, names: Sequence[str] = _CHOSEN) -> str:
    """Return a command for the same blog, with these export options and the old addresses."""
    parts = ["blog-exporter", command, *arguments]
    for name in names:
        value = job.given[name]
        if value and (name, value) != ("only", "public"):
            option = "--target" if name == "limits_of" else option_name(name)
            parts += [option] if value is True else [option, str(value)]
    parts += [part for pattern in job.given["old_urls"] for part in ("--old-url", pattern)]
    return shlex.join(parts)


def _is_address(answer: str) -> bool:
    return answer.startswith(("https://", "http://")) and absolute(answer, "") is not None


def _address_or_none(answer: str) -> str:
    if answer and not _is_address(answer):
        raise ValueError(message("Please answer with an address that begins with https://, or leave it empty."))
    return answer


def _old_pattern(entry_id: str, field: str, answer: str) -> tuple[AddressPattern, ...]:
    pattern = _pattern_of(answer, entry_id, field) if _is_address(answer) else None
    if answer and pattern is None:
        text = message(
            "Please answer with an address that contains the number of this entry, {id}, once, or leave it empty.",
            id=entry_id,
        )
        raise ValueError(text)
    return () if pattern is None else (AddressPattern(pattern, "--old-url"),)


def _new_pattern(fields: Sequence[str], answer: str) -> str | None:
    if answer:
        AddressPattern(answer, "--new-url", path=True).check(fields)
    return answer or None


def _pattern_of(address: str, entry_id: str, field: str) -> str | None:
    """Return an entry's address with ``field`` in place of its id; ``None`` unless its path has the id exactly once."""
    scheme, mark, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    made, times = re.subn(rf"(?<![0-9A-Za-z]){re.escape(entry_id)}(?![0-9A-Za-z])", f"{{{field}}}", path)
    return f"{scheme}{mark}{host}{slash}{made}" if times == 1 and "{" not in path else None


def _redirects_of(target: Path) -> Path:
    return target.with_name(f"{target.name}.redirects")


def _folders(target: Path) -> tuple[Path, ...]:
    """Return the folders that an export may write, itself included."""
    if not target.name:
        return (target,)
    return target, target.with_name(f"{target.name}.NOT-PUBLIC"), _redirects_of(target)


def _free(proposed: str) -> str:
    """Return a name that no folder here has yet."""
    name, number = proposed, 1
    while any(folder.exists() for folder in _folders(Path(name))):
        number += 1
        name = f"{proposed}-{number}"
    return name
