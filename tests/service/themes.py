"""Pages in unknown themes, made from parts that real themes have, each with the known text of its post.

Nothing here is copied from a blog. Each theme is one choice of each part, drawn by its number, so that a theme stays the
same for ever.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from html import escape

_WORDS = (
    "朝の電車で海まで出かけました", "駅前の古い喫茶店に入りました", "猫が窓辺で眠っていました", "味噌汁をゆっくり飲みました",
    "帰りに本屋で文庫本を買いました", "雨が降りそうなので急ぎました", "庭の梅がようやく咲きました", "友だちから葉書が届きました",
    "新しい靴で坂道を上りました", "夕焼けがとてもきれいでした", "祖母の家で餅をつきました", "カメラの電池を忘れました",
)  # fmt: skip
_ENGLISH = (
    "We took the early train to the coast", "The old bakery by the station was open", "My neighbour lent me her ladder",
    "It rained for most of the afternoon", "I finally finished the red scarf", "The ferry left without us again",
    "Nobody remembered the name of the hill", "There were nine herons on the pond",
)  # fmt: skip
_TITLES = ("海まで歩いた日", "古い喫茶店", "梅の花が咲いた", "A day at the coast", "The red scarf", "雨の一日")
_POSTS = (
    "<div class='{a}'>{post}</div>", "<article>{post}</article>", "<section id='{a}'>{post}</section>",
    "<main>{post}</main>", "<table width='100%'><tr><td class='{a}'>{post}</td></tr></table>", "<div><div>{post}</div></div>",
    "<article class='{a}'><div class='inner'>{post}</div></article>",
)  # fmt: skip
_TEXTS = (
    "<div class='{b}'>{text}</div>", "<div>{text}</div>", "<section class='{b}'>{text}</section>", "{text}",
    "<div class='{b}'><div class='{b}-inner'>{text}</div></div>", "<div id='{b}' lang='ja'>{text}</div>",
)  # fmt: skip
_NAMES = (
    "entry", "story", "kiji", "honbun", "post-main", "nikki", "diary", "css-1x2y3z", "blk", "c-post", "txt", "entry-content",
    "post-content", "article-body", "main_area", "sc-ab12", "contents", "log",
)  # fmt: skip
_EMPTY = (
    "", "", "", "<meta itemprop='articleBody'>", "<div class='entry-content'></div>", "<div class='post-body'> &nbsp;\n</div>",
    "<div class='e-content'><!-- lazy --></div>", "<div class='article-body'><script>var a='text';</script></div>",
)  # fmt: skip
_HEADINGS = (
    "<h1>{t}</h1>",
    "<h2>{t}</h2>",
    "<h1 class='ttl'><a href='{u}'>{t}</a></h1>",
    "<h3 class='midashi'>{t}</h3>",
)
_DATES = (
    "<p class='posted'>2020年1月2日 15時4分</p>", "<span class='date'>January 2, 2020 3:04 PM</span>",
    "<div class='meta'>Jan 2, 2020 at 3:04 pm</div>", "<time datetime='2020-01-02T15:04:00+09:00'>1/2</time>",
    "<p>令和2年1月2日 午後3時4分</p>", "<div class='info'>Posted: 02.01.2020 15:04</div>", "<small>2020/01/02 15:04</small>",
    "<span class='c-day'>Thursday, January 2nd, 2020 3:04 PM</span>",
)  # fmt: skip
_SIDES = (
    "<div id='side'><h3>最新記事</h3><ul><li><a href='/old/'>去年のこと</a> 2019/12/31</li><li><a href='/older/'>年末のこと</a></li></ul></div>",
    "<aside><h4>Profile</h4><p>Hanako likes trains.</p><ul><li><a href='/2019/12/'>2019年12月 (4)</a></li></ul></aside>",
    "<td class='menu'><a href='/'>トップ</a> <a href='/bbs'>掲示板</a> <a href='/link'>リンク</a></td>",
    "<div class='widget'><b>Recent comments</b><ul><li><a href='/old/#c1'>Taro on Old post</a></li></ul></div>", "",
)  # fmt: skip
_NAVS = (
    "<nav><a href='/'>Home</a> <a href='/about'>About</a> <a href='/contact'>Contact</a></nav>",
    "<div class='menu'><ul><li><a href='/'>ホーム</a></li><li><a href='/about'>このブログについて</a></li></ul></div>",
    "<header><h1><a href='/'>太郎の日記</a></h1><p>海と電車のブログ</p></header>", "",
)  # fmt: skip
_AFTER = (
    "<div class='share'><a href='https://sns.example/s'>Tweet</a> <a href='https://sns.example/t'>Share</a></div>",
    "<div class='related'><h3>関連記事</h3><ul><li><a href='/r1/'>山の上の茶屋</a></li><li><a href='/r2/'>橋を渡る</a></li></ul></div>",
    "<p><a href='/prev/'>前の記事</a> | <a href='/next/'>次の記事</a></p>", "",
)  # fmt: skip
_COMMENTS = (
    "<div id='comments'><h3>コメント</h3><div class='c'>花子: とても行ってみたいです。また書いてくださいね。</div></div>",
    "<section class='responses'><p>Hanako wrote: lovely pictures, thank you for them.</p></section>", "", "",
)  # fmt: skip
_FOOTERS = ("<footer>Copyright 2026 太郎</footer>", "<div id='foot'>Powered by Nikki 1.2</div>", "")
_HEADS = (
    "", "", "<meta property='og:type' content='article'>", "<meta property='og:title' content='{t}'>",
    '<script type="application/ld+json">{{"@type":"BlogPosting","headline":"{t}"}}</script>',
)  # fmt: skip


@dataclass(frozen=True)
class Theme:
    """A page.

    Attributes:
        html: its source.
        title: the post's title.
        parts: the sentences of its text, in order.
        strange: sentences of the page that are not in the post.
    """

    html: str
    title: str
    parts: tuple[str, ...]
    strange: tuple[str, ...]


def theme(number: int) -> Theme:
    """Return the page with a number; its post is of 2 January 2020, 15:04 in Japan."""
    draw = random.Random(f"theme {number}")
    title = draw.choice(_TITLES)
    words = _ENGLISH if title.isascii() else _WORDS
    end = ". " if title.isascii() else "。"
    count = draw.choice((2, 4, 6, len(words)))
    parts = tuple(draw.sample(words, min(count, len(words))))
    text = _text(draw, parts, end)
    names = {"a": draw.choice(_NAMES), "b": draw.choice(_NAMES)}
    heading = draw.choice(_HEADINGS).format(t=escape(title), u=f"/p/{number}")
    date = draw.choice(_DATES)
    inside = [heading, date] if draw.random() < 0.7 else [date, heading]
    body = draw.choice(_TEXTS).format(text=text, **names)
    empty = draw.choice(_EMPTY)
    content = [*inside, empty, body] if draw.random() < 0.5 else [*inside, body, empty]
    after, comments = draw.choice(_AFTER), draw.choice(_COMMENTS)
    if draw.random() < 0.5:
        content.append(after)
        after = ""
    post = draw.choice(_POSTS).format(post="".join(content), **names)
    side, nav, footer = draw.choice(_SIDES), draw.choice(_NAVS), draw.choice(_FOOTERS)
    head = draw.choice(_HEADS).format(t=title)
    if side.startswith("<td"):
        middle = f"<table><tr>{side}<td>{post}{after}{comments}</td></tr></table>"
    else:
        middle = f"{post}{after}{comments}{side}" if draw.random() < 0.7 else f"{side}{post}{after}{comments}"
    html = (
        f"<!DOCTYPE html><html><head><meta charset='utf-8'><title>{escape(title)} | 太郎の日記</title>{head}</head>"
        f"<body>{nav}{middle}{footer}</body></html>"
    )
    strange = ("最新記事", "Profile", "トップ", "Recent comments", "About", "Tweet", "関連記事", "前の記事", "とても行ってみたい",
               "lovely pictures", "Copyright", "Powered by", "海と電車のブログ")  # fmt: skip
    return Theme(html, title, parts, strange)


def _text(draw: random.Random, parts: tuple[str, ...], end: str) -> str:
    form = draw.choice(("paragraphs", "breaks", "list", "mixed"))
    sentences = [f"{each}{end}" for each in parts]
    if form == "breaks":
        return "<br>\n".join(sentences)
    if form == "list" and len(sentences) > 2:
        items = "".join(f"<li>{each}</li>" for each in sentences[2:])
        return f"<p>{sentences[0]}{sentences[1]}</p><ul>{items}</ul>"
    if form == "mixed":
        return f"<p>{sentences[0]}</p><blockquote>{''.join(sentences[1:])}</blockquote><p><img src='/i.jpg' alt=''></p>"
    return "".join(f"<p>{each}</p>" for each in sentences)
