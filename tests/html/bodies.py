"""Made-up bodies in the manner of old and new Japanese blogs, each with the things that a reader saw in it.

The expected result is recorded while the body is made, so it does not depend on any parser.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from html import escape

WORDS = [
    "今日は", "「重要」", "です。", "昨日の続き", "（笑）", "カメラ", "※注意", "50%OFF!", "写真", "*印*", "a_b_c", "5*3=15", "1. はじめに",
    "- 箇条", "# 見出し風", "> 引用風", "C++", "~波~", "1~2", "10~20", "`code`", "[追記]", "[a](b)", "![絵](c)", "x<y", "A&B", "&copy;", "\\円",
    "|区切り|", "==", "---", "http://example.com/a_b?c=d&e=f", "😀", "🍣！", "ＡＢＣ", "ｶﾅ", "…", "『本』", "①", "Hello, world.", "1)", "+1",
    "__init__", "**強調**", "〜", "$5", "<b>", "㍻", "é", "“引用”", "::", "|--|--|", "\u200b", "が", "の", "を", "text", "12月", "!", "！", "~~~", "___",
]  # fmt: skip


@dataclass
class Body:
    html: str = ""
    text: str = ""
    bold: str = ""
    cells: list[str] = field(default_factory=list)


class Maker:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.body = Body()
        self.bold = 0
        self.cell: list[int] = []

    def make(self) -> Body:
        for _ in range(self.rng.randint(2, 9)):
            self.block(0)
        return self.body

    def tag(self, html: str) -> None:
        self.body.html += html

    def say(self, text: str) -> None:
        self.body.html += escape(text, quote=False)
        self.body.text += text
        if self.bold:
            self.body.bold += text
        for cell in self.cell:
            self.body.cells[cell] += text

    def words(self, most: int = 6) -> None:
        for _ in range(self.rng.randint(1, most)):
            self.say(self.rng.choice(WORDS) + self.rng.choice(["", "", "", " ", "\n", "　"]))

    def inline(self) -> None:
        for _ in range(self.rng.randint(1, 4)):
            self.rng.choice(
                [
                    self.words, self.words, self.words, self.strong, self.strong, self.span, self.link, self.line_break, self.image, self.ruby, self.code,
                ]
            )()  # fmt: skip

    def nested(self) -> None:
        if self.rng.random() < 0.3:
            self.strong() if self.rng.random() < 0.4 else self.span()
        self.words(3)
        if self.rng.random() < 0.2:
            self.link()

    def strong(self) -> None:
        tag = self.rng.choice(["b", "B", "strong", "STRONG"])
        self.tag(f"<{tag}>")
        self.bold += 1
        self.rng.choice([self.words, self.words, self.nested])()
        self.bold -= 1
        self.tag(f"</{tag}>")

    def span(self) -> None:
        opening = self.rng.choice(
            ["i", "em", "u", "s", "del", "small", "sub", "sup", "kbd", "big", "font color=red size=5", "FONT COLOR='#ff0000'",
             "span style='color:red'", "span class=x", "blink", "x-note id=1"]
        )  # fmt: skip
        self.tag(f"<{opening}>")
        self.rng.choice([self.words, self.words, self.strong])()
        self.tag(f"</{opening.split()[0]}>")

    def link(self) -> None:
        if "<a " in self.body.html and self.body.html.rfind("<a ") > self.body.html.rfind("</a>"):
            return
        url = self.rng.choice(
            [
                "http://example.com/a(b)",
                "/x y",
                "https://ja.wikipedia.org/wiki/日本_(国)",
                "http://e.com/?a=1&amp;b=[2]",
            ]
        )
        self.tag(f'<a href="{url}" target=_blank>')
        self.rng.choice([self.words, self.strong])()
        self.tag("</a>")

    def line_break(self) -> None:
        self.tag(self.rng.choice(["<br>", "<BR>", "<br />", "<br><br>", "<br>\n<br>\n<br>"]))

    def image(self) -> None:
        self.tag('<img src="http://example.com/(1).gif" alt="[絵] *1*" border=0>')

    def ruby(self) -> None:
        self.tag("<ruby>")
        self.say("漢字")
        self.tag("<rp>")
        self.say("(")
        self.tag("</rp><rt>")
        self.say("かん*じ*")
        self.tag("</rt><rp>")
        self.say(")")
        self.tag("</rp></ruby>")

    def code(self) -> None:
        self.tag("<code>")
        self.say(self.rng.choice(["a = b", "`x`", "``", "print('<b>')", "**a**", "x|y", "\\"]))
        self.tag("</code>")

    def block(self, depth: int) -> None:
        simple = [
            self.paragraph,
            self.paragraph,
            self.paragraph,
            self.lines,
            self.heading,
            self.unclosed,
            self.centered,
            self.rule,
        ]
        deep = [
            self.bullets,
            self.quote,
            self.table,
            self.spanned,
            self.pre,
            self.details,
            self.definition,
            self.script,
        ]
        self.rng.choice(simple + deep if depth < 2 else simple)() if depth else self.rng.choice(
            simple + simple + deep
        )()

    def paragraph(self) -> None:
        tag = self.rng.choice(["p", "P", "div", "p align=center"])
        self.tag(f"<{tag}>")
        self.inline()
        self.tag(f"</{tag.split()[0]}>\n")

    def unclosed(self) -> None:
        self.tag("<p>　")
        self.inline()

    def lines(self) -> None:
        self.tag("<div></div>")
        for _ in range(self.rng.randint(1, 4)):
            self.inline()
            self.tag("<br>\n")
        self.tag("<div></div>")

    def heading(self) -> None:
        level = self.rng.randint(1, 6)
        self.tag(f"<h{level}>")
        self.inline()
        self.tag(f"</h{level}>")

    def centered(self) -> None:
        self.tag("<center>")
        self.inline()
        self.tag("</center>")

    def rule(self) -> None:
        self.tag("<HR>")

    def script(self) -> None:
        self.tag("<script>document.write('<b>x</b>')</script><style>b{color:red}</style>")

    def bullets(self) -> None:
        tag = self.rng.choice(["ul", "ol", "UL", "ol start=7"])
        self.tag(f"<{tag}>")
        for _ in range(self.rng.randint(1, 4)):
            self.tag("<li>")
            self.inline()
            if self.rng.random() < 0.3:
                self.block(1)
            if self.rng.random() < 0.5:
                self.tag("</li>\n")
        self.tag(f"</{tag.split()[0]}>")

    def quote(self) -> None:
        self.tag("<blockquote>")
        self.inline()
        self.block(1)
        self.tag("</blockquote>")

    def cells(self, tag: str, count: int, attributes: str = "") -> None:
        for number in range(count):
            self.tag(f"<{tag}{attributes if not number else ''}>")
            self.cell.append(len(self.body.cells))
            self.body.cells.append("")
            self.inline()
            self.cell.pop()
            if self.rng.random() < 0.5:
                self.tag(f"</{tag}>")

    def table(self) -> None:
        width = self.rng.randint(1, 4)
        self.tag("<table border=1>\n")
        for row in range(self.rng.randint(1, 4)):
            self.tag("<tr>")
            self.cells("th" if row == 0 else "td", width)
            self.tag("</tr>\n" if self.rng.random() < 0.5 else "")
        self.tag("</table>")

    def spanned(self) -> None:
        self.tag("<TABLE><TR>")
        self.cells("td", 2, " colspan=2")
        self.tag("<TR>")
        self.cells("TD", 3)
        self.tag("</TABLE>")

    def pre(self) -> None:
        self.tag("<pre>")
        self.say(self.rng.choice(["def f():\n    return 1\n\n\n```\n", "*  *\n  |--|", "<a>\n# x"]))
        if self.rng.random() < 0.3:
            self.strong()
        self.tag("</pre>")

    def details(self) -> None:
        self.tag("<details><summary>")
        self.words()
        self.tag("</summary><p>")
        self.inline()
        self.tag("</p>\n\n<p>")
        self.inline()
        self.tag("</p></details>")

    def definition(self) -> None:
        self.tag("<dl><dt>")
        self.inline()
        self.tag("<dd>")
        self.inline()
        self.tag("</dl>")


def make(seed: int) -> Body:
    return Maker(seed).make()
