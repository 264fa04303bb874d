"""``python -m benchmarks.moved_posts``: precision and recall of the recognition of moved posts.

A person's first blog is an archive of the first service. Its posts move through this program's own exports for
WordPress and for Movable Type, and come back through its own readers of these files. Then they get the changes in
``_CHANGES``, which homes and their owners make. All blogs also have posts that look alike and are not the same, see
``_look_alikes``. A pair counts as found only if it was accepted.
"""

from __future__ import annotations

import contextlib
import random
import re
import subprocess
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.real_posts import real_body
from exporter.archive.archive import Archive
from exporter.compare.moved import Moves, moved_posts, traits_of
from exporter.html.text import text_of
from exporter.model.kinds import Kind
from exporter.service.registry import service_of
from exporter.settings import resolve
from tests.archive.builder import Built, record

OLD: Final = "old.example.jp"
_JAPAN: Final = timezone(timedelta(hours=9))
_BREAK: Final = re.compile(r"(?:<br ?/?>\s*){2,}", re.IGNORECASE)
_PICTURE: Final = re.compile(r'src="https://img\.example\.jp/', re.IGNORECASE)
_NOUNS: Final = (
    "港", "猫", "カメラ", "喫茶店", "台風", "図書館", "電車", "山道", "味噌汁", "祭り", "自転車", "灯台", "古本",
    "引っ越し", "眼鏡", "金魚", "映画", "ラジオ", "編み物", "天体望遠鏡", "駅弁", "植木鉢", "万年筆", "石けん",
)  # fmt: skip
_TITLES: Final = (
    "{a}と{b}",
    "{a}の話",
    "はじめての{a}",
    "{a}に行く",
    "{a}、{b}、それから",
    "{n}年目の{a}",
    "{a}を直す",
)
_SERIES: Final = ("今週の日記", "ラジオ体操の記録", "読書メモ", "日記", "無題")
_LETTERS: Final = (
    "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわをんー"
    "海山川空星花鳥風月雪雨雲朝昼夜春夏秋冬東西南北"
)


@dataclass(frozen=True)
class BlogPost:
    """A post of one of the blogs; posts with one ``label`` are the same, an empty one has no other.

    Attributes:
        kind: its change, or its likeness to other posts.
        others: addresses of other blogs in it.
    """

    blog: int
    title: str
    body: str
    date: datetime
    label: str
    kind: str
    address: str = ""
    others: tuple[str, ...] = ()


@dataclass
class Counts:
    """How many pairs are true, accepted, and both; and the wrong ones and the missed ones by kind."""

    true: int = 0
    accepted: int = 0
    right: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)

    @property
    def precision(self) -> float:
        """Return the share of accepted pairs that are right."""
        return self.right / self.accepted if self.accepted else 1.0

    @property
    def recall(self) -> float:
        """Return the share of true pairs that were accepted."""
        return self.right / self.true if self.true else 1.0


def labelled_posts(folder: Path, size: int, seed: int) -> list[BlogPost]:
    """Return the posts of three blogs; ``folder`` is for the archives and the exports between them."""
    chance = random.Random(seed)
    olds = _old_posts(chance, size)
    _archive(folder / "old", olds)
    found = [*olds]
    for blog, form in ((1, "wordpress"), (2, "movabletype")):
        moved = _read_back(folder, form)
        by_minute = {post.date.astimezone(_JAPAN).replace(tzinfo=None): post for post in olds}
        labels = [by_minute[each.date.replace(tzinfo=None)].label for each in moved]
        kinds = [*_CHANGES] * (len(moved) // len(_CHANGES) + 1)
        chance.shuffle(kinds)
        for each, label, kind in zip(moved, labels, kinds, strict=False):
            old = next(post for post in olds if post.label == label)
            found.append(_CHANGES[kind](replace(each, blog=blog, label=label, kind=kind), old, chance))
    return [*found, *_look_alikes(chance, olds, size)]


def _sentences(chance: random.Random, least: int, most: int) -> str:
    """Return sentences of random words, as different as those of two days."""
    words = ("".join(chance.choices(_LETTERS, k=chance.randint(8, 30))) for _ in range(chance.randint(least, most)))
    return "".join(f"{word}。" for word in words)


def _title(chance: random.Random) -> str:
    a, b = chance.sample(_NOUNS, 2)
    return chance.choice(_TITLES).format(a=a, b=b, n=chance.randint(2, 20))


def _body(chance: random.Random) -> str:
    """Return a body: half of them consist of a few dozen sentences that all posts share, half have their own words."""
    if chance.random() < 0.5:
        return real_body(chance, "https://img.example.jp")
    lines = [_sentences(chance, 1, 3) for _ in range(chance.randint(2, 12))]
    return chance.choice(("<br />\n", "<br>\n\n<br>\n")).join(lines)


def _old_posts(chance: random.Random, size: int) -> list[BlogPost]:
    posts = []
    moment = datetime(2006, 1, 3, 21, 7, 11, tzinfo=_JAPAN)
    for number in range(1, size + 1):
        moment += timedelta(minutes=chance.randint(700, 5_000))
        title = chance.choice(_SERIES) if chance.random() < 0.15 else _title(chance)
        address = f"https://{OLD}/Entry/{number}/"
        posts.append(BlogPost(0, title, _body(chance), moment, f"{number}", "old", address))
    return posts


def _archive(root: Path, posts: list[BlogPost]) -> None:
    built = Built(root, blog_id=OLD)
    entries: dict[str, bytes | None] = {}
    for post in posts:
        parts = zip(("year", "mon", "day", "hour", "min", "sec"), post.date.timetuple()[:6], strict=True)
        entries[post.label] = record(
            entry_id=post.label, title=post.title, entry_text=post.body, open_flg="1", is_private="f",
            period_flg="f", **{name: f"{value:02d}" for name, value in parts},
        )  # fmt: skip
    items = {key: record(entry_id=key, category="日々", open_flg="1", period_flg="f") for key in entries}
    built.commit({Kind.ENTRIES: entries, Kind.ENTRY_LIST: items})


def _read_back(folder: Path, form: str) -> list[BlogPost]:
    """Export the old blog, back the file up as a new blog, and return its posts."""
    out, root = folder / f"{form}-files", folder / form
    _run("export", form, folder / "old", out, "--public-open-flg", "1", "--visible-delete-flg", "f")
    (file,) = (each for each in sorted(out.iterdir()) if each.suffix in {".xml", ".txt"} and each.stat().st_size)
    _run("backup", file, "--archive", root, "--no-site", "--no-markdown", "--assets", "none")
    reader = Archive.open(root)
    service = service_of(resolve({}, environ={}), reader.info.service)
    found = []
    with contextlib.closing(reader.state()) as state:
        for _, raw in state.scan(Kind.ENTRIES):
            post = service.post(raw)
            assert post.date is not None
            shown = post.date.astimezone(_JAPAN)
            found.append(BlogPost(0, post.title, post.body + post.more, shown, "", "", post.permalink))
    return found


def _run(*words: object) -> None:
    subprocess.run([sys.executable, "-m", "exporter", *map(str, words), "-q"], check=True)


def _paragraphs(post: BlogPost, _: BlogPost, __: random.Random) -> BlogPost:
    return replace(post, body="<p>" + _BREAK.sub("</p>\n<p>", post.body) + "</p>")


def _keywords(post: BlogPost, _: BlogPost, __: random.Random) -> BlogPost:
    body = post.body
    for noun in ("写真", "京都", "カメラ", "海"):
        body = body.replace(noun, f'<a class="keyword" href="http://d.hatena.ne.jp/keyword/{noun}">{noun}</a>', 3)
    return replace(post, body=body)


def _pictures(post: BlogPost, _: BlogPost, __: random.Random) -> BlogPost:
    new = 'loading="lazy" class="wp-image-7" src="https://new.example/wp-content/uploads/'
    return replace(post, body=_PICTURE.sub(new, post.body))


def _beginning(post: BlogPost, _: BlogPost, chance: random.Random) -> BlogPost:
    text = text_of(post.body)
    kept = text[: max(60, len(text) * chance.randint(15, 60) // 100)]
    return replace(post, body=f"<p>{kept} …</p><a>続きを読む</a>")


def _noted(post: BlogPost, old: BlogPost, _: random.Random) -> BlogPost:
    note = f'<p>（この記事は旧ブログ <a href="{old.address}">{old.address}</a> から引っ越しました）</p>'
    return replace(post, body=note + post.body, others=(old.address,))


def _noted_later(post: BlogPost, old: BlogPost, chance: random.Random) -> BlogPost:
    note = f'<p>旧ブログの記事: <a href="{old.address}">こちら</a></p>'
    date = post.date + timedelta(days=chance.randint(200, 3_000), minutes=chance.randint(1, 999))
    return replace(post, body=post.body + note, others=(old.address,), date=date)


def _later(post: BlogPost, _: BlogPost, chance: random.Random) -> BlogPost:
    return replace(post, date=datetime(2014, 5, 6, 10, tzinfo=_JAPAN) + timedelta(minutes=7 * chance.randint(0, 4_000)))


def _corrected(post: BlogPost, _: BlogPost, __: random.Random) -> BlogPost:
    body = post.body.replace("とても", "たいへん").replace("きました", "来ました")
    return replace(post, body=f"{body}<p>追記: 一部なおしました。</p>")


_CHANGES: Final[dict[str, Callable[[BlogPost, BlogPost, random.Random], BlogPost]]] = {
    "unchanged": lambda post, _, __: post,
    "paragraphs": _paragraphs,
    "keywords": _keywords,
    "pictures": _pictures,
    "beginning": _beginning,
    "title with the blog": lambda post, _, __: replace(post, title=f"{post.title} | 海辺の暮らし"),
    "other title": lambda post, _, chance: replace(post, title=_title(chance)),
    "zone": lambda post, _, __: replace(post, date=post.date - timedelta(hours=9)),
    "day only": lambda post, _, __: replace(post, date=post.date.replace(hour=0, minute=0, second=0)),
    "note": _noted,
    "note, other date": _noted_later,
    "other date": _later,
    "corrected": _corrected,
}


def _look_alikes(chance: random.Random, olds: list[BlogPost], size: int) -> list[BlogPost]:
    """Return posts without a partner that look like others."""
    found: list[BlogPost] = []
    moment = datetime(2007, 2, 1, 8, tzinfo=_JAPAN)

    def add(blog: int, kind: str, title: str, body: str, date: datetime, *others: str) -> None:
        address = f"https://b{blog}.example/{len(found)}/"
        found.append(BlogPost(blog, title, body, date, "", kind, address, others))

    for number in range(max(2, size // 12)):
        week = moment + timedelta(days=7 * number)
        for blog in (0, 1, 2):
            own = week + timedelta(days=blog, minutes=blog * 3)
            add(blog, "series", chance.choice(_SERIES[:3]), _sentences(chance, 3, 9), own)
            add(blog, "daily, same minute", "つぶやきのまとめ", _sentences(chance, 2, 6), week + timedelta(hours=3))
            day = own + timedelta(days=blog * 371, hours=1)
            form = (
                f"いつもお読みいただきありがとうございます。{day.month}月{day.day}日の{chance.randint(9, 20)}時から、"
                f"コメント欄の点検のため{chance.randint(1, 9)}時間ほど書き込みができません。ご不便をおかけしますが、"
                "どうぞよろしくお願いいたします。終わりましたら、このブログでお知らせします。"
            )
            add(blog, "form with numbers", "お知らせ", form, day)
            add(
                blog,
                "form",
                "お休みのお知らせ",
                _FORM.format(a=chance.choice(_NOUNS)),
                day + timedelta(days=2, hours=blog),
            )
            add(blog, "picture", chance.choice(_SERIES[3:]), '<img src="https://img.example.jp/9.png" alt="写真">', day)
        old = chance.choice(olds)
        again = old.date + timedelta(days=365 + number)
        add(1, "published again", f"【再掲】{old.title}", f"<p>人気があった記事の再掲です。</p>{old.body}", again)
        text = text_of(old.body)
        quote = f'<blockquote cite="{old.address}">{text[:180]}</blockquote>{_sentences(chance, 6, 14)}'
        add(
            2,
            "quotes",
            f"{old.title}について",
            f'<a href="{old.address}">前に</a>書いた話。{quote}',
            again,
            old.address,
        )
        add(
            1,
            "answers",
            old.title,
            f'<a href="{old.address}">続き</a>です。{_sentences(chance, 5, 9)}',
            again,
            old.address,
        )
        same_day = old.date + timedelta(hours=chance.randint(1, 9), minutes=7)
        add(2, "same day, same title", old.title, _sentences(chance, 4, 9), same_day)
    return found


_FORM: Final = (
    "誠に勝手ながら、{a}の都合により、しばらくブログの更新をお休みします。再開の折には、またこちらでお知らせいたします。"
    "コメントへのお返事も遅くなりますが、必ず拝見しますので、どうぞ気長にお待ちください。いつもありがとうございます。"
)


def recognised(posts: list[BlogPost]) -> Moves:
    """Return the moves among posts."""
    found = [
        traits_of(
            post.blog, post.title, text_of(post.body), post.date,
            [address for address in [post.address] if address], post.others,
        )
        for post in posts
    ]  # fmt: skip
    return moved_posts(found, lambda index: text_of(posts[index].body))


def counted(posts: list[BlogPost], moves: Moves) -> Counts:
    """Count the pairs of posts in the groups that were found, against the labels."""
    counts = Counts()
    labelled: dict[str, list[int]] = {}
    for index, post in enumerate(posts):
        if post.label:
            labelled.setdefault(post.label, []).append(index)
    true = {pair for indexes in labelled.values() for pair in combinations(indexes, 2)}
    accepted = {pair for group in moves.groups for pair in combinations(sorted(group), 2)}
    counts.true, counts.accepted, counts.right = len(true), len(accepted), len(true & accepted)
    counts.missed.update(f"{posts[one].kind} / {posts[other].kind}" for one, other in true - accepted)
    counts.wrong.update(f"{posts[one].kind} / {posts[other].kind}" for one, other in accepted - true)
    return counts


def main() -> None:
    """Print precision and recall, and the kinds of wrong and missed pairs."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--posts", type=int, default=600, help="posts of the first blog")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    options = parser.parse_args()
    for seed in options.seeds:
        with TemporaryDirectory() as folder:
            posts = labelled_posts(Path(folder), options.posts, seed)
        started = datetime.now(UTC)
        moves = recognised(posts)
        seconds = (datetime.now(UTC) - started).total_seconds()
        counts = counted(posts, moves)
        print(
            f"seed {seed}: {len(posts):,} posts, {counts.true:,} true pairs, {counts.accepted:,} accepted, "
            f"precision {counts.precision:.4f}, recall {counts.recall:.4f}, {len(moves.doubtful):,} doubtful, "
            f"{seconds:.1f} s"
        )
        print("  wrong:", dict(counts.wrong.most_common(20)))
        print("  missed:", dict(counts.missed.most_common(20)))


if __name__ == "__main__":
    main()
