"""The program's sentences name only commands and options that exist, in English and in each translation."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterator
from functools import cache

import click
import pytest

from exporter.cli.main import COMMANDS, cli
from exporter.message import PROGRAM
from tests.translation.catalogue import PACKAGE, TRANSLATED, read, sentences, texts

NAMED = re.compile(rf"{PROGRAM} +([a-z][a-z-]*)(?: +([a-z][a-z-]*))?([^.;,:()（）、。`「」\n]*)")
"""The program's name with a command, the word after it, and the rest of the clause."""
RUN = re.compile(
    r"(?:^|[;:.,(] ?|\b(?:then|and|or|to|so) )[Rr]un +(?!blog-exporter )([a-z][a-z-]*)((?: +--[a-z][a-z-]*)*)"
)
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]\b(?!://|-\{)")
NO_COMMANDS = frozenset({"again", "once", "it", "the", "this", "that", "pip", "chmod", "from", "at"})
"""Words that follow *run* in sentences and are not commands of the program."""
NO_OPTIONS = frozenset({"--now", "--decrypt", "--output", "--more"})
"""Options of ``systemctl`` and ``age``, and WordPress' marker ``<!--more-->``."""


@cache
def found(*words: str) -> click.Context | None:
    """Find the command with this name, such as ``schedule print``; return ``None`` if it does not exist."""
    context = click.Context(cli, info_name=PROGRAM, **cli.context_settings)
    for word in words:
        below = context.command.get_command(context, word) if isinstance(context.command, click.Group) else None
        if below is None:
            return None
        context = click.Context(below, context, word, **below.context_settings)
    return context


@cache
def options_of(*words: str) -> frozenset[str]:
    """Return all options of a command and its subcommands."""
    context = found(*words)
    assert context is not None
    command = context.command
    own = {name for each in command.get_params(context) for name in (*each.opts, *each.secondary_opts)}
    if isinstance(command, click.Group):
        own = own.union(*(options_of(*words, name) for name in command.list_commands(context)))
    return frozenset(own)


def is_group(*words: str) -> bool:
    context = found(*words)
    return context is not None and isinstance(context.command, click.Group)


def wrong_in(text: str) -> Iterator[str]:
    """Yield the commands and options of a sentence that do not exist."""
    for name, second, rest in NAMED.findall(text):
        words = [name, second] if second and is_group(name) else [name]
        if found(*words) is None:
            yield " ".join((PROGRAM, *words))
        else:
            yield from (f"{name} {option}" for option in OPTION.findall(rest) if option not in options_of(*words))
    for name, given in RUN.findall(text):
        if name in NO_COMMANDS:
            continue
        if found(name) is None:
            yield f"run {name}"
        else:
            yield from (f"run {name} {option}" for option in OPTION.findall(given) if option not in options_of(name))
    yield from (option for option in OPTION.findall(text) if option not in options_of() | NO_OPTIONS)


@pytest.fixture(scope="module", autouse=True)
def _no_search_for_garbage() -> Iterator[None]:
    """Keep all syntax trees until the end: looking for those that are not used took most of the time."""
    gc.disable()
    yield
    gc.enable()


@cache
def templates() -> tuple[str, ...]:
    return tuple(text for sentence in sentences() for text in texts(sentence.id))


def test_no_sentence_names_a_command_or_an_option_that_does_not_exist() -> None:
    assert [(text, wrong) for text in templates() for wrong in wrong_in(text)] == []


@pytest.mark.parametrize("language", TRANSLATED)
def test_no_translation_names_a_missing_command_or_another_option(language: str) -> None:
    pairs = [
        (english, text)
        for each in read(language)
        if each.id
        for english in texts(each.id)[:1]
        for text in texts(each.string)
        if text
    ]
    assert len(pairs) > 1000
    assert [(text, wrong) for _, text in pairs for wrong in wrong_in(text)] == []
    assert [
        (english, text)
        for english, text in pairs
        if not set(OPTION.findall(text)) <= set(OPTION.findall(english))
        or not {name for name, *_ in NAMED.findall(text)} <= {name for name, *_ in NAMED.findall(english)}
    ] == []


def suggestions() -> Iterator[tuple[str, list[str]]]:
    """Yield the literal words of every suggested command, with their place in the code."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text("utf-8")
        if "suggested(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "suggested":
                words = [str(each.value) if isinstance(each, ast.Constant) else "" for each in node.args]
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}", words


def test_every_suggested_command_has_the_options_that_are_suggested() -> None:
    wrong, count = [], 0
    for place, words in suggestions():
        count += 1
        names = words[:1] if words[0] else []
        if names and is_group(*names) and words[1]:
            names = words[:2]
        if found(*names) is None or not {word for word in words if word.startswith("--")} <= options_of(*names):
            wrong.append((place, words))
    assert wrong == []
    assert count > 10


def test_names_that_do_not_exist_are_found() -> None:
    assert {name for name, *_ in NAMED.findall(" ".join(templates()))} <= {*COMMANDS}
    for text in (
        "Damaged; run mend --all.",
        "Damaged; run verify --heal.",
        "Run blog-exporter schedul install DIR.",
        "Run blog-exporter schedule instal DIR.",
        "Sign in: blog-exporter login --acount NAME.",
        "Give --allow-private-networks.",
    ):
        assert list(wrong_in(text)), text
    for text in ("Run verify --repair.", "Run the same command again.", "blog-exporter fleet run LIST --into DIR"):
        assert list(wrong_in(text)) == [], text
