"""Bodies with the length and the markup of real Japanese blogs, made from their measured shares. Pure.

Lengths follow a log-normal distribution: half of the posts have fewer than 3,400 characters with their markup, the
mean is about 4,600, and one in fifty has more than 16,000. Half of the characters are markup, as the editors of fifteen
years wrote it: ``font`` and ``center`` beside ``span`` with inline styles, line breaks in place of paragraphs, cards of
links, boxes of shops, players, tables, footnotes, headings with anchors, ruby, code, and character references.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from math import log
from typing import Final

MEDIAN_CHARACTERS: Final = 3_300
_SIGMA: Final = 0.77
_SHORTEST, _LONGEST = 120, 40_000

_SUBJECTS = (
    "今日は", "昨日の夜、", "先週末に", "久しぶりに", "うちの猫が", "子どもたちと", "駅前の店で",
    "母から電話があって、",
    "会社の帰りに", "台風が過ぎて、", "このブログも", "前から気になっていた", "旅行の二日目は",
    "友人のＫさんが", "なんと！",
    "それにしても", "朝五時に起きて", "ラジオを聞きながら", "結論から言うと、", "ちなみに、",
    "図書館で借りた本を", "毎年この時期になると",
)  # fmt: skip
_OBJECTS = (
    "海岸まで歩いて", "新しいレンズを試しながら", "ホットケーキを焼いて", "古い写真を整理して",
    "庭のトマトに水をやって", "商店街のくじ引きで",
    "十年前の日記を読み返して", "ライブのチケットを取って", "限定のラーメンを食べて", "パソコンを修理に出して",
    "『銀河鉄道の夜』を読んで",
    "県立美術館の展示を見て", "サッカーの試合を応援して", "スーパーの特売で卵を２パック買って",
    "マフラーを編みながら", "レシピどおりに作って",
)  # fmt: skip
_ENDINGS = (
    "きました。", "しまいました（笑）", "みようと思います！", "とても楽しかったです♪",
    "いろいろ考えさせられました。", "気づいたら夕方でした…。",
    "写真を撮り忘れました(&gt;_&lt;)", "また報告しますね。", "みなさんはどうですか？", "本当においしかった～。",
    "のんびり過ごしました。",
    "筋肉痛です＾＾；", "これで 1,980円は安い。", "来年もきっと行きます。", "続きはまた明日&hellip;",
    "疲れたけど満足です✨",
)  # fmt: skip
_WORDS = (
    "おすすめ", "まとめ", "準備するもの", "感想", "アクセス", "営業時間", "材料（２人分）", "作り方",
    "使ってみた結果", "おわりに", "よくある質問",
    "PENTAX K-70", "Raspberry Pi", "京都", "鎌倉・江ノ島", "第３話", "1日目", "追記", "購入したもの", "失敗したこと",
)  # fmt: skip
_REFERENCES = (
    "&nbsp;",
    "&nbsp;&nbsp;",
    "&amp;",
    "&quot;",
    "&hearts;",
    "&#9835;",
    "&times;",
    "&yen;",
    "&copy;",
    "🎉",
    "😊",
)
_COLOURS = ("#ff6699", "#333333", "red", "#0066cc", "#ff0000", "rgb(0, 128, 0)", "#f39800")
_SITES = (
    "https://www.example.com/shop/item?id=%d&amp;ref=blog", "http://blog.example.jp/diary/entry-%d.html",
    "https://recipe.example.jp/%d/", "https://www.example.org/wiki/%d",
    "https://map.example.com/?q=35.%d,139.7&amp;z=15",
)  # fmt: skip
_CODE = (
    "def main():\n    for path in sorted(folder.glob('*.jpg')):\n        print(path.name, path.stat().st_size)\n",
    "$ sudo apt-get update &amp;&amp; sudo apt-get install -y nginx\n$ systemctl status nginx\n",
    ".entry-body p {\n  margin: 0 0 1.5em;\n  line-height: 1.8;\n}\n",
)

Block = Callable[[random.Random], str]


def real_body(chance: random.Random, pictures: str) -> str:
    """Return the text of an entry.

    Args:
        chance: decides everything.
        pictures: the origin of the pictures; ``@id@`` in their addresses stands for the entry's number.
    """
    wanted = min(_LONGEST, max(_SHORTEST, round(chance.lognormvariate(log(MEDIAN_CHARACTERS), _SIGMA))))
    style = chance.choice((_OLD, _NEW, _RICH))
    blocks = [_photo(chance, pictures)] if chance.random() < 0.7 else [_lines(chance)]
    length, notes = len(blocks[0]), 0
    while length < wanted:
        made: str
        if chance.random() < 0.05:
            made = _photo(chance, pictures)
        elif style is _RICH and chance.random() < 0.04:
            notes += 1
            made = _noted(chance, notes)
        else:
            made = chance.choices(*style)[0](chance)
        blocks.append(made)
        length += len(made)
    if notes:
        blocks.append(_notes(chance, notes))
    return "".join(blocks)


def _sentence(chance: random.Random) -> str:
    text = chance.choice(_SUBJECTS) + chance.choice(_OBJECTS) + chance.choice(_ENDINGS)
    if chance.random() < 0.12:
        text += chance.choice(_REFERENCES)
    return text


def _text(chance: random.Random, least: int = 1, most: int = 4) -> str:
    return "".join(_inline(chance, _sentence(chance)) for _ in range(chance.randint(least, most)))


def _inline(chance: random.Random, text: str) -> str:
    at = chance.random()
    if at > 0.3:
        return text
    colour, link = chance.choice(_COLOURS), chance.choice(_SITES) % chance.randrange(100_000)
    return (
        f"<strong>{text}</strong>" if at < 0.06
        else f'<span style="color: {colour};">{text}</span>' if at < 0.11
        else f'<a href="{link}" target="_blank" rel="noopener">{text}</a>' if at < 0.17
        else f'<font color="{colour}"><b>{text}</b></font>' if at < 0.20
        else f'<span style="font-size: 1.4em; background-color: #ffff99;"><b>{text}</b></span>' if at < 0.23
        else f'<a class="keyword" href="http://d.example.jp/keyword/{text[:2]}">{text[:2]}</a>{text[2:]}' if at < 0.26
        else f"<ruby>海月<rt>くらげ</rt></ruby>の話。{text}" if at < 0.27
        else f"<i>{text}</i>" if at < 0.28
        else f"<s>{text}</s>"
    )  # fmt: skip


def _lines(chance: random.Random) -> str:
    end = chance.choice(("<br />\r\n", "<br>\n", "<br>"))
    return end.join(_text(chance, 1, 2) for _ in range(chance.randint(2, 6))) + end * chance.randint(1, 4)


def _paragraphs(chance: random.Random) -> str:
    return "".join(f"<p>{_text(chance)}</p>\n" for _ in range(chance.randint(1, 3)))


def _divs(chance: random.Random) -> str:
    return "".join(f"<div>{_text(chance, 1, 2)}</div>\n<div><br></div>\n" for _ in range(chance.randint(1, 4)))


def _styled_paragraph(chance: random.Random) -> str:
    style = "line-height: 1.8; margin-bottom: 1.5em; text-align: left; font-family: 'メイリオ', sans-serif;"
    return f'<p style="{style}"><span style="font-size: 16px;">{_text(chance)}</span></p>\n'


def _heading(chance: random.Random) -> str:
    level, place = chance.choice((2, 3, 3, 4)), chance.randrange(10_000)
    return f'<h{level} id="toc-{place}"><span class="fz-20px">{chance.choice(_WORDS)}</span></h{level}>\n'


def _old_heading(chance: random.Random) -> str:
    return f'<font size="4" color="{chance.choice(_COLOURS)}"><b>■{chance.choice(_WORDS)}</b></font><br />\r\n'


def _photo(chance: random.Random, pictures: str) -> str:
    width = chance.choice((320, 400, 480, 640))
    number = chance.choice(("@id@", "@id@", "emoji/0", "emoji/1", "emoji/2", "emoji/3"))
    shown = f'<img src="{pictures}/{number}.png" alt="写真" border="0" width="{width}" height="{width * 3 // 4}">'
    if number != "@id@":
        return f"{_sentence(chance)}{shown}<br />\r\n"
    link = f'<a href="{pictures}/@id@.png" target="_blank" title="写真">{shown}</a>'
    return chance.choice((
        f'<div align="center">{link}<br /><font size="1" color="#888888">{_sentence(chance)}</font></div>\r\n',
        f'<figure class="figure-image" title="写真">{link}<figcaption>{chance.choice(_WORDS)}</figcaption></figure>\n',
        f'<p style="text-align: center;">{link}</p>\n',
    ))  # fmt: skip


def _list(chance: random.Random) -> str:
    tag = chance.choice(("ul", "ul", "ol"))
    items = "".join(f"<li>{_text(chance, 1, 1)}</li>\n" for _ in range(chance.randint(2, 7)))
    return f"<{tag}>\n{items}</{tag}>\n"


def _table(chance: random.Random) -> str:
    rows = "".join(
        f'<tr><td bgcolor="#ffeeee" width="30%"><b>{chance.choice(_WORDS)}</b></td><td>{_sentence(chance)}</td>'
        f'<td align="right">{chance.randrange(10_000):,}円</td></tr>\n'
        for _ in range(chance.randint(2, 10))
    )
    return f'<table border="1" cellpadding="2" cellspacing="0" width="90%"><tbody>\n{rows}</tbody></table>\n'


def _quote(chance: random.Random) -> str:
    return f'<blockquote cite="{chance.choice(_SITES) % 7}"><p>{_text(chance, 1, 3)}</p></blockquote>\n'


def _player(chance: random.Random) -> str:
    code = f"{chance.getrandbits(60):011x}"[:11]
    video = (
        f'<iframe width="560" height="315" src="https://www.youtube.com/embed/{code}" frameborder="0" '
        'allow="accelerometer; autoplay; encrypted-media" allowfullscreen></iframe><br />\n'
    )
    flash = (
        f'<object width="425" height="350"><param name="movie" value="http://www.youtube.com/v/{code}">'
        f'<embed src="http://www.youtube.com/v/{code}" type="application/x-shockwave-flash" width="425" height="350">'
        "</object><br>\r\n"
    )
    status = f"https://twitter.com/shio/status/{int(code, 16)}"
    said = (
        f'<blockquote class="twitter-tweet" data-lang="ja"><p lang="ja" dir="ltr">{_sentence(chance)}</p>'
        f'&mdash; 潮 (@shio) <a href="{status}">2016年4月1日</a></blockquote>\n'
        '<script async src="https://platform.twitter.com/widgets.js" charset="utf-8"></script>\n'
    )
    return chance.choice((video, flash, said))


def _card(chance: random.Random) -> str:
    link = chance.choice(_SITES) % chance.randrange(100_000)
    return (
        f'<p><iframe class="embed-card" src="https://card.example.com/embed?url={link}" title="{_sentence(chance)}" '
        'style="display: block; width: 100%; height: 155px; max-width: 500px; margin: 10px 0px;" scrolling="no" '
        f'frameborder="0"></iframe><cite class="card-citation"><a href="{link}">card.example.com</a></cite></p>\n'
    )


def _shop(chance: random.Random) -> str:
    link = f"https://shop.example.com/dp/B{chance.randrange(10**8):08d}/?tag=shio-22"
    return (
        '<div class="shop-box" style="text-align:left;padding-bottom:20px;font-size:small;overflow:hidden;">'
        f'<div style="float:left;margin:0px 15px 10px 0px;"><a href="{link}" rel="nofollow" target="_blank">'
        '<img src="https://images.example.com/160.jpg" style="border:none;" width="120" height="160"></a></div>'
        f'<div style="line-height:120%;"><a href="{link}">{chance.choice(_WORDS)} {_sentence(chance)}</a>'
        f'<div style="font-size:8pt;margin-top:5px;">posted at 2015.{chance.randint(1, 12)}.1</div>'
        '</div><div style="clear:left"></div></div>\n'
    )


def _code(chance: random.Random) -> str:
    return f'<pre class="code lang-python" data-lang="python">{chance.choice(_CODE)}</pre>\n'


def _centred(chance: random.Random) -> str:
    return f"<center>☆*:;;;:*☆*:;;;:*☆<br>\r\n{_text(chance, 1, 2)}<br>\r\n</center>\r\n<hr size=1 noshade>\r\n"


def _folded(chance: random.Random) -> str:
    return f"<dl><dt>{chance.choice(_WORDS)}</dt><dd>{_text(chance, 1, 2)}</dd></dl>\n"


def _noted(chance: random.Random, number: int) -> str:
    said = _sentence(chance)
    mark = f'<a href="#f-{number}" id="fn-{number}" name="fn-{number}" title="{said}">*{number}</a>'
    return f'<p>{_text(chance, 1, 2)}<span class="footnote">{mark}</span></p>\n'


def _notes(chance: random.Random, count: int) -> str:
    lines = "".join(
        f'<p class="footnote"><a href="#fn-{number}" id="f-{number}" name="f-{number}" class="note">*{number}</a>'
        f'<span class="footnote-delimiter">:</span><span class="footnote-text">{_sentence(chance)}</span></p>\n'
        for number in range(1, count + 1)
    )
    return f'<div class="footnotes">\n{lines}</div>\n'


_Style = tuple[tuple[Block, ...], tuple[int, ...]]
_OLD: Final[_Style] = (
    (_lines, _divs, _old_heading, _table, _list, _player, _centred, _shop, _quote), (60, 14, 9, 2, 2, 3, 3, 2, 2)
)  # fmt: skip
_NEW: Final[_Style] = (
    (_paragraphs, _styled_paragraph, _heading, _list, _table, _player, _card, _shop, _quote, _code),
    (50, 12, 12, 5, 3, 3, 4, 3, 4, 2),
)
_RICH: Final[_Style] = (
    (_paragraphs, _lines, _divs, _heading, _list, _table, _player, _card, _quote, _folded, _code, _styled_paragraph),
    (38, 14, 8, 9, 6, 4, 3, 3, 4, 2, 3, 10),
)
