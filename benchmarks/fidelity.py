"""``python -m benchmarks.fidelity``: losses in Markdown that this program and others make from bodies.

GitHub's own renderer (cmark-gfm) makes HTML from the Markdown. Chromium then reads that HTML and the body, and counts
text, lines, bold letters, links, cells, code blocks, ruby, players, and links within the page. The bodies come from the
sample blog; others are made up, with all text that Markdown could read as markup, or with contents, footnotes and the
like. They are the same each time. ``make peers`` installs the other converters and the renderer.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from benchmarks import PEERS, SCRIPTS
from exporter.demo.content import demo_blog, fields
from exporter.export.post_html import as_html
from exporter.html.anchors import Numbering, wanted_places
from exporter.html.markdown import to_markdown
from exporter.service.registry import DEFAULT_SERVICE
from tests.html.bodies import make
from tests.site.browser.launching import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Page

OURS: Final = "ours"
OTHERS: Final = ("pandoc", "html-to-markdown", "markdownify", "html2text")
BODIES: Final = 331
_MADE_UP: Final = 150

_READ: Final = """([html, players]) => {
  const root = document.querySelector("main");
  root.innerHTML = html;
  const all = (what) => [...root.querySelectorAll(what)];
  const letters = (text) => text.normalize("NFC").replace(/[\\s\\u200b]+/g, "");
  const plays = (address) => players.find((each) => address.includes(each));
  const whole = (link) => new URL(link.getAttribute("href"), "https://blog.example/").href;
  const at = (link) => whole(link).replaceAll("[", "%5B").replaceAll("]", "%5D");
  for (const each of all("details")) each.open = true;
  const frames = all("iframe").map((each) => each.getAttribute("src"));
  const place = (link) => {
    const id = decodeURIComponent(link.getAttribute("href").slice(1));
    return id && all("[id], a[name]").some((each) => each.id === id || each.name === id);
  };
  const inside = all('a[href^="#"]').filter(place).length;
  const shown = [...frames, ...all("a[href]").map(at)].map(plays).filter(Boolean);
  // The words for a player are the converter's own, and so are signs of footnotes.
  for (const link of all("a[href]")) {
    if (plays(at(link))) link.remove();
    const sign = /^([[(（]?[*※]?\\d{0,2}[\\])）]?|↩.*)$/;
    if (link.getAttribute("href").startsWith("#") && sign.test(link.innerText.trim())) link.textContent = "\\ue000";
  }
  const plain = (text) => text.replace(/[[(]?\\ue000[\\])]?[:：]?/g, "");
  const bold = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (parent.closest("h1, h2, h3, h4, h5, h6, th, script, style")) continue;
    if (Number(getComputedStyle(parent).fontWeight) >= 600) bold.push(walker.currentNode.data);
  }
  return {
    text: [letters(plain(root.innerText))],
    lines: plain(root.innerText).split("\\n").map((line) => letters(line)).filter(Boolean),
    bold: [...letters(plain(bold.join("")))],
    links: all('a[href]:not([href^="#"])').map((link) => [letters(link.innerText), at(link)].join(" ")),
    cells: all("td, th").map((cell) => letters(cell.innerText)).filter(Boolean),
    pre: all("pre").map((each) => each.textContent.replace(/\\n+$/, "")),
    ruby: all("ruby").map((each) => letters(each.textContent)),
    players: [...new Set(shown)],
    inside: Array(inside).fill("link"),
  };
}"""
COLUMNS: Final = {
    "text": "text",
    "lines": "lines",
    "bold": "bold letters",
    "links": "links",
    "cells": "cells",
    "pre": "code blocks",
    "ruby": "ruby",
    "players": "players",
    "inside": "links inside",
}
"""The things that are counted, and their headings in the table."""

_WORDS: Final = (
    "朝から雨でした", "港まで歩いた", "去年の写真", "コーヒーを二杯", "10~12時ごろ", "A & B", "駅前の店", "ＣＤを２枚",
    "「また来てね」", "snake_case", "５０％引き！", "たぶん*無理*", "価格は1,980円", "〜つづく〜", "（笑）", "#日記",
    "https://www.example.com/a_b_c", "50 < 100", "1. はじめ", "♪",
)  # fmt: skip


def _said(chance: random.Random) -> str:
    words = "、".join(chance.sample(_WORDS, chance.randint(2, 4))).replace("&", "&amp;").replace("<", "&lt;")
    return f"{words}。"


def _table(chance: random.Random) -> str:
    rows = "".join(f"<tr><td>{_said(chance)}</td><td><b>{_said(chance)}</b></td></tr>" for _ in range(3))
    return chance.choice(
        [
            f'<table border="1"><tr><th>{_said(chance)}</th><th>数</th></tr>{rows}</table>',
            f"<table><tr><td colspan=2>{_said(chance)}</td></tr>{rows}</table>",
            f"<table><tbody><tr><td>{_said(chance)}<br>{_said(chance)}</td><td>a | b</td></tr>{rows}</tbody></table>",
        ]
    )


def _player(chance: random.Random) -> str:
    name = f"v{chance.randrange(10**8):08}"
    return chance.choice(
        [
            f'<iframe width="560" height="315" src="https://www.youtube.com/embed/{name}" allowfullscreen></iframe>',
            f'<p><iframe src="https://player.example.com/{name}" title="動画"></iframe></p>',
        ]
    )


_BLOCKS: Final[tuple[Callable[[random.Random], str], ...]] = (
    lambda chance: f"<p>{_said(chance)}<b>{_said(chance)}</b>{_said(chance)}</p>\r\n",
    lambda chance: "<br />\r\n".join(_said(chance) for _ in range(4)) + "<br />\r\n<br />\r\n",
    lambda chance: f'<div><font color="#ff6699" size="4"><b>{_said(chance)}</b></font><br>{_said(chance)}</div>',
    lambda chance: f'<p><span style="font-weight:bold;color:red">{_said(chance)}</span>{_said(chance)}</p>',
    lambda chance: (
        f"<p><ruby>港<rp>(</rp><rt>みなと</rt><rp>)</rp></ruby>と<ruby>海<rt>うみ</rt></ruby>{_said(chance)}</p>"
    ),
    lambda chance: (
        f'<p><a href="https://www.example.com/map?a=1&amp;b=[{chance.randrange(99)}]">{_said(chance)}</a></p>'
    ),
    lambda chance: (
        f"<ul><li>{_said(chance)}<ol><li>{_said(chance)}<li>{_said(chance)}</ol><li><b>{_said(chance)}</b></ul>"
    ),
    lambda chance: f"<pre>def f(x):\n    return x * 2 # {_said(chance)}\n\n\n```\n</pre>",
    lambda chance: f'<pre class="brush: js"><code>if (a &lt; {chance.randrange(9)}) {{\n\tb();\n}}</code></pre>',
    lambda chance: f"<blockquote>{_said(chance)}<br>{_said(chance)}<p>{_said(chance)}</p></blockquote><hr>",
    _table,
    _player,
)
_HATENA = (
    '<p>{0}<span class="footnote"><a href="#f-1" id="fn-1" name="fn-1">*1</a></span>。</p><div class="footnote">'
    '<p class="footnote"><a href="#fn-1" id="f-1" name="f-1">*1</a><span>:</span><span>{0}</span></p></div>'
)
_WORDPRESS = (
    '<p>{0}<sup class="fn"><a href="#u" id="u-link">1</a></sup>、{0}<sup><a href="#v" id="v-link">2</a></sup></p>'
    '<ol class="wp-block-footnotes"><li id="u">{0} <a href="#u-link">↩︎</a></li>'
    '<li id="v">{0} <a href="#v-link">↩︎</a></li></ol>'
)
_NAMED = '<p>{0}<a href="#chu">注を見る</a></p><p>{0}</p><p><a name="chu"></a>注 {0}</p>'
_IN_TABLE = (
    '<p id="ue">{0}</p><table><tr><td id="cell">{0}</td></tr></table>'
    '<p><a href="#cell">表</a> <a href="#ue">上へ</a></p>'
)
_NOTES: Final = (_HATENA, _WORDPRESS, _NAMED, _IN_TABLE)
_PLACES: Final = {"h1": "h1", "二": "二", "三": "%E4%B8%89"}
"""Ids of headings, and the links to them."""


def _post(chance: random.Random) -> str:
    """Return a post with the features of posts from fifteen years."""
    blocks = "".join(make_block(chance) for make_block in chance.sample(_BLOCKS, chance.randint(3, 8)))
    if chance.random() < 0.5:
        names = [f"{_said(chance)}{number}" for number in range(len(_PLACES))]
        links = (f'<li><a href="#{place}">{name}</a></li>' for place, name in zip(_PLACES.values(), names, strict=True))
        parts = (
            f"<h3 id={place}>{name}</h3><p>{_said(chance)}</p>" for place, name in zip(_PLACES, names, strict=True)
        )
        blocks = f"<ul>{''.join(links)}</ul>{''.join(parts)}{blocks}"
    return blocks + (chance.choice(_NOTES).format(_said(chance)) if chance.random() < 0.6 else "")


def bodies() -> list[str]:
    """Return the bodies, the same each time."""
    chance = random.Random(15)
    posts = [DEFAULT_SERVICE.post(fields(raw)) for raw in demo_blog().entries.values()]
    found = [body for post in posts for body in (post.body, post.more) if body.strip()]
    found += [make(seed).html for seed in range(_MADE_UP)]
    return found + [_post(chance) for _ in range(BODIES - len(found))]


def ours(body: str) -> str:
    """Return the Markdown of the Markdown view."""
    return to_markdown(body, places=wanted_places(body), footnotes=Numbering()).text


def converted(tool: str, texts: Sequence[str]) -> list[str]:
    """Return the output of a converter from the other environments for each text."""
    with TemporaryDirectory() as folder:
        given, made = Path(folder, "given"), Path(folder, "made")
        given.write_text("\n".join(map(json.dumps, texts)), "utf-8")
        program = ["node", str(SCRIPTS / "turndown.mjs")]
        if tool != "turndown":
            program = [str(PEERS / "bin" / "python"), str(SCRIPTS / "convert.py"), tool]
        subprocess.run([*program, str(given), str(made)], check=True, stdout=subprocess.DEVNULL)
        return [json.loads(line) for line in made.read_text("utf-8").splitlines()]


def read(page: Page, html: str, players: Sequence[str]) -> dict[str, list[str]]:
    """Return the things that a browser shows of HTML, by column; ``players`` names the players in the body."""
    found: dict[str, list[str]] = page.evaluate(_READ, [html, players])
    return found


def lost(given: Sequence[str], found: Sequence[str]) -> int:
    """Return how many things of a body are missing from its conversion."""
    return (Counter(given) - Counter(found)).total()


def rows(said: Callable[[str], None]) -> Iterator[tuple[str, Mapping[str, tuple[int, int]]]]:
    """Yield each converter with the lost and total numbers by column; ``said`` receives each loss of this program."""
    sources = bodies()
    with chromium(None) as browser:
        page = browser.new_page()
        page.route("**/*", lambda route: route.abort())
        page.set_content("<main></main>")
        given = []
        for source in sources:
            players: list[str] = page.evaluate(
                "html => [...new DOMParser().parseFromString(html, 'text/html').querySelectorAll('iframe')]"
                ".map((each) => each.getAttribute('src').split('/').pop())",
                source,
            )
            given.append((players, read(page, as_html(source), players)))
        for tool in (OURS, *OTHERS, "turndown"):
            texts = list(map(ours, sources)) if tool == OURS else converted(tool, list(map(as_html, sources)))
            total: dict[str, tuple[int, int]] = dict.fromkeys(COLUMNS, (0, 0))
            for (players, there), html, body in zip(given, converted("gfm", texts), sources, strict=True):
                found = read(page, html, players)
                for name, (missing, of) in total.items():
                    less = lost(there[name], found[name])
                    total[name] = (missing + less, of + len(there[name]))
                    if less and tool == OURS:
                        said(json.dumps([name, there[name], found[name], body], ensure_ascii=False))
            yield tool, total


def main(arguments: Sequence[str]) -> int:
    """Print the table of losses."""
    parser = ArgumentParser(prog="python -m benchmarks.fidelity", description=__doc__)
    parser.add_argument("--losses", action="store_true", help="say what ours loses, to standard error")
    options = parser.parse_args(arguments)
    said: Callable[[str], Any] = (lambda line: sys.stderr.write(f"{line}\n")) if options.losses else (lambda _: None)
    header = False
    for tool, total in rows(said):
        if not header:
            header = True
            sys.stdout.write(
                f"| lost of | {' | '.join(f'{name} ({total[key][1]:,})' for key, name in COLUMNS.items())} |\n"
            )
            sys.stdout.write(f"|---|{'---|' * len(COLUMNS)}\n")
        sys.stdout.write(f"| {tool} | {' | '.join(f'{total[key][0]:,}' for key in COLUMNS)} |\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
