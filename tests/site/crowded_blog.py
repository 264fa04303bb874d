"""A blog of any size with many things that are hard to show on a small screen, the same each time."""

from __future__ import annotations

import io
import random
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

from PIL import Image

from exporter import lossless_json
from exporter.model.kinds import Kind
from tests.archive.builder import Built, record
from tests.site.building import build, stored

TITLE: Final = "海辺の小さな町で暮らす家族の十五年の日記帳です。全部"
ADDRESSES: Final = ("https://sea.example/Entry/{entry_id}/",)
"""The form of the blog's own addresses."""
_YEARS: Final = 15
_FIRST: Final = date(2011, 1, 3)
_LONG: Final = "はじめての土地で三日間道に迷いながら歩きつづけたあとに見つけた、海のみえる小さな喫茶店と、そこで聞いた昔の灯台守の長い長いお話のこと（前編）"
_UNBROKEN: Final = "ＡＲＥＹＯＵＲＥＡＤＹ？？？２０１６ＳＵＭＭＥＲＦＥＳＴＩＶＡＬ！！！！！！！！！！！！！！https://example.com/averyveryverylongpathwithoutanybreak"
_CATEGORIES: Final = (
    "日記",
    "料理",
    "散歩",
    "本と映画と音楽、そのほかの忘れたくないことの覚え書き",
    "旅行",
    "DIY & Gardening",
    "写真",
    "",
)
_PLACES: Final = ("港", "駅前の商店街", "灯台の下", "市場", "図書館", "川沿いの道", "丘の上の公園", "古い映画館")
_DOINGS: Final = ("歩いてきました", "写真を撮りました", "友だちと会いました", "雨宿りをしました", "お昼を食べました")
_SAID: Final = (
    "帰り道の空がきれいだったので、少し遠回りをしました。",
    "こういう何でもない日を、あとから思い出すのだと思います。",
    "来週もまた行けたらいいな。",
    "写真は<b>三枚だけ</b>撮りました。どれも少しぶれています。",
    "「また来てね」と言われて、なんだかうれしくなりました。",
    'くわしいことは<a href="https://www.example.com/map?a=1&amp;b=2">地図</a>を見てください。',
)
_NAMES: Final = (
    "みなと",
    "さくら",
    "通りすがり",
    "kazu",
    "ゆう",
    "北の旅人",
    "とても長い名前を名乗りたい匿名希望のもの",
)
_ROW: Final = "".join(f"<td>{name}{at}</td>" for at in range(12) for name in ("晴れのち曇り", ""))
_CODE: Final = "def tide(level: float) -> float:\n    return level + 1  # " + "潮" * 60 + "\n"
_HARD: Final = (
    "".join(
        f"<h{2 + at % 3}>{at + 1}. 潮だまりで見つけた生き物を一つずつ紹介します</h{2 + at % 3}><p>{'海へ行った。' * 40}</p>"
        for at in range(8)
    )
    + f"<h3>コード</h3><pre class='lang-python'>{_CODE * 4}</pre><p>文の中の<code>ls -l --human-readable /a/very/long/path</code>も。</p>"
    f"<h3>表</h3><table><tr>{'<th>見出し</th>' * 24}</tr><tr>{_ROW}</tr></table>"
    "<ul><li>一<ul><li>二<ul><li>三<ol><li>四</li></ol></li></ul></li></ul></li></ul><blockquote><p>引用です。</p></blockquote>"
    "<p><ruby>潮<rt>しお</rt></ruby>だまり<sup>1</sup></p><hr><dl><dt>潮</dt><dd>うみの水。</dd></dl>"
)
_EMBEDS: Final = (
    "<p>動画です。</p><iframe width='560' height='315' src='https://www.youtube.com/embed/abcdefghijk'></iframe>"
    "<iframe src='https://hatenablog-parts.com/embed?url=https%3A%2F%2Fexample.com%2Fa%2Fvery%2Flong%2Fpath%2Fwith%2Fmany%2Fparts%2F2020%2F01%2F01%2F%E7%8C%AB' title='とても長い題名のよそのページで、二行にも三行にもなるもの'></iframe>"
    "<div style='width:900px'>幅を決めた箱。<span style='white-space:nowrap'>折れない長い文がここに続いていきます、どこまでも続いていきます、まだ続いています。</span></div>"
    "<table width='800'><tr><td width='400'>左</td><td width='400'>右</td></tr></table>"
    "<p><img src='https://elsewhere.example/lost.jpg' width='1200' height='800' alt='なくなった写真'></p>"
    f"<p>{_UNBROKEN}</p><p style='margin-left:300px;text-indent:80px'>字下げ</p><font size='7'>大きな字</font>"
    "<p style='font-size:60px'>とても大きな字</p><marquee>流れる字</marquee><h2>長い見出し" + "ながい" * 30 + "</h2>"
    "<p style='line-height:1;font-size:8px;color:#ccc'>小さくて薄い字</p><center><b>中央</b></center>"
)


def crowded_blog(root: Path, entries: int, comments: int, *, pictures: int = 40, versions: int = 3) -> Built:
    """Build an archive of it, and its site.

    Args:
        root: the folder of the archive.
        entries: number of entries, over fifteen years; each of the newest eight is hard in another way.
        comments: comments in one year; other years have fewer.
        pictures: pictures in one entry.
        versions: versions of the archive; each after the first changes the newest entries.
    """
    chance = random.Random(7)
    built = Built(root)
    dated = {at: _FIRST + timedelta(days=at * _YEARS * 365 / entries) for at in range(1, entries + 1)}
    changes: dict[Kind, dict[str, bytes | None]] = {kind: {} for kind in Kind}
    photos = _photos(root, entries, pictures, chance)
    changes[Kind.ASSETS] = {address: lossless_json.dumps(asset.data()) for address, asset in photos.items()}
    for at, day in dated.items():
        shown = [address for address, asset in photos.items() if {"entry": str(at)} in asset.refs]
        changes[Kind.ENTRIES][str(at)] = _entry(at, entries, day, shown, chance)
        changes[Kind.ENTRY_LIST][str(at)] = record(entry_id=str(at), category=_CATEGORIES[at % len(_CATEGORIES)])
    changes[Kind.COMMENTS] = _comments(dated, comments, chance)
    changes[Kind.USER] = {"u": record(id="u", nickname="さくら")}
    built.commit(changes, at="2026-01-31T12:00:00Z")
    for number in range(1, versions):
        at = entries - 7 - number
        edited = {
            str(at): _entry(at, entries, dated[at], [], chance, f"<p>{number}回目の書きなおし。</p>"),
            str(number + 1): None,
        }
        later = record(
            cm_id=f"9{number}", entry_id=str(at), name="さくら", cm_text="あとから。", regist_date="2026/01/20"
        )
        built.commit(
            {Kind.ENTRIES: edited, Kind.COMMENTS: {f"9{number}": later}}, at=f"2026-{number + 1:02}-28T12:00:00Z"
        )
    build(built, title=TITLE, entry_addresses=ADDRESSES)
    return built


def _entry(at: int, entries: int, day: date, shown: list[str], chance: random.Random, more: str = "") -> bytes:
    special = entries - at
    text = "".join(
        f"<p>今日は{chance.choice(_PLACES)}で{chance.choice(_DOINGS)}。{''.join(chance.sample(_SAID, 3))}</p>"
        for _ in range(chance.randint(1, 9))
    )
    title = f"{chance.choice(_PLACES)}で{chance.choice(_DOINGS)}"
    others: dict[str, Any] = {"is_private": "t" if special == 6 else "f", "ps_title": "", "ps_text": ""}
    if special == 0:
        title, text = _LONG, _HARD
    elif special == 1:
        title, text = _UNBROKEN, _EMBEDS
    elif special == 2:
        title = "写真だらけの一日"
    elif special == 3:
        title, text = "", "<p>海。</p>"
    elif special == 4:
        link = f"https://sea.example/Entry/{entries}/"
        text += f"<p>つづきは<a href='{link}'>こちら</a>。<iframe src='{link}'></iframe></p>"
        others |= {"ps_title": "つづきの見出し", "ps_text": _HARD}
    elif special == 5:
        text = ""
    elif special % 9 == 0:
        title = _LONG
        text += f"<p><a href='https://sea.example/Entry/{entries - special % 50}/'>前の話</a></p>"
    text += more + "".join(f"<p><img src='{address}' alt='写真'></p><p>{chance.choice(_SAID)}</p>" for address in shown)
    return record(
        entry_id=str(at), title=title, entry_text=text, open_flg="1", year=f"{day:%Y}", mon=f"{day:%m}", day=f"{day:%d}",
        hour="21", min="05", sec="00", last_update="2026-01-02 03:04:05", **others,
    )  # fmt: skip


def _photos(root: Path, entries: int, pictures: int, chance: random.Random) -> dict[str, Any]:
    """Store the pictures of the entry with many, and one for every twelfth other entry; some have odd shapes."""
    users = [entries - 2] * pictures + list(range(entries, 0, -12))
    found = {}
    root.mkdir(parents=True, exist_ok=True)
    for number, entry in enumerate(users):
        size = chance.choice(
            [(320, 240), (240, 320), (320, 180), (900, 60), (60, 500)] if number % 7 == 3 else [(320, 240), (240, 320)]
        )
        tones = [tuple(chance.randrange(256) for _ in range(3)) for _ in range(4)]
        small = Image.new("RGB", (2, 2))
        small.putdata(tones)
        into = io.BytesIO()
        small.resize(size, Image.Resampling.BILINEAR).save(into, "JPEG", quality=70)
        address = f"https://sea.example/picture_{number}.jpg"
        found[address] = stored(root, address, into.getvalue(), refs=[{"entry": str(entry)}])
    return found


def _comments(dated: dict[int, date], comments: int, chance: random.Random) -> dict[str, bytes | None]:
    busy = [at for at, day in dated.items() if day.year == 2019]
    newest = max(dated)
    owners = (
        [newest] * 30
        + [newest - 2] * 3
        + chance.choices(busy, k=comments)
        + chance.choices(list(dated), k=comments // 4)
    )
    found: dict[str, bytes | None] = {}
    for number, entry in enumerate(owners, 1):
        name = chance.choice(_NAMES)
        text = f"いつも楽しく読んでいます。{chance.choice(_SAID)}"
        if number <= 30 and number % 3:
            text = f">>{number - 1}\n{text}"
        if number % 40 == 1:
            text = _UNBROKEN
        found[str(number)] = record(
            cm_id=str(number), entry_id=str(entry), name=name, title=_LONG if number % 25 == 0 else "", cm_text=text,
            regist_date=f"{dated[entry] + timedelta(days=1):%Y/%m/%d}", delete_flg="f",
            url_text="https://www.example.com/" if number % 5 == 0 else "",
        )  # fmt: skip
    return found
