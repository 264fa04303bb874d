"""All messages come from templates, in every package: the test reads the syntax trees."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.translation.catalogue import ERRORS, PACKAGE, takes_a_template

SPOKEN = {"say", "warn", "answer", "echo", "secho", "prompt", "confirm", "Finding", "Unchecked", "RecordProblem"}
"""Functions whose texts people read, and facts whose texts are shown later."""

MADE = {
    "message",
    "worded",
    "message_n",
    "message_in_context",
    "filled",
    "message_template",
    "listed",
    "either",
    "both",
    "said",
}
EXAMPLES = "\b\nExamples:\n"
"""Commands to type, which are the same in all languages; the help translates the heading."""

PLAIN = {"added.strip()"}
"""Values that are no sentences: lines of a settings file."""

WORDS = re.compile(r"[A-Za-z]{2,}[,;:]? [a-z]{2,}")
"""A pattern that no identifier, path or data format matches."""

HELD = sorted({path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")})


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def _literals(node: ast.expr) -> Iterator[str]:
    """Yield the literal texts in an expression, except for templates."""
    if isinstance(node, ast.Call) and _name(node) in MADE:
        return
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str) and not node.value.startswith(EXAMPLES):
            yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                yield from _literals(part.value)
    else:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from _literals(child)


def spoken(tree: ast.Module) -> Iterator[tuple[int, ast.expr]]:
    """Yield all texts for people: errors, warnings, answers, findings, and help."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if _name(node) in {*ERRORS, *SPOKEN} and not takes_a_template(node):
            yield from ((each.lineno, each) for each in node.args)
        yield from ((each.value.lineno, each.value) for each in node.keywords if each.arg in {"help", "epilog"})


def test_messages_are_made_from_templates() -> None:
    bare = [
        f"{path}, line {line}: {text!r}"
        for path in HELD
        for line, node in spoken(ast.parse((PACKAGE / path).read_text("utf-8")))
        for text in _literals(node)
        if WORDS.search(text)
    ]
    assert HELD
    assert bare == []


def broken(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the values of sentences that were joined or cut as text, so that sentences among them lost their templates."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and (_name(call) in MADE or takes_a_template(call)):
            for value in (each.value for each in call.keywords):
                if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
                    joins = value.func.attr == "join" and ast.unparse(value.func.value) == "', '"
                    if joins or value.func.attr in {"rstrip", "strip", "removesuffix"}:
                        yield value.lineno, ast.unparse(value)


def test_values_of_sentences_are_listed_and_not_joined() -> None:
    found = [
        f"{path}, line {line}: {text}"
        for path in HELD
        for line, text in broken(ast.parse((PACKAGE / path).read_text("utf-8")))
        if text not in PLAIN
    ]
    assert found == []


def test_bare_sentences_are_found(tmp_path: Path) -> None:
    tree = ast.parse(
        "raise UsageError('this is bare')\n"
        "out.say(f'{n} files of it')\n"
        "out.warn(message('this is not') + ', but this is')\n"
        "click.option('--lang', help='what to say')\n"
        "raise UsageError(message('{a} all well', a=printable('x y')))\n"
        "out.say(f'  {text}: {line}')\n"
        "raise UsageError('{a} and its values', a=1)\n"
        "out.say('{a} and its values', level=1, a=1)\n"
        "out.say('one that is bare', level=1)\n"
    )
    found = [line for line, node in spoken(tree) for text in _literals(node) if WORDS.search(text)]
    assert found == [1, 2, 3, 4, 9]
