"""Help and usage errors that fit the terminal, in the reader's language.

Click's own classes support neither translations nor characters that take two columns. This module formats the same
declarations itself.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from exporter.errors import UsageError
from exporter.message import Message, listed, message, suggested
from exporter.text import left, width, wrapped
from exporter.translation import translated, translated_by_text

PATH: Final = click.Path(path_type=Path)
"""The type of arguments and options that name files and folders."""
_MAX_TERM_COLUMNS: Final = 24
_MAX_OPTIONS: Final = 12
"""``--help`` shows at most this number of options; ``--help-all`` shows all."""
ALL_OPTIONS: Final = "exporter.cli.help.all_options"
"""The key in a context's metadata that makes help show all options."""
ARGUMENTS: Final = "exporter.cli.help.arguments"
"""The key in a context's metadata with the arguments of its command as they were typed."""
_ALWAYS: Final = ("as_json", "help_all", "help")
_CHOICE: Final = ("FLAGS", "all_as_draft", "only")
_MAIN: Final[dict[str, tuple[str, ...]]] = {
    "backup": (
        "archive", "base_url", "profile", "every", "assets", "token_file", "dry_run", "accept_removals", "refresh",
    ),
    "export": (*_CHOICE, "media_base_url", "media_folder", "dry_run", "force"),
    "move": ("home", "new_home_user", *_CHOICE, "dry_run", "compare"),
    "compare": (*_CHOICE, "new_home_user", "no_pictures", "no_comments", "report"),
}  # fmt: skip
"""The main options of commands with many; other commands declare them first. ``FLAGS`` are those of the services."""


def explained(error: click.UsageError, command: click.Command, ctx: click.Context, given: Sequence[str]) -> UsageError:
    """Return our own error for one of click's.

    Args:
        error: the error of click.
        command: the command that was called.
        ctx: its context.
        given: its arguments.
    """
    from exporter.setting_types import with_guess

    place = f"{ctx.command_path} --help"
    form = " ".join((ctx.command_path, *command.collect_usage_pieces(ctx)))
    if isinstance(error, click.MissingParameter) and isinstance(error.param, click.Option):
        whole = suggested(*ctx.command_path.split()[1:], *given, *_required(error.param, ctx))
        text = message("{name} is missing. Add it: {command}", name=_name(error.param, ctx), command=whole)
    elif isinstance(error, click.MissingParameter) and error.param is not None:
        name = _name(error.param, ctx)
        text = message("Missing argument {name}: the form is {form}; see {help}.", name=name, form=form, help=place)
    elif isinstance(error, click.BadParameter) and error.param is not None:
        text = _invalid(error, error.param, command, ctx, given)
    elif isinstance(error, click.NoSuchOption):
        known = [name for each in command.get_params(ctx) for name in each.opts if name.startswith("-")]
        word = with_guess(error.option_name, error.option_name, known)
        text = message("There is no option {word}; see {help}.", word=word, help=place)
    elif isinstance(error, click.BadOptionUsage):
        if any(error.option_name in each.opts and getattr(each, "is_flag", False) for each in command.params):
            text = message("Option {word} takes no value; see {help}.", word=error.option_name, help=place)
        else:
            text = message("Option {word} needs a value; see {help}.", word=error.option_name, help=place)
    elif isinstance(command, click.Group):
        text = message("Name a command; see {help}.", help=place)
    else:
        text = message("The form is {form}; see {help}.", form=form, help=place)
    return UsageError(text)


def _invalid(
    error: click.BadParameter,
    parameter: click.Parameter,
    command: click.Command,
    ctx: click.Context,
    given: Sequence[str],
) -> Message:
    """Return the sentence about the value of an option or argument."""
    name, place = _name(parameter, ctx), f"{ctx.command_path} --help"
    found = command.make_parser(ctx).parse_args(list(given))[0].get(parameter.name or "")
    for typed in [found] if isinstance(found, str) else found or ():
        reason = _expected(parameter.type, typed)
        if reason is not None:
            return message("{name} is {value!r}: {reason}.", name=name, value=typed, reason=reason)
    return message("{name}: {text}; see {help}.", name=name, text=error.message, help=place)


def _expected(kind: click.ParamType[Any], typed: str) -> str | None:
    """Return what the value of an option must be; ``None`` if only click knows it."""
    from exporter.setting_types import with_guess

    if isinstance(kind, click.Choice):
        choices = [str(each) for each in kind.choices]
        return with_guess(message("one of {names} is expected", names=listed(choices)), typed, choices)
    if isinstance(kind, click.IntRange) and kind.min is not None:
        if kind.max is None:
            return message("a whole number of {least} or more is expected", least=kind.min)
        return message("a whole number from {least} to {most} is expected", least=kind.min, most=kind.max)
    return message("a whole number is expected") if kind is click.INT else None


def _required(option: click.Option, ctx: click.Context) -> tuple[str, str]:
    """Return a required option as a command line has it: its name, and the name of its value."""
    return _name(option, ctx), _metavar(option, ctx)


def _name(parameter: click.Parameter, ctx: click.Context) -> str:
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    return parameter.make_metavar(ctx).strip("[]")


def said(text: str | None) -> str:
    """Return a text of a declaration in the reader's language.

    Click keeps only the text of a :class:`Message`, so a text without fields is looked up in the catalogue.
    """
    if text is None:
        return ""
    return translated(text) if isinstance(text, Message) else translated_by_text(text)


class _Formatter(click.HelpFormatter):
    """Counts columns in place of characters."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the usage line."""
        start = f"{prefix or translated(message('Usage:'))} {prog} "
        first, *more = wrapped(args, self.width - width(start))
        self.write(f"{start}{first}".rstrip() + "\n")
        for line in more:
            self.write(" " * width(start) + line + "\n")

    def write_text(self, text: str) -> None:
        r"""Write paragraphs. After a line of ``\b`` a paragraph keeps its lines; indented lines never wrap."""
        space = " " * self.current_indent
        for number, paragraph in enumerate(inspect.cleandoc(text).split("\n\n")):
            lines = paragraph.removeprefix("\b\n").split("\n") if paragraph.startswith("\b\n") else [paragraph]
            self.write("\n" * bool(number))
            for line in lines:
                fit = [line] if line.startswith(" ") else wrapped(line, self.width - self.current_indent)
                self.write("".join(f"{space}{each}".rstrip() + "\n" for each in fit))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = _MAX_TERM_COLUMNS, col_spacing: int = 2) -> None:
        """Write terms and their meanings in two columns; the first has ``col_max`` characters."""
        rows, column = list(rows), col_max + col_spacing
        space = " " * self.current_indent
        for term, meaning in rows:
            lines = wrapped(meaning, self.width - column - self.current_indent)
            if width(term) > column - col_spacing:
                self.write(f"{space}{term}\n")
                term = ""  # noqa: PLW2901 - the line above has it
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
    text, default = said(parameter.help), parameter.show_default
    if not default:
        return text
    if default is True:
        default = str(parameter.default)
    return f"{text} {translated(message('[default: {default}]', default=default))}"


class _Helped(click.Command):
    """The base of commands and groups."""

    context_class = _Context

    allow_extra_args = True

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; errors have our own words."""
        given = ctx.meta[ARGUMENTS] = list(args)
        try:
            rest = super().parse_args(ctx, args)
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            raise explained(error, self, ctx, given) from error
        if rest and not isinstance(self, click.Group) and not ctx.resilient_parsing:
            form = " ".join((ctx.command_path, *self.collect_usage_pieces(ctx)))
            raise UsageError("{word!r} is one argument too many: the form is {form}.", word=rest[0], form=form)
        return rest

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the parts of the form: options, arguments, and the options that must be given."""
        required = (each for each in self.params if isinstance(each, click.Option) and each.required)
        return [*super().collect_usage_pieces(ctx), *(" ".join(_required(each, ctx)) for each in required)]

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Return ``--help``, with a help in the reader's language."""
        found = super().get_help_option(ctx)
        if found is not None:
            found.help = message("Show this help.")
        return found

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the description of the command."""
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(said(self.help))

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, with ``--help-all`` before ``--help``."""
        found = super().get_params(ctx)
        return [*found[:-1], _help_all(hidden=len(_options(found)) <= _MAX_OPTIONS), *found[-1:]]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, the main ones first; the others only for ``--help-all``."""
        options = _options(self.get_params(ctx))
        headed = [(message("Options"), options)]
        if len(options) > _MAX_OPTIONS:
            by_name = {"help" if "--help" in each.opts else each.name or "": each for each in options}
            shown = set(said(self.epilog).split())
            examples = [name for name, each in by_name.items() if name not in _ALWAYS and shown.intersection(each.opts)]
            names = _main_options(ctx.info_name or "", tuple(by_name), examples)
            main = [by_name[name] for name in dict.fromkeys((*names, *_ALWAYS)) if name in by_name]
            headed = [(message("Options"), main)]
            if ctx.meta.get(ALL_OPTIONS):
                headed.append((message("More options"), [each for each in options if each not in main]))
        specs = [_spec(each, ctx) for _, group in headed for each in group]
        widest = max((found for each in specs if (found := width(each)) <= _MAX_TERM_COLUMNS), default=0)
        for heading, group in headed:
            with formatter.section(translated(heading)):
                formatter.write_dl([(_spec(each, ctx), _meaning(each)) for each in group], widest)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples and notes."""
        if self.epilog:
            formatter.write_paragraph()
            text = said(self.epilog).replace("Examples:", translated(message("Examples:")), 1)
            formatter.write_text(text)


class HelpedCommand(_Helped):
    """A command with this module's help."""


class OrderedCommand(HelpedCommand, ABC):
    """A command with two arguments that are easily swapped, which it then puts right in its error."""

    @abstractmethod
    def swapped(self, values: Mapping[str, Any]) -> tuple[str, str] | None:
        """Return the first and the second argument as typed if they are swapped; ``None`` if nothing says so."""

    def missing(self, _values: Mapping[str, Any]) -> list[str]:
        """Return the arguments that are missing as well."""
        return []

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments, after a look at their order."""
        if not ctx.resilient_parsing:
            with suppress(click.UsageError):
                values = self.make_parser(ctx).parse_args(list(args))[0]
                pair = self.swapped(values)
                if pair is not None:
                    words = [pair[1] if word == pair[0] else pair[0] if word == pair[1] else word for word in args]
                    raise UsageError(
                        "{second} comes before {first}: {command}",
                        second=pair[1],
                        first=pair[0],
                        command=suggested(*ctx.command_path.split()[1:], *words, *self.missing(values)),
                    )
        return super().parse_args(ctx, args)


cli_command: Final = partial(click.command, cls=HelpedCommand)
"""Declares a function as a command with this module's help."""


class HelpedGroup(_Helped, click.Group):
    """A group of commands, under headings."""

    command_class = HelpedCommand

    def headed_commands(self, ctx: click.Context) -> Iterator[tuple[Message, Mapping[str, str]]]:
        """Yield each heading with its commands and their short helps."""
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

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; the error for a missing one has our own words."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise explained(error, self, ctx, ()) from error

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; the error for an unknown one names the most similar."""
        if not ctx.resilient_parsing and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            from exporter.setting_types import with_guess

            word = with_guess(repr(args[0]), args[0], self.list_commands(ctx))
            raise UsageError("There is no command {word}; see {help}.", word=word, help=f"{ctx.command_path} --help")
        return super().resolve_command(ctx, args)


def _options(parameters: Iterable[click.Parameter]) -> list[click.Option]:
    return [each for each in parameters if isinstance(each, click.Option) and not each.hidden]


def _main_options(command: str, declared: Sequence[str], examples: Sequence[str]) -> Sequence[str]:
    """Return the names of the main options, without those of all commands; the options of examples are among them."""
    from exporter.service.registry import FLAG_SETTINGS

    names = [each for name in _MAIN.get(command, declared) for each in (FLAG_SETTINGS if name == "FLAGS" else (name,))]
    others = [name for name in names if name not in {*_ALWAYS, *examples}]
    shown = {*others[: _MAX_OPTIONS - len(_ALWAYS) - len(examples)], *examples}
    return [name for name in dict.fromkeys((*names, *examples)) if name in shown]


def _help_all(*, hidden: bool) -> click.Option:
    def show(ctx: click.Context, _parameter: click.Parameter, asked: bool) -> None:
        if asked and not ctx.resilient_parsing:
            ctx.meta[ALL_OPTIONS] = True
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()

    return click.Option(
        ["--help-all"], is_flag=True, is_eager=True, expose_value=False, hidden=hidden, callback=show,
        help=message("Show this help with all options."),
    )  # fmt: skip
