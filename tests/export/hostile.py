"""Forty entries that importers are known to trip over, and a few plain ones; every text contains a unique word."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from tests.export.memory import Made, Memory, export

_PART: Final = 500
"""The length of the body's start in the second and third comment; only the longest bodies are cut."""

BODIES: Final[tuple[str, ...]] = (
    "-----\n--------\n<p>区切り</p>",
    "TITLE: にせの題\nSTATUS: Draft\nDATE: 01/01/2000 00:00:00 AM",
    "<p>COMMENT:\nAUTHOR: だれか\n-----</p>",
    "]]> で終わる ]]]]><![CDATA[> CDATA",
    "<![CDATA[ 中 ]]>",
    "制御\x00\x01\x0b\x0c\x1f\x7f\x85文字\ufffe\uffff",
    "絵文字のかけら \ud83d だけ",
    "<p>" + "長い一行。" * 1500 + "</p>",
    "長い一行、しるしなし" * 800,
    "<p>" + "<b>太</b>字" * 300 + "</p>",
    "<pre>一行目\n\n\n  四行目\n\t五行目\n-----\nBODY:\n</pre>",
    "{{< shortcode >}} {{% other %}} {{ .Title }}",
    "<pre><code>{{&lt; ref \"a\" &gt;}}\n{% raw %}{{ page }}{% endraw %}</code></pre>",
    "{% include \"x\" %} {{ content }} {% endraw %}",
    "<!--more--> と <!--nextpage--> と <!-- コメント --",
    "=cmd|' /C calc'!A0",
    "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r\n=1",
    '"引用", カンマ; セミコロン\tタブ',
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "<div><span><b>閉じない<i>タグ",
    "<table><tr><td>一<table><tr><td>二</table></table>",
    "---\ntitle: にせ\n---\n",
    "+++\ntitle = 'にせ'\n+++",
    "[TOC]\n\n{filename}x.md |filename|x.md",
    "'; DROP TABLE entries; --",
    "&lt;b&gt; &amp;amp; &#x1F600; &copy &nbsp;",
    "\u202e右から\u202c \u200b零幅 \ufeff",
    "",
    "\n\n\n",
    "<br>" * 200,
    "URL: http://example.com/\nIP: 1.2.3.4\nEMAIL: a@b.c\nCATEGORY: 偽",
    "  -----  \n\u3000-----",
    "<p>一\r\n二\r三\n四</p>",
    "<a href=\"javascript:alert(1)\">押す</a> <a\nhref='x'\nTITLE='TITLE: y'>z</a>",
    "<style>p{color:red}\n-----\n</style><p>飾り</p>",
    "ＡＢＣ ｱｲｳ 𠮟る 葛󠄀 👨‍👩‍👧‍👦",
)  # fmt: skip
TITLES: Final[tuple[str, ...]] = (
    "題", "題", "だい", "ダイ", "", "", "no", "2024-01-01", "- 'x': \"y\" #z", "a\nb\r\nc", "]]>", "<b>&amp;</b>", "=1+1", "TITLE: x",
    "{{< x >}}", "長" * 400, "\ud83d", "\x00\x1b[31m", "../../etc/passwd", "CON", "-----", "{% x %}", "|", "\u202etxt", "%s", "😀", "   ", "\u3000",
)  # fmt: skip
NAMES: Final = ("カモメ", "", "<b>x</b>", "a\nTITLE: x", "=1", "\ud83d", "]]>", '"')


def entry_word(number: int) -> str:
    return f"zqe{number}eqz"


def comment_word(number: int) -> str:
    return f"zqc{number}cqz"


@cache
def hostile_blog() -> Memory:
    """Return forty hostile entries, three comments each, all public; a picture in each fourth entry."""
    made = Memory()
    for number, body in enumerate(BODIES, 1):
        title = TITLES[number % len(TITLES)]
        shown = ""
        if number % 4 == 0:
            url = f"https://files.example.jp/v1/{number}"
            made.picture(url, entry_id=str(number), file_id=str(number), data=None if number % 8 == 0 else b"x")
            shown = f'<img src="{url}" alt="絵">'
        made.entry(
            str(number),
            title=title,
            entry_text=f"{entry_word(number)} {body}{shown}",
            ps_title="続き --> を読む" if number % 3 == 0 else "",
            ps_text=f"-----\nBODY:\n{body}" if number % 3 == 0 else "",
            category=("日記", "旅 & <食>", "長" * 100)[number % 3],
            sec="00",
            name=f"entry-{number % 7}",
        )
        for place in range(3):
            cm_id = 3 * number + place
            made.comment(
                str(cm_id),
                str(number),
                name=NAMES[cm_id % len(NAMES)],
                title="=題" if place == 2 else "",
                cm_text=f"{comment_word(cm_id)} {body if place == 0 else body[:_PART]}",
                url_text=("https://mameko.example/", "javascript:alert(1)", "=x")[place],
            )
    return made


@cache
def hostile_export(form: str, **options: Any) -> Made:
    """Return an export of the hostile blog, made once; it must not be changed, and the options must be hashable."""
    return export(form, hostile_blog(), **options)


FLAGS: Final[tuple[Any, ...]] = ("t", "f", "1", "", None)


@cache
def flagged_blog() -> tuple[Memory, set[int], set[int]]:
    """Return a blog with every combination of flags, and the numbers of the entries and comments that are public."""
    made = Memory()
    entries, comments = set(), set()
    number = 0
    for private in FLAGS:
        for opened in FLAGS:
            for period in FLAGS:
                number += 1
                word = entry_word(number)
                url = f"https://files.example.jp/{word}.png"
                made.picture(url, entry_id=str(number), file_id=str(number))
                made.entry(str(number), title=f"題{word}", entry_text=f'<p>{word}</p><img src="{url}">', ps_text=word,
                           name=word, is_private=private, open_flg=opened, period_flg=period, hour="01",
                           sec=f"{number % 60:02}", min=f"{number // 60:02}", category=f"類{word}")  # fmt: skip
                public = private == "f" and opened == "1" and period == "f"
                if public:
                    entries.add(number)
                # A visible comment is the one that a private entry could let through.
                for flag in FLAGS if public or number % 10 == 1 else ("f",):
                    cm_id = 10 * number + FLAGS.index(flag)
                    made.comment(str(cm_id), str(number), name=comment_word(cm_id), title=comment_word(cm_id),
                                 cm_text=comment_word(cm_id), delete_flg=flag)  # fmt: skip
                    if public and flag == "f":
                        comments.add(cm_id)
    return made, entries, comments
