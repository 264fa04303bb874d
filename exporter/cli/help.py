"""Help that fits the terminal: options under headings, commands under what they are for, in the reader's language.

Click's own classes know neither languages nor characters that take two columns. What is printed here is put together
from the same declarations.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import click

from exporter.cli.usage import explained, no_such_command, too_many
from exporter.message import Message, message
from exporter.text import left, width, wrapped
from exporter.translation import translated, translated_by_text

_LONGEST_TERM: Final = 24
_FEW: Final = 14
"""So many options need no headings."""

HEADINGS: Final[dict[Message, tuple[str, ...]]] = {
    message("Service"): (
        "base_url", "profile", "token_file", "entry_url", "timezone",
    ),
    message("Reading"): (
        "refresh", "max_age", "resume_max_age", "wait_lock", "accept_removals", "dry_run",
    ),
    message("Pictures and files"): (
        "assets", "file_url", "max_asset_size", "archive_fallback", "skip_asset_hosts", "allow_private_network",
        "strict_assets", "retry_lost", "accept_doubtful", "media_base_url", "media_folder",
    ),
    message("Politeness and patience"): (
        "concurrency", "rate", "retries", "connect_timeout", "read_timeout", "total_timeout", "give_up_after",
    ),
    message("What goes"): (
        "at", "since", "until", "category", "only", "public_only", "all_as_draft", "hidden_comments", "comments",
        "no_comments",
    ),
    message("Form"): (
        "body", "wordpress_body", "preset", "max_entries", "max_bytes", "limits_of", "old_urls", "new_url",
    ),
    message("Books"): ("title", "language", "by_year", "vertical"),
    message("Notifications"): ("ping_url", "on_failure", "remind_after"),
    message("Site and Markdown"): ("site_title", "site_lang", "markdown", "site"),
    message("Settings"): ("config", "no_remember"),
    message("Output"): ("as_json", "quiet", "verbose", "lang", "help"),
}  # fmt: skip
"""Under which heading of a long help an option stands, by the name of its parameter; all others come first."""


def said(text: str | None) -> str:
    """Return a text of a declaration in the reader's language.

    Click keeps the text of a help line but not what it was made of, so a line without fields is looked up by itself.
    """
    if text is None:
        return ""
    return translated(text) if isinstance(text, Message) else translated_by_text(text)


class Option(click.Option):
    """An option whose line of help may have fields, and which says its default in the reader's language."""

    def __init__(self, *declarations: Any, default_text: str | None = None, **how: Any) -> None:
        super().__init__(*declarations, **how)
        self.message: str | None = how.get("help")
        self.default_text = default_text


def option(*declarations: str, **how: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare an :class:`Option`; ``default_text`` is what its help calls the default."""
    return click.option(*declarations, cls=Option, **how)


class _Formatter(click.HelpFormatter):
    """Counts columns in place of characters."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write how the command is called."""
        start = f"{prefix or translated(message('Usage:'))} {prog} "
        first, *more = wrapped(args, self.width - width(start))
        self.write(f"{start}{first}".rstrip() + "\n")
        for line in more:
            self.write(" " * width(start) + line + "\n")

    def write_text(self, text: str) -> None:
        r"""Write paragraphs; one that begins with a line of ``\b`` keeps its lines, the indented ones whole."""
        space = " " * self.current_indent
        for number, paragraph in enumerate(inspect.cleandoc(text).split("\n\n")):
            lines = paragraph.removeprefix("\b\n").split("\n") if paragraph.startswith("\b\n") else [paragraph]
            self.write("\n" * bool(number))
            for line in lines:
                fit = [line] if line.startswith(" ") else wrapped(line, self.width - self.current_indent)
                self.write("".join(f"{space}{each}".rstrip() + "\n" for each in fit))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = _LONGEST_TERM, col_spacing: int = 2) -> None:
        """Write terms and what they mean, in two columns, the first of as many as ``col_max`` says."""
        rows, column = list(rows), col_max + col_spacing
        space = " " * self.current_indent
        for term, meaning in rows:
            lines = wrapped(meaning, self.width - column - self.current_indent)
            if width(term) > column - col_spacing:
                self.write(f"{space}{term}\n")
                term = ""  # noqa: PLW2901 - it stands on a line of its own
            for line in lines:
                self.write((space + left(term, column) + line).rstrip() + "\n")
                term = ""  # noqa: PLW2901 - only the first line has it


class _Context(click.Context):
    formatter_class = _Formatter


def _spec(parameter: click.Option, context: click.Context) -> str:
    """Return an option as its help writes it: ``-q, --quiet``, ``--sort relevance|date``."""
    names = ", ".join(sorted(parameter.opts, key=lambda name: name.startswith("--")))
    if parameter.is_flag or parameter.count:
        return names
    return f"{names} {_metavar(parameter, context)}"


def _metavar(parameter: click.Parameter, context: click.Context) -> str:
    if parameter.metavar is not None:
        return parameter.metavar
    if isinstance(parameter.type, click.Choice):
        return "|".join(map(str, parameter.type.choices))
    return parameter.make_metavar(context)


def _meaning(parameter: click.Option) -> str:
    text, default = said(parameter.help), None
    if isinstance(parameter, Option):
        text, default = said(parameter.message), parameter.default_text
    if default is None and parameter.show_default:
        default = str(parameter.default)
    return text if default is None else f"{text} {translated(message('[default: {default}]', default=default))}"


class _Helped(click.Command):
    """What commands and groups of commands share."""

    context_class = _Context

    allow_extra_args = True

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments, and refuse what cannot be right in words of our own."""
        given = list(args)
        try:
            rest = super().parse_args(ctx, args)
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            raise explained(error, self, ctx, given) from error
        if rest and not isinstance(self, click.Group) and not ctx.resilient_parsing:
            raise too_many(rest[0], self, ctx)
        return rest

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Return ``--help``, with its line in the reader's language."""
        found = super().get_help_option(ctx)
        if found is not None:
            found.help = message("Show this help.")
        return found

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the command is for."""
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(said(self.help))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options: in one list when they are few, under headings when they are many."""
        shown = [each for each in self.get_params(ctx) if isinstance(each, click.Option) and not each.hidden]
        widest = max((found for each in shown if (found := width(_spec(each, ctx))) <= _LONGEST_TERM), default=0)
        for heading, parameters in _grouped(shown):
            with formatter.section(translated(heading)):
                formatter.write_dl([(_spec(each, ctx), _meaning(each)) for each in parameters], widest)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, and what else is to be known."""
        if self.epilog:
            formatter.write_paragraph()
            text = said(self.epilog).replace("Examples:", translated(message("Examples:")), 1)
            formatter.write_text(text)


class HelpedCommand(_Helped):
    """A command with help as this module writes it."""


class HelpedGroup(_Helped, click.Group):
    """Commands under one name, under headings."""

    def headed_commands(self, ctx: click.Context) -> Iterator[tuple[Message, Mapping[str, str]]]:
        """Yield headings, and the commands below each with their lines of help."""
        lines = {}
        for name in self.list_commands(ctx):
            found = self.get_command(ctx, name)
            if found is not None and not found.hidden:
                lines[name] = found.short_help or found.help or ""
        yield message("Commands"), lines

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, then the options."""
        headed = [(heading, lines) for heading, lines in self.headed_commands(ctx) if lines]
        column = max(len(name) for _, lines in headed for name in lines)
        for heading, lines in headed:
            with formatter.section(translated(heading)):
                rows = [(name, said(line).partition("\n")[0]) for name, line in lines.items()]
                formatter.write_dl(rows, column)
        super().format_options(ctx, formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one may have been meant."""
        if not ctx.resilient_parsing and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise no_such_command(args[0], self.list_commands(ctx), ctx.command_path)
        return super().resolve_command(ctx, args)


def helped(command: click.Command) -> click.Command:
    """Return a command that does the same, with help as this module writes it."""
    if isinstance(command, _Helped):
        return command
    kind: Any = HelpedGroup if isinstance(command, click.Group) else HelpedCommand
    how: dict[str, Any] = {
        "callback": command.callback, "params": command.params, "help": command.help, "epilog": command.epilog,
        "short_help": command.short_help, "hidden": command.hidden, "no_args_is_help": command.no_args_is_help,
        "context_settings": command.context_settings,
    }  # fmt: skip
    if isinstance(command, click.Group):
        how["commands"] = {name: helped(each) for name, each in command.commands.items()}
        how["invoke_without_command"] = command.invoke_without_command
    made: click.Command = kind(command.name, **how)
    return made


def _grouped(options: Sequence[click.Option]) -> Iterator[tuple[Message, list[click.Option]]]:
    plain = message("Options")
    if len(options) <= _FEW:
        yield plain, list(options)
        return
    from exporter.service.registry import FLAG_SETTINGS, SERVICE_SETTINGS

    heading_of = {name: heading for heading, names in HEADINGS.items() for name in names}
    heading_of |= dict.fromkeys(SERVICE_SETTINGS, message("Service"))
    heading_of |= dict.fromkeys(FLAG_SETTINGS, message("What goes"))
    groups: dict[Message, list[click.Option]] = {heading: [] for heading in (plain, *HEADINGS)}
    for each in options:
        groups[heading_of.get("help" if "--help" in each.opts else each.name or "", plain)].append(each)
    yield from ((heading, found) for heading, found in groups.items() if found)
