"""A blog whose site has every kind of page, and each shade of the heat maps; and one page of each kind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from exporter import lossless_json
from exporter.model.kinds import Kind
from tests.archive.builder import Built, record
from tests.site.building import build, stored
from tests.site.past_blog import an_entry, past_blog, said
from tests.support.pictures import png

TITLE: Final = "潮だまり日記"
SHADES: Final = {"1": 1, "2": 3, "3": 5, "4": 8}
"""Number of entries on one day of each month in 2015: up to a quarter, a half, three quarters and all of the most."""
_MANY: Final = 502
_LONG: Final = (
    "駅前の商店街から灯台の下まで歩いて、市場と図書館をまわり、喫茶店でコーヒーを飲んだ長い一日のこと（前編・後編）"
)
_BODY: Final = (
    '<h3>表</h3><table><tr>{cells}</tr></table><h3>コード</h3><pre class="lang-python">def tide():  # {wide}\n    return 1</pre>'
    '<h4>絵</h4><img src="https://img.example/1.png" alt="海"><h4>動画</h4><iframe src="https://v.example/embed/1"></iframe>'
    '<blockquote>潮</blockquote><details><summary>続き</summary><p>満ちる。</p></details>'
    '<p><font color="#c00">赤</font><span style="background:#ff9">黄</span><a href="https://a.example/道">道</a></p>'
).format(cells="<td>とても長い値</td>" * 12, wide="潮" * 80)  # fmt: skip
_UNKINDLY: Final = re.compile(r"[0-9a-f]{12}|\d+")


def whole_blog(root: Path) -> Built:
    """Build the blog and its site: the blog with a past, and every kind of page that it lacks."""
    built = past_blog(root)
    entries = {
        str(100 * int(month) + at): an_entry(
            100 * int(month) + at, f"{_LONG} {at}", _BODY, 2015, mon=month, day="8" if at < int(month) else str(10 + at)
        )
        for month, number in SHADES.items()
        for at in range(number)
    }
    undated = record(entry_id="900", title="日付のない記事", entry_text="<p>いつか。</p>", open_flg="1")
    unused = stored(root, "https://img.example/3.png", png(3, 120, 80), refs=[])
    answered = {
        "20": said(20, 2, "&gt;みなとさん<br>ありがとう。", 2018),
        "21": record(
            cm_id="21", entry_id="2", name="しおね", cm_text="はい。", regist_date="2018/03/03", delete_flg="f"
        ),
        "23": record(
            cm_id="23", entry_id="1", name="kazu", cm_text="春ですね。", regist_date="2017/04/03", delete_flg="f"
        ),
        "22": said(22, 777, "記事のない感想。"),
    }
    many = {str(each): said(each, 1, "また来ます。", 2017) for each in range(1000, 1000 + _MANY)}
    built.commit(
        {
            Kind.ENTRIES: {**entries, "900": undated},
            Kind.COMMENTS: {**answered, **many},
            Kind.ASSETS: {unused.url: lossless_json.dumps(unused.data())},
            Kind.USER: {"1": record(id="1", name="しおね")},
        },
        at="2024-06-30T12:00:00Z",
    )
    build(built, title=TITLE)
    return built


def kinds(site: Path) -> list[str]:
    """Return one page of each kind: the first of those whose paths differ only in numbers."""
    paths = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    return list({_UNKINDLY.sub("N", path): path for path in reversed(paths)}.values())
