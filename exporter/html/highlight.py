"""Code in colours, where a text names its language: classes for a style sheet, made when the page is made. Pure."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from exporter.html.tags import tag_set
from exporter.html.tree import Element

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from pygments.token import _TokenType

LONGEST: Final = 10_000
"""Characters of code; more are left plain."""
COLOURS: Final = tag_set("ck cs cc cm cn ct ca cd")
"""The classes: keywords, strings, comments, numbers, names, tags, what a patch adds, and what it deletes."""

_NAMED: Final = re.compile(r"(?:^|\s)(?:lang|language|highlight-source|brush)[-:]\s*([a-z0-9#+.-]{1,20})")
_ATTRIBUTES: Final = ("data-lang", "data-language", "class")
_INSIDE: Final = tag_set("br code span")
_NO_CODE: Final = re.compile(r"(.{1,8}?)\1{100}|[^\n]{501}", re.DOTALL)
"""The same over and over, or a line that nobody wrote: readers of languages take the square of the time over some."""
_OTHER_NAMES: Final = {"jscript": "js", "jsx": "js", "node": "js", "tsx": "ts", "yml": "yaml", "htm": "html"}
_LANGUAGES: Final = tag_set(
    "apacheconf applescript arduino awk bash bat c c# c++ clojure cobol coffeescript common-lisp console cpp "
    "csharp css dart delphi diff docker dockerfile elisp elixir erlang fortran go golang groovy haskell html ini "
    "java javascript js json kotlin latex less lisp lua make makefile markdown matlab mysql nasm nginx "
    "objective-c objectivec ocaml pascal perl php postgresql powershell ps1 py python r rb ruby rust sass scala "
    "scheme scss sh shell sql swift tcl tex toml ts typescript vb.net vbnet vbscript vim xml yaml zsh"
)


def coloured(pre: Element) -> Markup | None:
    """Return what is in a ``pre`` in colours; ``None`` where it names no language known here, or is more than code.

    What the code's own colours were goes: they were chosen by the blog's style sheet, which is not there.
    """
    children = [child for child in pre.children if not (isinstance(child, str) and not child.strip())]
    only = children[0] if len(children) == 1 and isinstance(children[0], Element) else pre
    name = _language(pre) or _language(only)
    if name is None:
        return None
    parts: list[str] = []
    for node in pre.walk():
        if isinstance(node, str):
            parts.append(node)
        elif node.tag not in _INSIDE or node.attributes.keys() - set(_ATTRIBUTES):
            return None
        elif node.tag == "br":
            parts.append("\n")
    code = "".join(parts)
    return None if len(code) > LONGEST or _NO_CODE.search(code) else _written(name, code)


def _language(element: Element) -> str | None:
    for name in _ATTRIBUTES:
        value = element.attributes.get(name, "").strip().lower()
        found = _NAMED.search(value) if name == "class" else None
        known = found[1] if found else value
        known = _OTHER_NAMES.get(known, known)
        if known in _LANGUAGES:
            return known
    return None


def _written(name: str, code: str) -> Markup | None:
    tokens = list(_lexer(name, "<?" in code).get_tokens(code))
    if "".join(text for _, text in tokens) != code:
        return None
    parts = []
    for shown, run in groupby(tokens, lambda token: _class(token[0]) if token[1].strip() else None):
        text = escape("".join(text for _, text in run), quote=False)
        parts.append(f'<span class="{shown}">{text}</span>' if shown else text)
    return Markup("".join(parts))  # noqa: S704  escaped above


@cache
def _lexer(name: str, tagged: bool) -> Lexer:
    """Return what reads a language; PHP begins at once where no tag begins it."""
    from pygments.lexers import get_lexer_by_name  # noqa: PLC0415  few blogs have code

    options = {"startinline": not tagged} if name == "php" else {}
    return get_lexer_by_name(name, stripnl=False, ensurenl=False, **options)


@cache
def _classes() -> dict[_TokenType, str]:
    from pygments.token import Comment, Generic, Keyword, Literal, Name, Number, Operator, String  # noqa: PLC0415

    return {
        Keyword: "ck", Operator.Word: "ck", Comment.Preproc: "ck", Name.Decorator: "ck", String: "cs", Literal: "cs",
        Comment: "cc", Number: "cm", Keyword.Constant: "cm", String.Escape: "cm", String.Interpol: "cm",
        Name.Function: "cn", Name.Class: "cn", Generic.Heading: "cn", Generic.Subheading: "cn", Name.Tag: "ct",
        Name.Attribute: "ct", Name.Builtin: "ct", Name.Variable: "ct", Generic.Prompt: "cc", Generic.Inserted: "ca",
        Generic.Deleted: "cd",
    }  # fmt: skip


@lru_cache(maxsize=512)
def _class(token: _TokenType) -> str | None:
    """Return the class of a kind of token, or of the kind that it is one of."""
    classes = _classes()
    return next((classes[each] for each in reversed(token.split()) if each in classes), None)
