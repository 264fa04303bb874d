"""Find English words in the output of commands whose language is Japanese."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cache

import click

from exporter.cli.main import cli
from exporter.export.formats import NAMED
from exporter.message import Message
from exporter.settings import Settings
from exporter.translation import translated
from tests.support.runs import Done, Runs
from tests.translation.catalogue import read, texts

ALLOWED = re.compile(
    r"""
    https?://\S+ | \S*[/\\]\S* | [\w.-]+\.[a-z]{2,8}(?![a-z])   # addresses, paths, names of files and hosts
    | --?[a-z][\w-]*                                       # options
    | \bblog-exporter(?:\s+[\w.-]+)* | \b\w+_\w+\b       # commands to type, fields and settings
    | GitHub\ Pages | [a-z]+(?:-[a-z]+)+(?=:\s)                          # what verify calls its findings
    | \b[0-9a-f]{64}\b | \{[^}]*\} | '[^']*' | "[^"]*"                      # patterns and values as they are
    | \b(?:lang|rate|concurrency|timezone|name|title|status|count)\b(?=\ *[=:]|\ {2})
    | \d+(?:\.\d+)?\ (?:B|kB|MB|GB)\b
    """,
    re.VERBOSE,
)
"""Words that are the same in every language: names, commands, options, formats, values and units."""

ENGLISH = re.compile(r"(?<![A-Za-z])[a-z]{2,}(?![A-Za-z])")
CAPITALISED = re.compile(r"(?<![\w-])[A-Z][A-Za-z]+(?![\w-])")
KNOWN = frozenset({
    "css", "html", "json", "markdown", "wordpress", "latest", "ninja", "cron", "systemd", "launchd", "windows",
    "body", "or", "sidecar", "inspect", "entry", "get", "list", "kazu", "mika", "hugo", "crontab", "demo", "archive",
    "wxr", "wacz", "movabletype", "blogger", "atom", "ghost", "jekyll", "pelican", "csv", "jsonfeed", "epub", "parquet",
    "sqlite", "item", "comment", "file", "user", "asset", "entries", "comments", "files", "assets", "blogs", "ja", "en",
    "chmod", "toml", "fc", "bd", "vm", "since", "nowhere", "nonsense", "true", "false", "yes", "no", "version",
    "title", "data", "completeness", "outcome", "me", "identity", "minisign", "work", "page", "word", "bundle", "bag", "pandas", "article", "image", "nginx", "jq", "launchctl", "load", "schtasks", "pip", "install", "apt", "age", "keygen", "mailto", "datasette", "duckdb",
})  # fmt: skip
"""Names of formats, requests, kinds of records, other programs, and people in the sample blog."""

_OF_LIBRARIES = re.compile(
    r"""
    (?<=TOML\ ではありません:\ ).* | (?<=を解釈できません:\ ).* | \[Errno\s+-?\d+\]\s[\w\s]+
    | 海の日記\ &\ more | blog\ is\ not\ found | authorization\ is\ required | temporarily\ out\ of\ order | [nN]ot\ Found
    | Unterminated\s+string\s+starting\s+at:\s+line\s+\d+\s+column\s+\d+\s+\(char\s+\d+\)
    | Response\s+payload\s+is\s+not\s+completed:\s+<[^>]*> | Connection\s+reset\s+by\s+peer | Connect\s+call\s+failed
    """,
    re.VERBOSE,
)
"""English reasons from Python's parsers, the resolver and the sample service, and the title of a sample blog."""


@cache
def translated_words() -> frozenset[str]:
    """Return the capitalised words that are sentences of the program with a Japanese translation, such as INCOMPLETE."""
    return frozenset(
        word
        for each in read("ja")
        for word in re.findall(r"[A-Z][A-Za-z]+", texts(each.id)[0])
        if texts(each.id)[0].strip() == word and word not in texts(each.string)[0]
    )


@cache
def command_names() -> frozenset[str]:
    """Return the names of all commands and settings, and the values of options."""
    names: set[str] = set()

    def walk(command: click.Command) -> None:
        for each in command.params:
            names.update(str(value) for value in getattr(each.type, "choices", ()))
            names.update(str(each.metavar or "").split("|"))
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                names.add(name)
                inner = command.get_command(context, name)
                assert inner is not None
                walk(inner)

    walk(cli)
    names.update(each.name for each in fields(Settings))
    names.update(NAMED)
    return frozenset(word for name in names for word in ENGLISH.findall(name))


def english(line: str) -> list[str]:
    """Return a line's English words, without names."""
    rest = ALLOWED.sub(" ", line)
    words = [word for word in ENGLISH.findall(rest) if word not in KNOWN and word not in command_names()]
    return words + [word for word in CAPITALISED.findall(rest) if word in translated_words()]


def english_lines(text: str) -> dict[str, list[str]]:
    """Return each line with English words, and these words; comments in a crontab or a unit are skipped."""
    return {
        line: words
        for line in _OF_LIBRARIES.sub(" ", text).splitlines()
        if not line.startswith("#") and (words := english(line))
    }


def english_in(text: str) -> list[str]:
    """Return the English words in a sentence's translation, without those of its values."""
    return [word for word in english(translated(text)) if word not in _data(text)]


def _data(text: object) -> set[str]:
    """Return the words of a sentence's values that are not sentences."""
    if isinstance(text, Message) and text.template:
        return {word for value in text.values.values() for word in _data(value) if isinstance(value, str)}
    return set(ENGLISH.findall(str(text))) if not isinstance(text, Message) else set()


IMPATIENT = {"BLOG_EXPORTER_RETRIES": "0", "BLOG_EXPORTER_GIVE_UP_AFTER": "60s"}


@dataclass
class Reader:
    """Runs commands in Japanese and collects the English that they print."""

    runs: Runs
    environ: dict[str, str] = field(default_factory=dict)
    found: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    def run(self, *arguments: object, code: int | None = None) -> Done:
        """Run a command; ``code`` is the expected exit code."""
        done = self.runs.run("--lang", "ja", *arguments, environ={**IMPATIENT, **self.environ})
        self.read(done, *arguments)
        assert code is None or done.code == code, (arguments, done)
        return done

    def read(self, done: Done, *arguments: object) -> None:
        """Record the English words in the output of a run; without ``-q`` there must be some output."""
        if "-q" not in arguments:
            assert (done.out + done.err).strip(), (arguments, done)
        if words := english_lines(done.out + done.err):
            self.found[" ".join(map(str, arguments))] = words


@contextmanager
def reading(runs: Runs, **environ: str) -> Iterator[Reader]:
    """Yield a reader, and fail at the end if a command printed English."""
    reader = Reader(runs, environ)
    yield reader
    assert not reader.found, reader.found
