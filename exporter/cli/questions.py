"""Questions on a terminal, each repeated until its answer is valid. They go to standard error, as all talk does."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import click

from exporter.cli import events
from exporter.cli.output import tell
from exporter.cli.signals import ended_at_a_question
from exporter.errors import BlogExporterError, UsageError
from exporter.message import message, said
from exporter.text import printable
from exporter.translation import translated

T = TypeVar("T")


class Questions:
    """Asks a person, in the language of the program.

    Args:
        silent: ask nothing and print nothing; every answer is the default.
    """

    def __init__(self, *, silent: bool = False) -> None:
        self.silent = silent

    def say(self, text: str = "") -> None:
        """Print a line; untrusted text in it cannot control the terminal."""
        if not self.silent:
            tell("said", printable(translated(text)))

    def text(self, question: str, default: str = "") -> str:
        """Ask for a text; Enter means ``default``."""
        return self.value(question, default, str)

    def value(self, question: str, default: str, read: Callable[[str], T]) -> T:
        """Ask until ``read`` accepts the answer, and return its result; Enter means ``default``.

        Args:
            question: the question.
            default: the answer of a person who only presses Enter.
            read: converts an answer; raises ValueError or one of our errors with the complaint about an invalid one.
        """
        if self.silent:
            return read(default)
        if events.wanted():
            raise UsageError(message("Nobody answered this question: {question}", question=question))
        shown = printable(translated(question)) + (f" [{printable(default)}]" if default else "")
        while True:
            answer: str = click.prompt(shown, default=default, show_default=False, err=True, type=str).strip()
            try:
                return read(answer)
            except (ValueError, BlogExporterError) as wrong:
                self.say(said(wrong))

    def number(self, question: str, options: Sequence[str], default: int | None = None) -> int:
        """Ask for one of several options and return its index."""
        self.say(question)
        for number, option in enumerate(options, 1):
            self.say(f"{number:>3}  {translated(option)}")

        def read(answer: str) -> int:
            if answer.isascii() and answer.isdecimal() and 1 <= int(answer) <= len(options):
                return int(answer) - 1
            raise ValueError(message("Please type a number from 1 to {most}.", most=len(options)))

        return self.value(message("Number"), "" if default is None else str(default + 1), read)

    def agreed(self, question: str, *, default: bool) -> bool:
        """Ask a question of yes or no."""

        def read(answer: str) -> bool:
            meaning = yes_or_no(answer) if answer else default
            if meaning is None:
                raise ValueError(message("Please type y or n."))
            return meaning

        return self.value(f"{translated(question)} [{'Y/n' if default else 'y/N'}]", "", read)

    def secret(self, question: str) -> str | None:
        """Ask for a text that the terminal does not show; ``None`` for no answer, or without a terminal."""
        return None if self.silent else ask(question, hidden=True) or None


def ask(question: str, /, *, hidden: bool = False) -> str:
    """Ask the user. Without a terminal, the answer to a question for a secret is empty.

    For a program that follows the events, the question is an event, and the answer is the next line of standard input.

    Raises:
        UsageError: there is no terminal, or that program ended.
    """
    if hidden and not sys.stdin.isatty():
        return ""
    if events.wanted():
        events.tell("question", text=printable(translated(question)))
        line = sys.stdin.readline()
        if line:
            return line.strip()
        raise UsageError(message("Nobody answered this question: {question}", question=question))
    try:
        with ended_at_a_question():
            answer: str = click.prompt(
                printable(translated(question)), default="", show_default=False, hide_input=hidden, err=True
            )
    except click.Abort:
        if sys.stdin.isatty():
            raise
        raise UsageError(
            "There is no terminal for the question: {question}. Run this in a terminal, or use a token: set "
            "BLOG_EXPORTER_TOKEN, or name its file with --token-file.",
            question=question,
        ) from None
    return answer.strip()


def yes_or_no(answer: str) -> bool | None:
    """Return the meaning of an answer in English or Japanese; ``None`` if it is neither yes nor no."""
    if answer.lower() in {"y", "yes", "はい", "する"}:
        return True
    return False if answer.lower() in {"n", "no", "never", "いいえ", "しない"} else None
