"""Stop commands that publish until someone declared which entries and comments are public; print the next command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import click

from exporter.cli.answers import FLAG_VALUES, FlagAnswers
from exporter.cli.help import ARGUMENTS
from exporter.cli.output import Output, shown
from exporter.cli.samples import FlagSamples
from exporter.errors import UsageError
from exporter.export.formats import Format
from exporter.export.interface import RecordSource
from exporter.export.posts import comment_combinations, entry_combinations, flag_lines
from exporter.frozen import frozen
from exporter.message import CommandLine, either, listed, message, suggested
from exporter.service.interface import Records
from exporter.setting_sources import option_name
from exporter.text import printable
from exporter.translation import translated

_CHARACTERS_SHOWN = 200


@frozen
class _Proposal:
    """The flags of records that may be the public ones, and the options that declare them.

    Attributes:
        flags: their flags with their values.
        options: the words of the command line; none if no option can declare these records public.
        alone: whether all records have these flags.
    """

    flags: str = ""
    options: tuple[str, ...] = ()
    alone: bool = False


def require_declared_flags(
    answers: FlagAnswers,
    state: RecordSource,
    service: Records,
    given: Mapping[str, Any],
    out: Output,
    form: Format | None = None,
    blog_id: str = "",
) -> None:
    """Stop a command that publishes if nothing says which entries are public, or which comments are shown.

    Args:
        answers: the answers from all sources.
        state: the records to publish.
        service: reads them.
        given: the options of the command line by their names.
        out: prints the values of the flags.
        form: the format of an export.
        blog_id: the blog, if the command is about several.

    Raises:
        UsageError: with the command that declares the only possible value, or the most frequent one.
    """
    of_entries = answers.is_undeclared(state, service)
    of_comments = takes_comments(form, given) and answers.has_undeclared_comments(state, service)
    if not of_entries and not of_comments:
        return
    words = map(translated, (message("entries"), message("comments"), message("such as")))
    if blog_id:
        out.say(f"{printable(blog_id)}:", level=-1)
    for line in flag_lines(state, service, *words):
        out.say(shown(line), level=-1)
    out.say(level=-1)
    out.say(service.flag_hint, level=-1)
    new = answers.new_values(state, service)
    if new or (not of_entries and answers.new_values_of_comments(state, service)):
        _stop_at_new_values(answers, state, service)
    drafts = of_entries and form is not None and form.drafts
    _stop(state, service, of_entries=of_entries, of_comments=of_comments, drafts=drafts)


def takes_comments(form: Format | None, given: Mapping[str, Any]) -> bool:
    """Return whether the command publishes comments by their flags."""
    if given.get("all_as_draft") or given.get("hidden_comments") or given.get("only") == "private":
        return False
    if given.get("comments") == "none" or given.get("no_comments"):
        return False
    return form is None or form.comments or given.get("comments") is not None


def _stop(state: RecordSource, service: Records, *, of_entries: bool, of_comments: bool, drafts: bool) -> NoReturn:
    samples = FlagSamples(state, service, ())
    found = [_of_entries(state, service, samples)] if of_entries else []
    found += [_of_comments(state, service, samples)] if of_comments else []
    lead: str = message("Nothing says yet which comments are shown.")
    if of_entries:
        lead = message("Nothing says yet which entries are public.")
        if of_comments:
            lead = message("Nothing says yet which entries are public and which comments are shown.")
    if drafts:
        lead = message("{said} Declare it once, or make drafts of all entries with --all-as-draft.", said=lead)
    public, _, comments = service.flag_settings
    flags = listed([one.flags for one in found])
    options = [word for one in found for word in one.options]
    if not all(one.options for one in found):
        names = [option_name(name) for name, asked in ((public, of_entries), (comments, of_comments)) if asked]
        raise UsageError("{said} See the table above (or inspect DIR): {options}.", said=lead, options=listed(names))
    if all(one.alone for one in found):
        raise UsageError(
            "{said} All have {flags}: if everybody can see them on the blog, run: {command}",
            said=lead,
            flags=flags,
            command=same_command(*options),
        )
    raise UsageError(
        "{said} See the table above (or inspect DIR): if those with {flags} are public, and no others, run: {command}",
        said=lead,
        flags=flags,
        command=same_command(*options),
    )


def _stop_at_new_values(answers: FlagAnswers, state: RecordSource, service: Records) -> NoReturn:
    """Stop, since a value came after the owner declared the others; the command declares the same again.

    Raises:
        UsageError: always.
    """
    public, period, comments = service.flag_settings
    stated, new = answers.stated, answers.new_values(state, service)
    if not new:
        raise UsageError(
            "Nothing says yet whether comments with {flag} {values} are shown: the archive did not have them when you "
            "declared the other values. See inspect DIR. If they are not, run: {command} If they are, add them to "
            "{option}.",
            flag=service.deleted_flag,
            values=either(answers.new_values_of_comments(state, service)),
            command=same_command(option_name(comments), ",".join(sorted(stated.visible_comment_flags or {"none"}))),
            option=option_name(comments),
        )
    options = [option_name(public), ",".join(sorted(stated.public_access or ()))]
    if period and stated.period_public:
        options.append(option_name(period))
    raise UsageError(
        "Nothing says yet whether entries with {flag} {values} are public: the archive did not have them when you "
        "declared the other values. See inspect DIR. If they are not, run: {command} If they are, add them to "
        "{option}.",
        flag=service.access_flag,
        values=either([printable(value, 40) for value in new]),
        command=same_command(*options),
        option=option_name(public),
    )


def _of_entries(state: RecordSource, service: Records, samples: FlagSamples) -> _Proposal:
    """Return the most frequent entries that a declaration can make public, those that are always shown first."""
    public, period, _ = service.flag_settings
    possible = [sample for sample in samples.entries() if not sample.private]
    if not possible:
        return _Proposal()
    best = possible[0]
    options = (option_name(public), best.code, *([option_name(period)] if best.periodic else []))
    return _Proposal(printable(best.flags, _CHARACTERS_SHOWN), options, len(entry_combinations(state, service)) == 1)


def _of_comments(state: RecordSource, service: Records, samples: FlagSamples) -> _Proposal:
    possible = [sample for sample in samples.comments() if sample.code in FLAG_VALUES]
    if not possible:
        return _Proposal()
    best = possible[0]
    options = (option_name(service.flag_settings.comments), best.code)
    return _Proposal(printable(best.flags, _CHARACTERS_SHOWN), options, len(comment_combinations(state, service)) == 1)


def same_command(*more: str) -> CommandLine:
    """Return the command that runs now with these options in addition, for a shell."""
    context = click.get_current_context()
    given: list[str] = context.meta[ARGUMENTS]
    end = given.index("--") if "--" in given else len(given)
    return suggested(*context.command_path.split()[1:], *given[:end], *more, *given[end:])
