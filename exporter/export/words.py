"""What became of the records of an export, and why: facts, and the one table of their words in each language. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, Literal

from exporter.export.targets import Matter
from exporter.model.publication import Cause, Hidden

Language = Literal["en", "ja"]
Part = Literal["left_out", "by_address", "changed", "preflight", "closing"]

HEADINGS: Final[Mapping[Language, Sequence[str]]] = {
    "en": ("in", "written", "referred", "left out"),
    "ja": ("ある数", "書き出す", "URLだけ", "残す"),
}
ROWS: Final[Mapping[Language, Mapping[Part, str]]] = {
    "en": {
        "left_out": "left out: {count} {kind}: {why}",
        "by_address": "referred: {count} {kind}: {why}",
        "changed": "changed: {count} {kind}: {why}",
        "preflight": "mind: {count} {kind}: {why}",
        "closing": "closing: {count} {kind}: {why}",
    },
    "ja": {
        "left_out": "残す　: {kind} {count}件 {why}",
        "by_address": "URLだけ: {kind} {count}件 {why}",
        "changed": "変える: {kind} {count}件 {why}",
        "preflight": "注意　: {kind} {count}件 {why}",
        "closing": "閉鎖後: {kind} {count}件 {why}",
    },
}
NOTHING_LOST: Final[Mapping[Language, str]] = {
    "en": "closing: nothing of this is lost when the old blog closes",
    "ja": "閉鎖後: 元のブログがなくなっても、失われるものはありません",
}
IDS: Final[Mapping[Language, str]] = {"en": " ({})", "ja": "（{}）"}
INFERRED: Final[Mapping[Language, str]] = {
    "en": "addresses of entries are read as {pattern}, as {count} in the texts show; --old-url gives another pattern",
    "ja": "記事の URL は {pattern} とみなします（本文中の {count}件から）。--old-url で変えられます",
}
LINKS: Final[Mapping[Language, str]] = {
    "en": "links to the blog itself: {rewritten} lead to the new home, {old_host} to the old blog still, "
    "{dead} to entries that are gone",
    "ja": "自分のブログへのリンク: 新しい場所へ {rewritten}件、元のブログのまま {old_host}件、消えた記事へ {dead}件",
}
_KINDS: Final = {
    "entries": ("entry", "entries", "記事"),
    "comments": ("comment", "comments", "コメント"),
    "pictures": ("picture", "pictures", "画像など"),
    "categories": ("category", "categories", "カテゴリー"),
    "links": ("link", "links", "リンク"),
}


class Reason(Enum):
    """Why a record is left out, referred to or changed, with the words in English and Japanese.

    The English words are also those of ``OUT.report.json``. ``{value}`` and ``{field}`` are those of a :class:`Cause`.
    """

    # Entries that are left out.
    IN_PUBLIC = ("public, and so in the other export", "公開の記事なので、もう一方に入ります")
    IN_DRAFTS = ("a draft, and in the other export", "下書きなので、もう一方に入ります")
    OTHER_CATEGORY = ("of another category", "ほかのカテゴリーです")
    NO_DAY = ("without a date, and a span of dates was asked for", "日付がないので、期間に入るかわかりません")
    OTHER_DAY = ("outside of the dates asked for", "指定した期間の外です")
    NOT_READ = ("listed, but the archive has no full record of it", "一覧にはありますが、本文がアーカイブにありません")
    NO_NEW_ADDRESS = (
        "lacks a field of the patterns, or shares its old address",
        "URL を作れないか、元の URL がほかの記事と同じです",
    )
    # Comments and categories that are left out.
    ENTRIES_LEFT_OUT = ("its entries are left out", "このカテゴリーの記事を書き出しません")
    ENTRY_LEFT_OUT = ("its entry is not in this export", "その記事を書き出しません")
    ENTRY_UNKNOWN = ("its entry is not in the archive", "その記事がアーカイブにありません")
    ROWS_OF_ENTRIES = ("the format has a row for each entry only", "1記事1行の表なので入りません")
    ADDRESSES_ONLY = ("redirects hold addresses only", "転送の一覧には入りません")
    COMMENTS_UNWANTED = ("only --comments body or sidecar writes them", "--comments body か sidecar で書き出せます")
    NO_TEXT = ("without a text, and Blogger takes none such", "本文がなく、Blogger に受け取られません")
    # Pictures that are left out or referred to.
    NOT_SAVED = ("the archive does not have it", "アーカイブにありません")
    NOT_SAVED_YET = (
        "the archive does not have it yet; every backup tries again",
        "まだアーカイブにありません。バックアップのたびに、もう一度読みます",
    )
    GONE = ("it was gone before it could be saved", "保存する前に、なくなっていました")
    NO_PICTURES = ("the format has no place for pictures", "この形式には画像の場所がありません")
    NOT_SHOWN = ("the page shows it nowhere", "このページには表示されません")
    OLD_ADDRESS = (
        "only its old address is written; --media-folder would bring the file along",
        "元の場所を指したままです（--media-folder でファイルも書き出せます）",
    )
    NEW_ADDRESS = (
        "only its new address is written, below --media-base-url; the file must be put there",
        "新しい場所の URL だけを書きます。ファイルはそこに置いてください",
    )
    FETCHED = (
        "only its address is written, from where the target fetches the file",
        "URL だけを書きます。引っ越し先がそこから取り込みます",
    )
    NOT_TAKEN = ("the new home does not take it", "引っ越し先が受け付けません")
    DELETED_THERE = ("deleted in the new home since it was moved", "引っ越し先で削除されています")
    NO_PICTURE = (
        "a book holds pictures only; a link leads to its address",
        "本に入るのは画像だけなので、リンクのままです",
    )
    ACTIVE_FILE = (
        "a browser could run what is in it; its old address is linked to",
        "ブラウザーが中身を実行しかねないので、元の URL へのリンクにします",
    )
    # What is written otherwise.
    DATE_MOVED = (
        "date moved by seconds, since another has its title and date",
        "題名と日付の同じ記事があり、秒をずらしました",
    )
    DATE_REPLACED = (
        "date impossible or missing, replaced by the nearest known",
        "日付が正しくないので、わかる日付で補いました",
    )
    LINES_DEFUSED = (
        "lines defused that an importer would take for keys or separators",
        "区切りに見える行を書き換えました",
    )
    LINES_BROKEN = ("long lines broken", "長すぎる行を、見た目の変わらない所で分けました")
    LEAD_MOVED = (
        "link text of the continuation written as its first line",
        "「続きを読む」の文字を、続きの1行目に書きました",
    )
    KEPT_AS_HTML = (
        "body kept as HTML, since the generator would run its Markdown, or leave it unread",
        "命令と間違われるか、読まれない本文を、HTML で書きました",
    )
    ONLY_TEXT = (
        "too large to be shown with its markup: its text only",
        "大きすぎるので、書式を除いて文字だけを書きました",
    )
    NOT_EMPTY = (
        "an empty comment added, since WordPress drops posts without texts",
        "本文も題名もない記事は捨てられるので、見えない印を入れました",
    )
    SCRIPTS_LEFT_OUT = (
        "scripts left out; where one is known to show something, there is a link to it",
        "スクリプトを除きました（何を表示するかわかるものは、リンクにしました）",
    )
    COMMANDS_DEFUSED = (
        "comments defused that WordPress obeys, such as <!--more-->",
        "WordPress が指示と見るコメントを、無効にしました",
    )
    NOT_IN_IMPORTS = ("characters removed that no importer reads", "この形式に書けない文字を除きました")
    NOT_IN_XML = ("characters removed that XML cannot hold", "この形式に書けない文字を除きました")
    NOT_IN_XML_OF = ("characters removed from the {field} that XML cannot hold", "この形式に書けない文字を除きました")
    NOT_IN_BOOKS = ("characters removed or replaced that XML cannot hold", "この形式に書けない文字を除きました")
    NOT_IN_PAGES = ("characters replaced that a page or its feed cannot hold", "この形式に書けない文字を除きました")
    NOT_IN_TEXT = ("characters replaced that a text file cannot hold", "この形式に書けない文字を除きました")
    SURROGATES = (
        "lone surrogates replaced, which many readers of JSON refuse",
        "文字のかけら（不正な文字コード）を置き換えました",
    )
    LINKS_DROPPED = (
        "links made plain text, since no e-reader follows such addresses",
        "電子書籍で開けないリンクを、ただの文字にしました",
    )
    CATEGORY_CUT = (
        "category's name cut at the {value} characters WordPress holds",
        "カテゴリー名が長すぎるので、途中で切りました",
    )
    FOLDER_CUT = (
        "category's name cut to what a folder's name can hold",
        "カテゴリー名が長すぎるので、途中で切りました",
    )
    FORMULA = ("cells defused that a spreadsheet would calculate", "計算式と間違われるセルの頭に ' を付けました")
    CELL_CUT = ("text cut at the {value} characters a cell holds", "セルに入る {value} 文字で切りました")
    TITLE_CUT = ("title cut at the {value} characters Ghost holds", "題名が長すぎるので、途中で切りました")
    TITLE_MADE = ("title made up, since Ghost wants one", "題名がないので補いました")
    TAG_WIDENED = (
        "tag's first character written full-width, since Ghost reads it otherwise",
        "タグの1文字目が記号と間違われるので、全角にしました",
    )
    TAG_CUT = ("tag cut at the {value} characters Ghost holds", "タグの名前が長すぎるので、途中で切りました")
    LABEL_WIDENED = (
        "label's & < > @ ! written full-width, since Blogger allows none of them",
        "ラベルに使えない文字を、全角にしました",
    )
    LABEL_CUT = ("label cut at the {value} characters Blogger holds", "ラベルが長すぎるので、途中で切りました")
    NAME_MADE = ("name made up, since Blogger wants one", "名前がないので補いました")
    NAME_CUT = ("name cut at the {value} bytes WordPress holds", "名前が長すぎるので、途中で切りました")
    ADDRESS_CUT = ("address above {value} characters left out", "URL が長すぎるので除きました")
    # Known limits of targets that an entry meets.
    LEADS_OUT = ("links to entries that are not in this export", "書き出さない記事へのリンクがあります")
    PICTURE_LOST = ("shows pictures that the archive does not have", "アーカイブにない画像があります")
    CSV_ONLY = (
        "has an old address that only redirects.csv can hold",
        "元の URL を表せるのは redirects.csv だけです",
    )
    NAME_OF_DIGITS = (
        "has a name of digits alone, to which WordPress adds -2 where addresses have only the name (/%postname%/)",
        "URL の名前が数字だけです。パーマリンクが /%postname%/ の WordPress では -2 が付きます",
    )
    NO_TITLE = ("without a title", "題名がありません")
    NO_ADDRESS = (
        "without a whole address for Disqus, which --new-url gives",
        "Disqus に要る URL が、まだわかりません（--new-url で指定します）",
    )
    COMMENT_SHORT = (
        "has a comment under three characters, which Disqus does not take",
        "Disqus に受け取られない、3文字より短いコメントがあります",
    )
    TITLE_LONG = (
        "has a title above the {value} bytes WordPress holds",
        "題名が、WordPress に入る {value} バイトより長くなっています",
    )
    COMMENT_LONG = (
        "has a comment above the {value} bytes WordPress holds",
        "WordPress に入る {value} バイトより長いコメントがあります",
    )
    ACTIVE = (
        "has scripts, frames or forms, which most services drop",
        "スクリプトや埋め込みがあり、消されることがあります",
    )
    LINES_LONG = (
        "has lines longer than old importers read at once",
        "古い取り込みでは途中で切れる長さの行があります",
    )
    TITLE_OVER = (
        "has a title above {value} characters, which may be cut",
        "題名が {value} 文字より長く、途中で切られるかもしれません",
    )
    NOT_KEPT = ("has {field}, which {value} does not keep", "{value} では、{field}が保たれません")
    NOT_SURE = (
        "has {field}, which {value} is not confirmed to keep",
        "{value} で{field}が保たれるかは、確認できていません",
    )
    # What is lost, or stays in the archive alone, when the old blog closes.
    LOST_UNLESS_FETCHED = (
        "lost with the old blog, unless fetched before by the import",
        "閉じる前にインポートを済ませないと、失われます",
    )
    LOST_WITH_THE_OLD = (
        "lost with the old blog, since only the old address is written",
        "元の場所の URL だけを書くので、引っ越し先で見えなくなります",
    )
    LOST_UNLESS_SAVED = (
        "lost with the old blog, unless saved before by a backup",
        "閉じる前のバックアップで保存できなければ、失われます",
    )
    LOST_ALREADY = ("gone already, and not in the archive", "もうなくなっていて、アーカイブにもありません")
    NOT_IN_ARCHIVE = (
        "never saved, by choice or since nothing is known of them",
        "保存しないと決めたか、何もわかっていません",
    )
    LINK_DEAD = ("to the old blog, dead once it closes", "元のブログを指しているので、開けなくなります")
    DRAFT_STAYS = (
        "not in this export, being drafts; kept by the archive",
        "下書きなので、ここには入りません（アーカイブには残ります）",
    )
    PRIVATE_STAYS = (
        "not in this export, being private; kept by the archive",
        "非公開なので、ここには入りません（アーカイブには残ります）",
    )
    FILE_LARGE = ("is larger than a file may be, and has one of its own", "1記事だけでファイルの上限を超えます")

    def at(self, value: int) -> Cause:
        """Return the reason with the limit that it names."""
        return Cause(self, value=f"{value:,}")


_OF_TARGETS: Final = (Reason.NOT_KEPT, Reason.NOT_SURE)
_MATTERS: Final[Mapping[str, tuple[str, str]]] = {
    Matter.COMMENTS: ("comments", "コメント"),
    Matter.PICTURES: ("pictures", "画像"),
    Matter.DRAFTS: ("the state of a draft", "下書きの状態"),
    Matter.CATEGORIES: ("a category", "カテゴリー"),
    Matter.SLUGS: ("an address of its own", "記事の URL の名前"),
}
_HIDDEN: Final[Mapping[Hidden, tuple[str, str]]] = {
    Hidden.FLAG: ("{field} is {value}", "非公開の記事です（{field} が {value}）"),
    Hidden.UNDECLARED: (
        "{field} {value} is not declared public",
        "{field} が {value} の記事は公開と決められていません",
    ),
    Hidden.ALL_DRAFTS: ("all entries are drafts, as asked for", "すべて下書きにすると決めました"),
    Hidden.NO_DATE: ("its date is impossible or missing", "日付がないか、ありえない日付です"),
    Hidden.LATER: ("its date is later than the backup", "バックアップより後の日付です"),
    Hidden.REMOVED: (
        "the newest version does not hold it any more",
        "最新の状態にはもうありません（削除されました）",
    ),
    Hidden.COMMENT: (
        "{field} {value} is not visible",
        "{field} が {value} のコメントは表示と決められていません",
    ),
}
_SINCE: Final = ("in the newest version, {}", "{}（最新の状態で）")


def kind_name(kind: str, count: int, language: Language) -> str:
    """Return what so many records of a kind are called."""
    one, several, japanese = _KINDS[kind]
    return japanese if language == "ja" else one if count == 1 else several


def sentence(kind: str, cause: Cause, language: Language) -> str:
    """Return why something happened to a record of a kind."""
    at = 0 if language == "en" else 1
    hidden = cause.reason if isinstance(cause.reason, Hidden) else None
    template = _HIDDEN[hidden][at] if hidden is not None else cause.reason.value[at]
    field = _MATTERS[cause.field][at] if cause.reason in _OF_TARGETS else cause.field
    text = template.format(field=field, value=cause.value)
    text = _SINCE[at].format(text) if cause.newest else text
    return f"not public: {text}" if hidden is not None and kind == "entries" and language == "en" else text
