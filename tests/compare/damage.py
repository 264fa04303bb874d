"""An entry with every kind of markup, and sixteen kinds of damage to it, each with the faults to find."""

from __future__ import annotations

import re
from collections.abc import Callable

from exporter.compare.posts import Fault

BODY = (
    "<h3>見出し</h3><p>前の<b>太字</b>と<i>斜体</i>と<s>消した字</s>と<code>符号</code>です。<br>次の行は"
    '<a href="https://other.example/a?b=1&amp;c=%E6%B5%B7">よそのページ</a>と<a href="mailto:a@example.jp">手紙</a>。</p>'
    '<p><a href="https://far.example/"><img src="https://pictures.example.jp/1.png" alt="港の絵"></a></p>'
    "<p><ruby>海<rt>うみ</rt></ruby>の<u>下線</u>と<mark>印</mark>、水は H<sub>2</sub>O で x<sup>2</sup>。</p>"
    "<ul><li>項目<ul><li>中の項目</li></ul></li><li>終わりの項目</li></ul><ol><li>番号</li></ol>"
    "<table><tr><th>頭</th><td>升</td></tr></table><blockquote><p>引いた文</p></blockquote><pre>a = 1\nb = 2</pre>"
    '<p>本文<sup id="r1"><a href="#n1">1</a></sup>の<span style="color:red">赤い字</span>。</p>'
    '<ol><li id="n1">注の文 <a href="#r1">↩</a></li></ol>'
)


def _without(tag: str) -> Callable[[str], str]:
    return lambda html: re.sub(rf"</?{tag}\b[^>]*>", "", html)


def _replaced(old: str, new: str) -> Callable[[str], str]:
    return lambda html: html.replace(old, new)


DAMAGES: dict[str, tuple[Callable[[str], str], set[Fault]]] = {
    "link removed": (
        lambda html: re.sub(r'<a href="https://other[^>]*>(.*?)</a>', r"\1", html), {Fault.LINK_ELSEWHERE},
    ),
    "link retargeted": (_replaced("https://other.example/a", "https://other.example/b"), {Fault.LINK_ELSEWHERE}),
    "bold removed": (_without("b"), {Fault.BOLD}),
    "italic removed": (_without("i"), {Fault.ITALIC}),
    "struck removed": (_without("s"), {Fault.STRUCK}),
    "code removed": (_without("code"), {Fault.CODE}),
    "heading level changed": (lambda html: re.sub(r"(</?)h3", r"\1h2", html), {Fault.HEADING}),
    "list flattened": (
        _replaced("<ul><li>中の項目</li></ul></li><li>", "</li><li>中の項目</li><li>"), {Fault.LIST},
    ),
    "table flattened": (lambda html: re.sub(r"</?t[rdh]>|</?table>", "<br>", html), {Fault.TABLE}),
    "picture's link removed": (
        lambda html: re.sub(r'<a href="https://far[^>]*>(.*?)</a>', r"\1", html), {Fault.LINK_ELSEWHERE},
    ),
    "ruby flattened": (_without("(?:ruby|rt)"), {Fault.RUBY}),
    "footnote lost": (lambda html: re.sub(r'<ol><li id="n1">.*?</ol>', "", html), {Fault.TEXT}),
    "alternative text lost": (_replaced("港の絵", ""), {Fault.TEXT}),
    "colour removed": (_without("span"), {Fault.STYLED}),
    "line break lost": (_replaced("<br>", " "), {Fault.LINE_BREAKS}),
    "order of paragraphs changed": (
        lambda html: re.sub(r"(<p><ruby>.*?</p>)(<ul>.*?</ul>)", r"\2\1", html), {Fault.TEXT},
    ),
}  # fmt: skip
