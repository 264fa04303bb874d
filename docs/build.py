"""Build the pages of docs/ in English and Japanese into build/docs/: ``python docs/build.py``, or ``make docs``.

The Japanese translation of NAME.md is NAME.ja.md. If it is missing, the Japanese site shows the English page with a
note. The build fails on a broken link in either language.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from posixpath import normpath
from typing import Any

from markdown.extensions.toc import slugify

HERE = Path(__file__).parent
ROOT = HERE.parent
BUILD = ROOT / "build"
NAVIGATION: dict[str, Any] = tomllib.loads((HERE / "navigation.toml").read_text("utf-8"))
LANGUAGES = {"en": "English", "ja": "日本語"}
BETWEEN = {
    ("en", "en"): "index.html",
    ("en", "ja"): "ja/index.html",
    ("ja", "ja"): "index.html",
    ("ja", "en"): "../index.html",
}
"""Relative addresses between the first pages of both languages, which also work from a disk."""
ENGLISH_ONLY = '!!! note "英語のページです"\n\n    このページにはまだ日本語版がありません。\n\n'
COPIED = ("screenshots", "schemas", "screens", "demo.svg", "first-hour.en.svg", "first-hour.ja.svg")
LINK = re.compile(r"(?P<mark>!?)\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]\((?P<target>[^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```|^(?: {4}[^\n]*\n)+", re.MULTILINE | re.DOTALL)
ENDS = re.compile(r"^(?![#|]).*(?:(?P<stop>[\u3001\u3002\u300d\uff09])|[\u3041-\u9fff])$")
BEGINS = re.compile(r" *(?![0-9]+\. )(?:(?P<wide>[\u300c\u3041-\u9fff\uff08])|[\w`\[])")
"""The end and the beginning of two lines of a Japanese paragraph that no space separates."""
HEADING = re.compile(r"^(?P<level>#{1,6}) (?P<text>[^\n]+)$", re.MULTILINE)


class BrokenLinkError(Exception):
    """A page has a link to a missing file."""


def pages() -> dict[str, Path]:
    """Return the English source of each page, by the page's name."""
    found = {path.stem: path for path in sorted(HERE.glob("*.md")) if not path.name.endswith(".ja.md")}
    return found | {name: ROOT / place for name, place in NAVIGATION["elsewhere"].items()}


def in_navigation() -> list[str]:
    """Return the names of all pages in the order of the navigation."""
    return [name for part in NAVIGATION["part"] for name in part["pages"]]


def source(name: str, language: str) -> tuple[Path, str]:
    """Return a page's file and text in a language, or in English if there is no translation."""
    english = pages()[name]
    if language == "ja":
        japanese = HERE / f"{name}.ja.md"
        if japanese.exists():
            return japanese, anchored(english.read_text("utf-8"), japanese.read_text("utf-8"))
        head, _, rest = english.read_text("utf-8").partition("\n")
        return english, f"{head}\n\n{ENGLISH_ONLY}{rest}"
    return english, english.read_text("utf-8")


def headings(text: str) -> list[re.Match[str]]:
    """Return the headings of a page, without those in code blocks."""
    code = [found.span() for found in FENCE.finditer(text)]
    return [each for each in HEADING.finditer(text) if not any(a <= each.start() < b for a, b in code)]


def twins(english: str, japanese: str) -> bool:
    """Return whether two pages have the same sequence of heading levels, so that they can share anchors."""
    return [each["level"] for each in headings(english)] == [each["level"] for each in headings(japanese)]


def anchored(english: str, japanese: str) -> str:
    """Return a Japanese page's text with the English page's anchors, if both have the same headings."""
    if not twins(english, japanese):
        return japanese
    parts, at = [], 0
    for ours, theirs in zip(headings(japanese), headings(english), strict=True):
        parts += [japanese[at : ours.end()], f" {{#{slugify(theirs['text'].replace('`', ''), '-')}}}"]
        at = ours.end()
    return "".join([*parts, japanese[at:]])


def joined(text: str) -> str:
    """Return a Japanese page's text with its paragraphs on one line, as a browser shows a line break as a space."""

    def unwrapped(prose: str) -> str:
        lines: list[str] = []
        for line in prose.split("\n"):
            end, begin = ENDS.match(lines[-1]) if lines else None, BEGINS.match(line)
            if end and begin and (end["stop"] or begin["wide"]):
                lines[-1] += line.lstrip()
            else:
                lines.append(line)
        return "\n".join(lines)

    parts, at = [], 0
    for code in FENCE.finditer(text):
        parts += [unwrapped(text[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*parts, unwrapped(text[at:])])


def stem(path: Path) -> str:
    """Return the name that a page has in both languages."""
    return path.name.removesuffix(".md").removesuffix(".ja")


def adapted(path: Path, text: str, language: str = "en") -> str:
    """Return a page's text with links that work in the built pages.

    Links stay in the page's language, except a link between the two files of one page. If a Japanese page lacks the
    anchor of a link, the link leads to the English page.

    Raises:
        BrokenLinkError: the target of a link is missing.
    """
    names = {place.resolve(): name for name, place in pages().items()}

    def link(found: re.Match[str]) -> str:
        target, _, anchor = found["target"].partition("#")
        if re.match(r"[a-z]+:", target) or not target:
            return found[0]
        place = Path(normpath((path.parent / target).as_posix())).resolve()
        if not place.exists():
            raise BrokenLinkError(f"{path.relative_to(ROOT)}: {found['target']}")
        if place.parent == path.parent and place != path and stem(place) == stem(path):
            other = f"ja/{stem(path)}.html" if language == "en" else f"../{stem(path)}.html"
            return f"[{found['text']}]({other}{'#' if anchor else ''}{anchor})"
        if place.name.endswith(".ja.md"):
            place = place.with_name(place.name.removesuffix(".ja.md") + ".md")
        if place in names:
            twin = HERE / f"{names[place]}.ja.md"
            if (
                language == "ja"
                and anchor
                and twin.exists()
                and not twins(place.read_text("utf-8"), twin.read_text("utf-8"))
            ):
                return f"[{found['text']}](../{names[place]}.html#{anchor})"
            return f"[{found['text']}]({names[place]}.md{'#' if anchor else ''}{anchor})"
        if place.is_relative_to(HERE) and place.relative_to(HERE).parts[0] in COPIED:
            return f"{found['mark']}[{found['text']}]({place.relative_to(HERE).as_posix()})"
        return found["text"]  # a source file, which is not part of the built pages

    parts, at = [], 0
    for code in FENCE.finditer(text):
        parts += [LINK.sub(link, text[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*parts, LINK.sub(link, text[at:])])


def configuration(language: str, folder: str, output: str) -> str:
    """Return the Zensical settings for the pages of a language."""
    navigation = [{part[language]: [f"{name}.md" for name in part["pages"]]} for part in NAVIGATION["part"]]
    rows = ",\n  ".join(
        f"{{ {json.dumps(title, ensure_ascii=False)} = {json.dumps(files)} }}"
        for each in navigation
        for title, files in each.items()
    )
    others = "\n".join(
        f'[[project.extra.alternate]]\nname = "{name}"\nlink = "{BETWEEN[language, code]}"\nlang = "{code}"'
        for code, name in LANGUAGES.items()
    )
    return f"""[project]
site_name = "blog-exporter"
docs_dir = {json.dumps(folder)}
site_dir = {json.dumps(output)}
use_directory_urls = false
nav = [
  {rows},
]

[project.theme]
language = "{language}"
font = false
features = ["navigation.sections", "navigation.footer", "search.highlight", "content.code.copy", "toc.follow"]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"

[project.extra]
generator = false

{others}

[project.markdown_extensions]
admonition = {{}}
attr_list = {{}}
tables = {{}}
toc.permalink = true
pymdownx.highlight.pygments_lang_class = true
pymdownx.superfences = {{}}
"""


def assemble(language: str, folder: Path) -> None:
    """Write the pages of a language and their pictures and schemas into a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in in_navigation():
        path, text = source(name, language)
        text = adapted(path, text, language)
        (folder / f"{name}.md").write_text(joined(text) if language == "ja" else text, encoding="utf-8")
    for name in COPIED:
        if (HERE / name).is_dir():
            shutil.copytree(HERE / name, folder / name)
        elif (HERE / name).exists():
            shutil.copy(HERE / name, folder / name)


def build() -> Path:
    """Build both languages and return the folder of the pages."""
    work, output = BUILD / "docs-source", BUILD / "docs"
    shutil.rmtree(output, ignore_errors=True)
    for language in LANGUAGES:
        assemble(language, work / language)
        target = output / "ja" if language == "ja" else output
        settings = work / f"zensical-{language}.toml"
        settings.write_text(configuration(language, language, f"site-{language}"), "utf-8")
        command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "--config-file", str(settings)]
        subprocess.run(command, cwd=work, check=True)
        shutil.move(work / f"site-{language}", target)
    return output


if __name__ == "__main__":
    sys.stdout.write(f"{build()}\n")
