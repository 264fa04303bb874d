"""The language that a blog names for its code, in the habits of highlighters, editors and services. Pure.

The HTML Standard has ``language-``, Prettify and Hatena ``lang-``, SyntaxHighlighter ``brush:``, Crayon ``lang:``.
GitHub and Sphinx write ``highlight-source-`` or ``highlight-`` around the code. GeSHi and WP-Syntax have ``lang``,
highlight.js also a bare class. Enlighter, Qiita and Zenn have attributes.
"""

from __future__ import annotations

import re
from typing import Final

from exporter.html.tree import CODE_BLOCKS, Element, tag_set

LANGUAGE: Final = "language of code"
"""The attribute that :func:`name_languages` sets: no attribute in HTML can have this name."""

LANGUAGES: Final = tag_set(
    "apacheconf applescript arduino awk bash bat c c# c++ clojure cobol coffeescript common-lisp console cpp "
    "csharp css dart delphi diff docker dockerfile elisp elixir erlang fortran go golang groovy haskell html ini "
    "java javascript js json kotlin latex less lisp lua make makefile markdown matlab mysql nasm nginx "
    "objective-c objectivec ocaml pascal perl php postgresql powershell ps1 py python r rb ruby rust sass scala "
    "scheme scss sh shell sql swift tcl tex toml ts typescript vb.net vbnet vbscript vim xml yaml zsh"
)
"""The names of languages that Pygments knows and that are no ordinary words."""
_OTHER_NAMES: Final = {"jscript": "js", "jsx": "js", "node": "js", "tsx": "ts", "yml": "yaml", "htm": "html"}
_NO_LANGUAGES: Final = tag_set("auto default generic no-highlight nohighlight none null raw undefined")
_ATTRIBUTES: Final = ("data-lang", "data-language", "data-enlighter-language")
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9#+._-]{0,29}")
_NAMED: Final = re.compile(
    r"(?:^|\s)(?:highlight-source|highlight-text|language|lang|brush)[-:]\s*([a-z0-9][a-z0-9#+._-]{0,29})(?=[\s:;{]|\Z)"
)
_WRAPPED: Final = re.compile(r"(?:^|\s)(?:highlight-source|highlight-text|highlight|language|lang)-([a-z0-9#+]{1,20})")
_CODE_HINT: Final = re.compile(rf"<(?:{'|'.join(sorted(CODE_BLOCKS))})\b", re.IGNORECASE)
_WRAPPER_CHARACTERS: Final = 200
"""An attribute around code is read only up to this length, because one element may hold thousands of blocks."""
_LEVELS: Final = 3
"""The most elements around code that a highlighter writes."""


def name_languages(body: Element, source: str) -> None:
    """Set :data:`LANGUAGE` of each block of code whose language is named at it, in it or around it.

    Args:
        body: the tree.
        source: its HTML.
    """
    if _CODE_HINT.search(source) is None:
        return
    todo: list[tuple[Element, tuple[Element, ...]]] = [(body, ())]
    while todo:
        parent, around = todo.pop()
        for child in parent.children:
            if isinstance(child, str):
                continue
            if child.tag in CODE_BLOCKS:
                found = _at(child) or _in(child) or next(filter(None, map(_around, around)), "")
                if found:
                    child.attributes[LANGUAGE] = found
            else:
                todo.append((child, (child, *around[: _LEVELS - 1])))


def known_language(name: str) -> str | None:
    """Return a name by which Pygments knows a language; ``None`` for others."""
    name = _OTHER_NAMES.get(name, name)
    return name if name in LANGUAGES else None


def _in(pre: Element) -> str:
    children = [child for child in pre.children if not (isinstance(child, str) and not child.strip())]
    return _at(children[0]) if len(children) == 1 and isinstance(children[0], Element) else ""


def _at(element: Element) -> str:
    """Return the language that an element with code names: one word in any case; empty for none."""
    attributes = element.attributes
    for name in _ATTRIBUTES:
        found = _NAME.match(attributes.get(name, "").strip().lower())
        if found is not None and found.end() == len(attributes[name].strip()):
            return _language(found[0])
    classes = attributes.get("class", "").lower()
    named = _NAMED.search(classes)
    if named is not None:
        return _language(named[1])
    bare = [attributes.get("lang", "").strip().lower(), *classes.split()]
    return next((name for name in bare if known_language(name)), "")


def _around(element: Element) -> str:
    """Return the language that an element around code names; only known ones, because a page has its own language."""
    wrapped = _WRAPPED.search(element.attributes.get("class", "")[:_WRAPPER_CHARACTERS].lower())
    names = [element.attributes.get(name, "")[:_WRAPPER_CHARACTERS].strip().lower() for name in _ATTRIBUTES]
    return next((name for name in (*names, wrapped[1] if wrapped else "") if known_language(name)), "")


def _language(name: str) -> str:
    return "" if name in _NO_LANGUAGES else name
