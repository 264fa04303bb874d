"""Questions on a terminal: each is asked until its answer can be used. They go to standard error, as all talk does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import click

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

    def agreed(self, question: str, *, default: bool) -> bool:
        """Ask whether something is so."""
        letters = "Y/n" if default else "y/N"

        def check(answer: str) -> str:
            return "" if not answer or _meaning(answer) is not None else self.words["yes_or_no"]

        answer = self.text(f"{question} [{letters}]", "", check)
        return default if not answer else bool(_meaning(answer))


def _meaning(answer: str) -> bool | None:
    known = {"y": True, "yes": True, "はい": True, "n": False, "no": False, "いいえ": False}
    return known.get(answer.lower())
