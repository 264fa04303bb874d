"""Blogs of any size, made quickly and the same each time, for tests and measurements."""

from __future__ import annotations

import hashlib
import random
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from exporter.demo.content import Blog, Key, Record, RecordList
from tests.support.pictures import png
from tests.support.records import comment_record, entry_record, file_address, file_record

_FIRST_DAY = datetime(2008, 4, 1, 7, 30)  # noqa: DTZ001  the service sends Japan time without an offset
_YEARS = timedelta(days=16 * 365)
_LONGEST_PAUSE = timedelta(hours=31)
_BODIES = 512
_BODY_CHARACTERS = 1100
_CATEGORIES = {"1": "日記", "2": "料理", "3": "散歩", "4": "本", "5": "旅行", "6": "写真"}
_PLACES = (
    "港",
    "駅前の商店街",
    "灯台の下",
    "市場",
    "図書館",
    "川沿いの道",
    "丘の上の公園",
    "古い映画館",
    "朝の台所",
    "隣の町",
)
_DOINGS = (
    "歩いてきました",
    "ゆっくり過ごしました",
    "写真を撮りました",
    "友だちと会いました",
    "雨宿りをしました",
    "お昼を食べました",
    "本を読みました",
    "知らない猫に会いました",
)
_WEATHER = (
    "よく晴れて",
    "朝から雨で",
    "風が強くて",
    "雪がちらついて",
    "霧が深くて",
    "ようやく涼しくなって",
    "春らしい陽気で",
    "夕立のあとで",
)
_THOUGHTS = (
    "帰り道の空がきれいだったので、少し遠回りをしました。",
    "こういう何でもない日を、あとから思い出すのだと思います。",
    "来週もまた行けたらいいな。",
    "写真は<b>三枚だけ</b>撮りました。どれも少しぶれています。",
    "おみやげに買った焼き菓子は、家に着く前になくなりました。",
    "「また来てね」と言われて、なんだかうれしくなりました。",
    "靴を洗って、お茶をいれて、それから日記を書いています。",
    'くわしいことは<a href="https://www.example.com/map?a=1&amp;b=2">地図</a>を見てください。',
)
_NAMES = ("みなと", "さくら", "通りすがり", "kazu", "ゆう", "はなこ", "北の旅人", "Nao", "まるちゃん", "匿名希望")
_REPLIES = (
    "いつも楽しく読んでいます。",
    "写真がとてもすてきですね！",
    "わたしも先週行きました。",
    "なつかしいです。",
    "続きが気になります。",
    "お体に気をつけて。",
)


def generated_blog(
    entries: int, comments: int = 0, files: int = 0, *, seed: int = 1, blog_id: str = "generated.blog.example.jp"
) -> Blog:
    """Make a blog of plausible Japanese records: ids count from 1, an entry record has about 3.7 KB.

    100,000 entries take about a second. Bodies repeat, so they say little about compression.
    """
    chance = random.Random(seed)
    bodies: tuple[str, ...] = ()
    if entries:
        bodies, state = _bodies(seed)
        chance.setstate(state)
    user_id = hashlib.md5(f"{blog_id} {seed}".encode(), usedforsecurity=False).hexdigest()
    written: dict[Key, Record] = {}
    pause = timedelta(seconds=min(_LONGEST_PAUSE, _YEARS / max(1, entries)).total_seconds() // 1)
    for number in range(1, entries + 1):
        written[number] = entry_record(
            blog_id,
            number,
            f"{chance.choice(_PLACES)}で{chance.choice(_DOINGS)}（その{number}）",
            chance.choice(bodies),
            _FIRST_DAY + number * pause,
            user_id=user_id,
            category_id=chance.choice(list(_CATEGORIES)),
        )
    blog = Blog(
        blog_id=blog_id,
        user={"id": user_id, "nickname": "ためしの書き手"},
        entries=written,
        comments=RecordList(_comment(chance, number, entries, pause) for number in range(1, comments + 1)),
        categories=dict(_CATEGORIES),
    )
    for number in range(1, files + 1):
        _add_file(blog, number, user_id)
    return blog


@cache
def _bodies(seed: int) -> tuple[tuple[str, ...], Any]:
    """Return the bodies of a seed and the state of its generator after them, as they take longer than a small blog."""
    chance = random.Random(seed)
    return tuple(_body(chance) for _ in range(_BODIES)), chance.getstate()


def _body(chance: random.Random) -> str:
    paragraphs: list[str] = []
    length = 0
    while length < _BODY_CHARACTERS:
        opening = f"今日は{chance.choice(_WEATHER)}、{chance.choice(_PLACES)}で{chance.choice(_DOINGS)}。"
        text = opening + "".join(chance.sample(_THOUGHTS, 3))
        paragraphs.append(f"<p>{text}</p>" if chance.random() < 0.7 else f"{text}<br>\r\n<br>\r\n")
        length += len(text)
    return "".join(paragraphs)


def _comment(chance: random.Random, number: int, entries: int, pause: timedelta) -> Record:
    entry_id = chance.randint(1, max(1, entries))
    date = _FIRST_DAY + entry_id * pause + timedelta(days=1)
    return comment_record(number, entry_id, chance.choice(_NAMES), chance.choice(_REPLIES), date)


def _add_file(blog: Blog, number: int, user_id: str) -> None:
    mtime = 1_207_000_000 + number * 3_600
    picture = png(number, 4, 4)
    blog.files.append(file_record(number, f"photo_{number:05}.png", picture, (4, 4), user_id=user_id, mtime=mtime))
    blog.pictures[file_address(user_id, mtime)] = picture
