"""A blog of photographs in many proportions: few in each month, some in groups as services write them."""

from __future__ import annotations

import io
import random
from datetime import date, timedelta
from pathlib import Path
from typing import Final

from PIL import Image

from exporter import lossless_json
from exporter.model.kinds import Kind
from tests.archive.builder import Built, record
from tests.site.building import build, stored

ADDRESSES: Final = ("https://sea.example/Entry/{entry_id}/",)
GROUPS: Final = 90
"""The entry with groups of pictures."""
EXTREMES: Final = 91
"""The entry with a white, a black, and a very tall picture."""
_SIZES: Final = ((640, 480), (480, 640), (640, 360), (640, 640), (640, 427), (427, 640), (900, 240))
_TITLES: Final = (
    "海辺の朝",
    "坂の上の喫茶店",
    "雨あがりの港まで歩く、少し長い午後のこと",
    "市場",
    "はじめての灯台",
    "桜",
)
_TONES: Final = ((233, 203, 167), (118, 158, 178), (58, 92, 110), (196, 120, 92), (94, 120, 84), (240, 232, 214))
_HATENA: Final = (
    '<div class="images-row mceNonEditable">'
    '<div class="images-row-item"><span itemscope=""><img src="{0}" alt="f:id:umi:20200101123456j:plain" title="f:id:umi:20200101123456j:plain" class="hatena-fotolife"></span></div>'
    '<div class="images-row-item"><span itemscope=""><img src="{1}" alt="f:id:umi:20200101123457j:plain" class="hatena-fotolife"></span></div>'
    "</div>"
)
_WORDPRESS: Final = (
    '<figure class="wp-block-gallery has-nested-images columns-3 is-cropped">'
    '<figure class="wp-block-image size-large"><a href="{2}"><img src="{2}" alt="IMG_0004"></a><figcaption>朝の港</figcaption></figure>'
    '<figure class="wp-block-image size-large"><img src="{3}" alt="桜"></figure>'
    '<figure class="wp-block-image size-large"><img src="{4}" alt=""></figure>'
    '<figure class="wp-block-image size-large"><img src="{5}" alt=""></figure>'
    '<figcaption class="blocks-gallery-caption">春の一日</figcaption></figure>'
)
_CLASSIC: Final = (
    "<div id='gallery-1' class='gallery galleryid-5 gallery-columns-3 gallery-size-thumbnail'>"
    "<dl class='gallery-item'><dt class='gallery-icon landscape'><a href='{6}'><img src='{6}' alt=''></a></dt><dd class='wp-caption-text gallery-caption'>昼の市場</dd></dl>"
    "<dl class='gallery-item'><dt class='gallery-icon landscape'><a href='{7}'><img src='{7}' alt=''></a></dt></dl>"
    "<br style='clear: both'></div>"
)
_BLOGGER: Final = (
    '<div class="separator" style="clear: both; text-align: center;">'
    '<a href="{8}" style="margin-left: 1em; margin-right: 1em;"><img border="0" height="240" src="{8}" width="320"></a>'
    '<a href="{9}" style="margin-left: 1em; margin-right: 1em;"><img border="0" src="{9}"></a></div>'
)
_AMEBA: Final = '<p><a href="{10}"><img src="{10}" alt="" width="420"></a><a href="{11}"><img src="{11}" alt="" width="420"></a></p>'
_STACKED: Final = '<p><img src="{12}" alt="IMG_0012.JPG"><br><img src="{13}" alt="夕方の桟橋"></p>'


def picture_blog(root: Path, *, months: int = 30) -> Built:
    """Build an archive of it, and its site: for each month an entry with one to three pictures.

    A second version changes the title of the oldest entry.
    """
    chance = random.Random(11)
    built = Built(root)
    root.mkdir(parents=True, exist_ok=True)
    changes: dict[Kind, dict[str, bytes | None]] = {kind: {} for kind in Kind}

    def picture(entry: int, size: tuple[int, int], tone: tuple[int, int, int] | None = None) -> str:
        address = f"https://sea.example/DSC{len(changes[Kind.ASSETS]):05}.JPG"
        content = _photo(size, chance, tone)
        asset = stored(root, address, content, refs=[{"entry": str(entry)}])
        changes[Kind.ASSETS][address] = lossless_json.dumps(asset.data())
        return address

    def entry(number: int, day: date, title: str, text: str) -> None:
        changes[Kind.ENTRIES][str(number)] = record(
            entry_id=str(number), title=title, entry_text=text, open_flg="1", year=f"{day:%Y}", mon=f"{day:%m}",
            day=f"{day:%d}", hour="21", min="05", sec="00", last_update="", is_private="f", ps_title="", ps_text="",
        )  # fmt: skip

    first = date(2018, 6, 9)
    for number in range(1, months + 1):
        shown = [picture(number, chance.choice(_SIZES)) for _ in range(chance.choice((1, 1, 2, 3)))]
        text = "<p>海まで歩きました。</p>" + "".join(f'<p><img src="{each}" alt="{each[20:]}"></p>' for each in shown)
        entry(number, first + timedelta(days=31 * number), _TITLES[number % len(_TITLES)], text)
    after = first + timedelta(days=31 * (months + 1))
    shown = [picture(GROUPS, _SIZES[at % len(_SIZES)]) for at in range(14)]
    groups = (_HATENA, _WORDPRESS, _CLASSIC, _BLOGGER, _AMEBA, _STACKED)
    entry(
        GROUPS, after, "組み写真", "<p>つぎの写真です。</p>".join(["", *(each.format(*shown) for each in groups), ""])
    )
    whole = [
        picture(EXTREMES, (800, 1_600), (255, 255, 255)),
        picture(EXTREMES, (1_600, 800), (0, 0, 0)),
        picture(EXTREMES, (300, 2_400)),
    ]
    entry(EXTREMES, after, "白と黒と縦長", "".join(f"<p><img src='{each}' alt='image'></p>" for each in whole))
    built.commit(changes)
    entry(1, first + timedelta(days=31), "あとの題", "<p>書きなおしました。</p>")
    built.commit({Kind.ENTRIES: {"1": changes[Kind.ENTRIES]["1"]}})
    build(built, title="潮だまり写真帖", entry_addresses=ADDRESSES)
    return built


def _photo(size: tuple[int, int], chance: random.Random, tone: tuple[int, int, int] | None) -> bytes:
    """Return a JPEG in one colour, or with soft shapes in some."""
    into = io.BytesIO()
    if tone is not None:
        Image.new("RGB", size, tone).save(into, "JPEG", quality=90)
        return into.getvalue()
    small = Image.new("RGB", (3, 4))
    small.putdata(chance.choices(_TONES, k=12))
    small.resize(size, Image.Resampling.BICUBIC).save(into, "JPEG", quality=70)
    return into.getvalue()
