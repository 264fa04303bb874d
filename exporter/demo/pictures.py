"""The made-up blog's album: what was uploaded when, and the pictures it only links to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cache

from exporter.demo.canvas import Canvas
from exporter.demo.landscapes import fireworks, lighthouse, mountain, sea, town, train, tree
from exporter.demo.records import file_address
from exporter.demo.still_lifes import bookshop, bread, cake, cat, cup, emoji, hydrangea

USER_ID = "5f0c7a1e9b3d4c28a6e1f4d09b72c385"
_JAPAN = timezone(timedelta(hours=9))
_GREY, _BEIGE, _MINT, _PINKISH = (190, 206, 210), (226, 214, 198), (196, 216, 200), (228, 202, 198)


@dataclass(frozen=True, slots=True)
class Upload:
    """An uploaded file: ``key`` is what posts call it by, ``when`` is Japan time, ``draw`` gives the content."""

    key: str
    name: str
    when: str
    draw: Callable[[], Canvas] | bytes
    title: str | None = None
    explanation: str | None = None

    @property
    def mtime(self) -> int:
        """Unix seconds of the upload."""
        return int(datetime.fromisoformat(self.when).replace(tzinfo=_JAPAN).timestamp())

    @property
    def address(self) -> str:
        """Where the service shows the file."""
        return file_address(USER_ID, self.mtime)


_MEMO = "もなかの体重\r\n2016-04  1.1 kg\r\n2017-04  3.9 kg\r\n2018-04  4.6 kg\r\n2019-04  5.2 kg（ダイエット開始）\r\n2020-04  5.3 kg（…）\r\n"

UPLOADS: tuple[Upload, ...] = (
    Upload("hikkoshi", "hikkoshi.png", "2016-03-19 16:40:11", lambda: town("day", 11), "引っ越しの日", "坂の上から見た町"),
    Upload("umi1", "IMG_0001.PNG", "2016-03-20 06:02:45", lambda: sea("dawn", 1)),
    Upload("koneko", "もなか_初日.png", "2016-04-09 19:25:30", lambda: cat(_MINT), "もなか", "うちに来た日。まだ名前がない"),
    Upload("sakura16", "sakura.png", "2016-04-12 13:10:00", lambda: tree("spring", 8), "丘の一本桜"),
    Upload("ajisai", "ajisai.png", "2016-06-18 10:33:09", lambda: hydrangea(3, (120, 130, 220)), "紫陽花", ""),
    Upload("hanabi16", "hanabi.png", "2016-08-06 21:15:52", lambda: fireworks(2), "港の花火"),
    Upload("toudai", "toudai.png", "2016-10-02 17:48:20", lambda: lighthouse("dusk", 6), "潮見灯台", "灯りがともる五分前から待っていました"),
    Upload("yuki16", "yuki.png", "2017-01-15 08:20:14", lambda: town("grey", 2, snow=True), "十年ぶりの雪"),
    Upload("shoten", "kamome.png", "2017-04-03 12:05:37", lambda: bookshop(3), "かもめ書房", "奥の棚は詩集です"),
    Upload("pan1", "pan_1gou.png", "2017-05-21 11:42:18", lambda: bread((122, 72, 40), 1), "パン一号", "固い"),
    Upload("pan2", "pan_2gou.png", "2017-06-04 10:58:03", lambda: bread((178, 110, 54), 2), "パン二号"),
    Upload("densha", "namioto-line.png", "2017-07-22 14:26:40", lambda: train("day", 9), "波音線"),
    Upload("nemuri", "もなか昼寝.png", "2017-09-10 15:00:59", lambda: cat(_PINKISH, asleep=True), "昼寝"),
    Upload("momiji", "momiji.png", "2017-11-12 11:11:11", lambda: tree("autumn", 8), "丘の一本桜、秋"),
    Upload("cake1", "birthday.png", "2018-02-11 18:30:25", lambda: cake((255, 246, 236), 1), "いちごのケーキ"),
    Upload("fuji", "mountain.png", "2018-05-04 07:15:00", lambda: mountain("dawn", 4), "白帆山", "湖畔の宿の窓から"),
    Upload("fuji2", "mountain2.png", "2018-05-04 12:40:48", lambda: mountain("day", 5)),
    Upload("coffee", "coffee.png", "2018-09-16 09:09:09", lambda: cup((110, 70, 44), 2), "朝のコーヒー"),
    Upload("taifuu", "taifuu.png", "2018-09-30 17:22:10", lambda: sea("grey", 21), "台風の前"),
    Upload("nenga", "2019.png", "2019-01-01 07:02:33", lambda: sea("dawn", 19), "初日の出", "あけましておめでとうございます"),
    Upload("hondana", "hondana.png", "2019-03-08 20:14:05", lambda: bookshop(19, (96, 92, 84)), "うちの本棚"),
    Upload("hanabi19", "hanabi2019.png", "2019-08-03 20:55:41", lambda: fireworks(19), "令和最初の花火"),
    Upload("kanpanyu", "campagne.png", "2019-10-20 13:37:00", lambda: bread((150, 90, 44), 4, round_loaf=True), "カンパーニュ"),
    Upload("taijuu", "taijuu.txt", "2020-04-10 22:00:00", _MEMO.encode(), "もなかの体重", "体重の記録（テキスト）"),
    Upload("mado", "mado.png", "2020-05-02 18:18:18", lambda: sea("dusk", 20), "窓から"),
    Upload("monaka20", "monaka20.png", "2020-06-14 16:05:29", lambda: cat(_GREY), "在宅勤務の上司"),
    Upload("yoru", "yoru.png", "2020-12-24 23:40:00", lambda: town("night", 1), "聖夜の町"),
    Upload("cake2", "chocolate.png", "2021-02-14 15:15:15", lambda: cake((158, 110, 84), 5), "ココアのケーキ"),
    Upload("sakura21", "sakura21.png", "2021-04-01 12:00:00", lambda: tree("spring", 21), "五年目の桜"),
    Upload("sakura21b", "sakura21 (1).png", "2021-04-01 12:00:00", lambda: tree("spring", 21), "五年目の桜", "二度押しました"),
    Upload("ocha", "hojicha.png", "2021-11-07 15:48:16", lambda: cup((150, 92, 50), 1), "ほうじ茶"),
    Upload("ajisai22", "ajisai22.png", "2022-06-25 09:40:02", lambda: hydrangea(22, (206, 120, 190)), "紫陽花、今年は赤い"),
    Upload("natsuki", "natsu.png", "2022-08-11 14:20:07", lambda: tree("summer", 8), "木陰"),
    Upload("toudai23", "toudai_hiru.png", "2023-05-05 10:25:31", lambda: lighthouse("day", 7), "灯台、百周年"),
    Upload("densha23", "last_train.png", "2023-09-30 18:02:00", lambda: train("dusk", 12), "最後の夕方の便"),
    Upload("fuyu", "fuyuki.png", "2024-01-08 08:08:08", lambda: tree("winter", 8), "丘の一本桜、冬"),
    Upload("monaka24", "monaka24.png", "2024-04-09 19:30:00", lambda: cat(_BEIGE, (214, 166, 116), asleep=True), "八歳", "八年たってもかわいい"),
    Upload("pan100", "pan_100gou.png", "2024-06-02 10:00:10", lambda: bread((186, 118, 58), 100), "パン百号"),
    Upload("umi24", "umi24.png", "2024-09-22 18:11:47", lambda: sea("dusk", 24), "いつもの防波堤"),
    Upload("tsuki", "tsuki.png", "2024-11-23 19:45:00", lambda: sea("night", 3), "月と船"),
)  # fmt: skip

LATER_UPLOAD = Upload(
    "hatsuhi25", "hatsuhi2025.png", "2025-01-01 06:58:20", lambda: sea("dawn", 25), "初日の出", "九回目"
)

_LINKED: dict[str, Callable[[], bytes]] = {
    "https://emoji.example.jp/e/nikoniko.gif": lambda: emoji("nikoniko"),
    "https://emoji.example.jp/e/onpu.gif": lambda: emoji("onpu"),
    "https://emoji.example.jp/e/kirakira.gif": lambda: emoji("kirakira"),
    "https://pictures.example.jp/album/2016/minato.png": lambda: sea("day", 16).png(),
    "https://pictures.example.jp/album/%E5%A4%8F/kaze.png": lambda: town("day", 17).png(),
    "https://pictures.example.jp/thumb.php?id=42&size=s": lambda: cup((90, 120, 70), 3).png(),
    "https://shiodamari.blog.example.jp/image/banner.png": lambda: lighthouse("dawn", 30).png(),
}


@cache
def content(upload: Upload) -> tuple[bytes, tuple[int, int]]:
    """Return an upload's bytes and its width and height in pixels, both 0 for what is no picture."""
    if isinstance(upload.draw, bytes):
        return upload.draw, (0, 0)
    canvas = upload.draw()
    return canvas.png(), canvas.size


@cache
def linked() -> tuple[tuple[str, bytes], ...]:
    """Return address and bytes of the pictures that posts show without their being uploads."""
    return tuple((address, draw()) for address, draw in _LINKED.items())
