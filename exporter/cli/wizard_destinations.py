"""Where a blog can go: for each place the format it takes, and what its owner does there afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

Texts = Mapping[str, tuple[str, ...]]
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Destination:
    """A place a blog can go.

    Attributes:
        name: part of the name of the folder that is proposed.
        form: the format it takes.
        label: what it is called, by language.
        steps: what to do there, by language; ``{out}`` is the folder.
        preset: options of the command line that it wants.
        fetches: whether it can fetch pictures from where they are, so that their place is a question.
    """

    name: str
    form: str
    label: Mapping[str, str]
    steps: Texts
    preset: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    fetches: bool = False


def _both(text: str) -> Mapping[str, str]:
    return {"ja": text, "en": text}


def _movable_type(
    name: str, label: Mapping[str, str], place: Mapping[str, str], preset: Mapping[str, Any]
) -> Destination:
    ja = (
        f"{place['ja']}を開き、Movable Type 形式、文字コードは UTF-8 を選びます。",
        "{out} の .txt ファイルを、番号の小さいものからひとつずつ読み込ませます。",
        "画像は元の場所を指したままです。新しいサービスに画像を移す機能があれば、元のブログが消える前に使ってください。",
    )
    en = (
        f"Open {place['en']} and choose the Movable Type format in UTF-8.",
        "Hand it the .txt files of {out} one after another, the lowest number first.",
        "Pictures still point to where they were: let the service take them over, if it can, while the old blog is up.",
    )
    return Destination(name, "movabletype", label, {"ja": ja, "en": en}, preset, fetches=True)


DESTINATIONS: Final[tuple[Destination, ...]] = (
    Destination(
        "wordpress",
        "wxr",
        _both("WordPress"),
        {
            "ja": (
                "管理画面の「ツール」→「インポート」→「WordPress」を開き、インポーターを実行します。",
                "{out} の .xml ファイルをアップロードします。大きすぎれば、--max-bytes 2MB のように分けられます。",
                "投稿者を割り当て、添付ファイルを取り込むチェックを入れます。",
                "画像はこのとき取り込まれます。元のブログがあるうちに済ませます。",
            ),
            "en": (
                "In the dashboard open Tools, Import, WordPress, and run the importer.",
                "Upload the .xml files of {out}; if one is above a limit, export again with --max-bytes 2MB or so.",
                "Assign the author and tick the attachments: pictures are fetched then, so the old blog must be up.",
            ),
        },
        fetches=True,
    ),
    _movable_type(
        "hatena",
        {"ja": "はてなブログ", "en": "Hatena Blog"},
        {"ja": "はてなブログの管理画面の「インポート」", "en": "Import in Hatena Blog's dashboard"},
        {"limits_of": "hatena"},
    ),
    _movable_type(
        "livedoor",
        {"ja": "ライブドアブログ", "en": "livedoor Blog"},
        {"ja": "ライブドアブログの管理画面のインポート", "en": "the import page of livedoor Blog's settings"},
        _NOTHING,
    ),
    _movable_type(
        "ameba",
        {"ja": "アメーバブログ", "en": "Ameba Blog"},
        {"ja": "アメーバブログの管理画面の引っ越し（インポート）", "en": "the import page of Ameba Blog's settings"},
        _NOTHING,
    ),
    _movable_type(
        "fc2",
        {"ja": "FC2ブログ", "en": "FC2 Blog"},
        {
            "ja": "FC2ブログの管理画面の「データバックアップ」にあるインポート",
            "en": "the import in FC2 Blog's data backup page",
        },
        _NOTHING,
    ),
    _movable_type(
        "seesaa",
        {"ja": "Seesaaブログ", "en": "Seesaa Blog"},
        {"ja": "Seesaaブログの管理画面のインポート", "en": "the import page of Seesaa Blog's settings"},
        _NOTHING,
    ),
    Destination(
        "hugo",
        "hugo",
        _both("Hugo"),
        {
            "ja": (
                "{out}/content をサイトの content に重ねてコピーします。画像は記事ごとのフォルダーに入っています。",
                "{out}/hugo.toml にある設定のうち、markup の部分をサイトの設定に写します。",
                "hugo server を実行して確かめます。",
            ),
            "en": (
                "Copy {out}/content over your site's content; each post's pictures are in its folder.",
                "Take the markup part of {out}/hugo.toml over into your site's configuration.",
                "Look at it with: hugo server",
            ),
        },
    ),
    Destination(
        "jekyll",
        "jekyll",
        _both("Jekyll, GitHub Pages"),
        {
            "ja": (
                "{out} の _posts と media をサイトのフォルダーにコピーします。",
                "bundle exec jekyll serve を実行して確かめます。",
            ),
            "en": ("Copy _posts and media from {out} into your site.", "Look at it with: bundle exec jekyll serve"),
        },
    ),
    Destination(
        "pelican",
        "pelican",
        _both("Pelican"),
        {
            "ja": ("{out}/content をサイトの content に重ねてコピーします。", "pelican content を実行して確かめます。"),
            "en": ("Copy {out}/content over your site's content.", "Look at it with: pelican content"),
        },
    ),
    Destination(
        "markdown",
        "markdown",
        {"ja": "Eleventy・Astro など（Markdown）", "en": "Eleventy, Astro and others (Markdown)"},
        {
            "ja": (
                "{out} の posts を記事の置き場所に、media を公開されるフォルダーにコピーします。",
                "drafts があれば下書きです。公開するまで、サイトの外に置いておきます。",
            ),
            "en": (
                "Copy posts from {out} to where your site keeps its posts, and media to what it publishes as it is.",
                "If there is a folder drafts, keep it out of the site until you publish what is in it.",
            ),
        },
    ),
    Destination(
        "ghost",
        "ghost",
        _both("Ghost"),
        {
            "ja": (
                "Ghost の「Settings」→「Import/Export」で、{out} の .zip をアップロードします。画像も入っています。",
                "コメントは Ghost が受け取れないので、comments-public.jsonl として手元に残ります。",
            ),
            "en": (
                "In Ghost open Settings, Import/Export, and upload the .zip of {out}; the pictures are in it.",
                "Ghost cannot import comments: they stay with you as comments-public.jsonl.",
            ),
        },
    ),
    Destination(
        "epub",
        "epub",
        {"ja": "電子書籍（EPUB）", "en": "A book for e-readers (EPUB)"},
        {
            "ja": ("{out} の .epub を電子書籍リーダーやスマートフォンに送って開きます。",),
            "en": ("Send the .epub of {out} to your e-reader or phone and open it.",),
        },
    ),
    Destination(
        "html",
        "html",
        {"ja": "印刷できる1枚のページ（HTML）", "en": "One page to read and print (HTML)"},
        {
            "ja": ("{out} の .html をブラウザーで開きます。印刷すると、記事ごとにページが改まります。",),
            "en": ("Open the .html of {out} in a browser; printed, each post begins on a page of its own.",),
        },
    ),
    Destination(
        "csv",
        "csv",
        {"ja": "表（Excel などで開く CSV）", "en": "A table (CSV for Excel and others)"},
        {
            "ja": ("{out} の .csv を Excel などで開きます。1行が1記事です。",),
            "en": ("Open the .csv of {out} in Excel or another spreadsheet: a row is a post.",),
        },
    ),
    Destination(
        "sqlite",
        "sqlite",
        {"ja": "検索できるデータベース（SQLite）", "en": "A database to search (SQLite)"},
        {
            "ja": ("datasette {out}/*.sqlite で、ブラウザーから検索できます。",),
            "en": ("Search it in a browser with: datasette {out}/*.sqlite",),
        },
    ),
    Destination(
        "data",
        "jsonl",
        {"ja": "プログラムで使うデータ（JSON Lines）", "en": "Data for programs (JSON Lines)"},
        {
            "ja": ("{out} の .jsonl は1行が1件です。項目の説明は docs/export.md にあります。",),
            "en": ("Each line of the .jsonl files of {out} is a record; docs/export.md names the members.",),
        },
    ),
    Destination(
        "bag",
        "bagit",
        {"ja": "丸ごと保管（非公開の記事も入る BagIt）", "en": "Everything, to keep safe (BagIt; private entries too)"},
        {
            "ja": ("{out} を丸ごと別の場所に保管します。非公開の記事も入っているので、公開しないでください。",),
            "en": ("Keep {out} as a whole in another place. Private entries are in it: never publish it.",),
        },
        {"only": "all"},
    ),
)
"""Every place, in the order it is offered."""
