"""What a command line has wrong, in words of our own: what it is, what was expected, what may have been meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from exporter.errors import UsageError
from exporter.message import listed, message


def no_such_command(word: str, known: Iterable[str], path: str) -> UsageError:
    """Say that there is no such command, and which one may have been meant."""
    near = _nearest(word, known)
    help_of = f"{path} --help"
    if near is not None:
        text = message(
            "There is no command {word!r} (did you mean {near}?); see {help}.", word=word, near=near, help=help_of
        )
    else:
        text = message("There is no command {word!r}; see {help}.", word=word, help=help_of)
    return UsageError(text)


def too_many(word: str, command: click.Command, ctx: click.Context) -> UsageError:
    """Say that a word has no place, and what the form of the command is."""
    form = " ".join((ctx.command_path, *command.collect_usage_pieces(ctx)))
    return UsageError(message("{word!r} is one argument too many: the form is {form}.", word=word, form=form))


def explained(error: click.UsageError, command: click.Command, ctx: click.Context, given: Sequence[str]) -> UsageError:
    """Return our own error for one of click's.

    Args:
        error: what click found.
        command: the command whose arguments these are.
        ctx: its context.
        given: the arguments.
    """
    place = f"{ctx.command_path} --help"
    if isinstance(error, click.MissingParameter) and error.param is not None:
        name = _name(error.param, ctx)
        form = " ".join((ctx.command_path, *command.collect_usage_pieces(ctx)))
        return UsageError(
            message("Missing argument {name}: the form is {form}; see {help}.", name=name, form=form, help=place)
        )
    if isinstance(error, click.BadParameter) and error.param is not None:
        return UsageError(_wrong_value(error, error.param, command, ctx, given, place))
    if isinstance(error, click.NoSuchOption):
        known = [name for each in command.get_params(ctx) for name in each.opts if name.startswith("-")]
        near = _nearest(error.option_name, known)
        if near is not None:
            text = message(
                "There is no option {word} (did you mean {near}?); see {help}.",
                word=error.option_name, near=near, help=place,
            )  # fmt: skip
        else:
            text = message("There is no option {word}; see {help}.", word=error.option_name, help=place)
        return UsageError(text)
    if isinstance(error, click.BadOptionUsage):
        takes = not any(error.option_name in each.opts and getattr(each, "is_flag", False) for each in command.params)
        if takes:
            return UsageError(message("Option {word} needs a value; see {help}.", word=error.option_name, help=place))
        return UsageError(message("Option {word} takes no value; see {help}.", word=error.option_name, help=place))
    return UsageError(message("{text} See {help}.", text=" ".join(error.format_message().split()), help=place))


def _wrong_value(
    error: click.BadParameter,
    parameter: click.Parameter,
    command: click.Command,
    ctx: click.Context,
    given: Sequence[str],
    place: str,
) -> str:
    """Say which value cannot be, and what is expected; click says it in its own words and language."""
    name, kind = _name(parameter, ctx), parameter.type
    typed = command.make_parser(ctx).parse_args(list(given))[0].get(parameter.name or "")
    if not isinstance(typed, str):
        return message("{name}: {text}; see {help}.", name=name, text=error.message.rstrip("."), help=place)
    if isinstance(kind, click.Choice):
        choices = [str(each) for each in kind.choices]
        near = _nearest(typed, choices)
        if near is not None:
            return message(
                "{name} is {value!r}: one of {choices} is expected (did you mean {near}?).",
                name=name, value=typed, choices=listed(choices), near=near,
            )  # fmt: skip
        return message(
            "{name} is {value!r}: one of {choices} is expected.", name=name, value=typed, choices=listed(choices)
        )
    if isinstance(kind, click.IntRange) and kind.min is not None and kind.max is not None:
        return message(
            "{name} is {value!r}: a whole number from {least} to {most} is expected.",
            name=name, value=typed, least=kind.min, most=kind.max,
        )  # fmt: skip
    if isinstance(kind, click.IntRange) and kind.min is not None:
        return message(
            "{name} is {value!r}: a whole number of {least} or more is expected.",
            name=name, value=typed, least=kind.min,
        )  # fmt: skip
    if kind is click.INT:
        return message("{name} is {value!r}: a whole number is expected.", name=name, value=typed)
    return message("{name}: {text}; see {help}.", name=name, text=error.message.rstrip("."), help=place)


def _name(parameter: click.Parameter, ctx: click.Context) -> str:
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    return parameter.make_metavar(ctx).strip("[]")


def _nearest(word: str, known: Iterable[str]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(known), 1)), None)
