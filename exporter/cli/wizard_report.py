"""What the questions of ``export`` say, in Japanese and in English."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from exporter import text
from exporter.export.report import KINDS, names
from exporter.model.publication import IN_THE_NEWEST

LANGUAGES: Final = ("ja", "en")

WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "ja": {
        "archive": "どのアーカイブを書き出しますか（フォルダー）",
        "no_archive": "{path} はアーカイブではありません。archive.json のあるフォルダーを指定してください。",
        "of": "ブログ {blog_id} の引っ越しを準備します。Ctrl-C でいつでもやめられます。",
        "where": "どこへ引っ越しますか",
        "number": "番号",
        "no_number": "1 から {most} までの番号で答えてください。",
        "flags": "どの記事が公開中なのか、まだわかりません。記事とコメントに付いている印は次のとおりです。",
        "flags_hint": "例の記事が公開されているか、ブログで確かめてください。わからなければ、空のままにしてください。",
        "open": "公開されている記事の open_flg の値（複数ならコンマで区切る。空なら、すべて下書きとして書き出す）",
        "open_only": "公開されている記事の open_flg の値（複数ならコンマで区切る）",
        "no_drafts": "この形式には下書きがないので、公開されている値が要ります。Ctrl-C でやめられます。",
        "drafts": "すべて下書きとして書き出します。非公開の記事は入りません。",
        "using": "{blog_id} について前に控えた答えを使います: {said}（{path}）",
        "period": "period_flg が t の記事も公開されていますか",
        "deleted": "表示されているコメントの delete_flg の値（空なら、コメントは書き出さない）",
        "no_value": "表にある値で答えてください: {known}",
        "pictures": "画像はどうしますか",
        "stay": "今の場所のままにする（引っ越し先が取りに行く）",
        "bring": "画像も書き出し、自分で新しい場所に置く",
        "base": "画像を置く場所の URL（例 https://example.com/media/）",
        "no_base": "https:// で始まる URL で答えてください。",
        "title": "本の題名",
        "vertical": "縦書きにしますか",
        "by_year": "1年ごとに1冊にしますか",
        "rest": "下書きや非公開の記事も、別のフォルダーに書き出しますか",
        "rest_of_drafts": "非公開の記事も、別のフォルダーに書き出しますか",
        "out": "書き出し先の新しいフォルダー",
        "taken": "{path} には書き出せません。まだないフォルダーの名前にしてください（アーカイブの中も使えません）。",
        "checking": "確かめています。まだ何も書き出していません。",
        "nothing": "公開中の記事がひとつもありません。上の理由を見てください。",
        "go": "この内容で書き出しますか",
        "stopped": "何も書き出しませんでした。",
        "only_checked": "確かめただけで、何も書き出していません。",
        "done": "{path} に書き出しました（ファイル {files} 個、{size}）。",
        "report": "詳しい報告: {path}",
        "private": "{path} には公開していない記事が入っています。インポートにも公開にも使わないでください。",
        "kept": "答えを {path} に控えました。次からは聞きません。",
        "next": "次にすること",
        "again": "同じ書き出しをもう一度するには",
        "yes": "はい",
        "no": "いいえ",
        "yes_or_no": "y か n で答えてください。",
        "in": "ある数",
        "written": "書き出す",
        "referred": "URLだけ",
        "left": "残す",
        "entries": "記事",
        "comments": "コメント",
        "files": "画像など",
        "categories": "カテゴリー",
        "left_row": "残す　: {kind} {count}件 {reason}{ids}",
        "referred_row": "URLだけ: {kind} {count}件 {reason}{ids}",
        "changed_row": "変える: {kind} {count}件 {reason}{ids}",
        "mind_row": "注意　: {kind} {count}件 {reason}{ids}",
        "ids": "（{ids}）",
        "such_as": "例",
    },
    "en": {
        "archive": "Which archive is to be exported (its folder)",
        "no_archive": "{path} is no archive; name a folder with an archive.json in it.",
        "of": "Moving the blog {blog_id}. Ctrl-C ends this at any time.",
        "where": "Where does the blog go?",
        "number": "Number",
        "no_number": "Please answer with a number from 1 to {most}.",
        "flags": "Nothing says yet which entries are public. These are the flags that entries and comments have:",
        "flags_hint": "Look the samples up on the blog to see which are public; if in doubt, leave the answer empty.",
        "open": "Values of open_flg that are public (commas between several; empty: everything becomes a draft)",
        "open_only": "Values of open_flg that are public (commas between several)",
        "no_drafts": "This format has no drafts, so the values that are public must be known. Ctrl-C ends here.",
        "drafts": "Everything will be a draft. Private entries stay out.",
        "using": "Using what was kept for {blog_id}: {said} (in {path})",
        "period": "Are entries with period_flg t public too?",
        "deleted": "Values of delete_flg of comments that are shown (empty: no comments)",
        "no_value": "Please answer with values of the table: {known}",
        "pictures": "What about the pictures?",
        "stay": "Leave them where they are (the new home fetches them)",
        "bring": "Export them too; I will put them in a new place",
        "base": "Address of that place (such as https://example.com/media/)",
        "no_base": "Please answer with an address that begins with https://.",
        "title": "Title of the book",
        "vertical": "Shall lines run from top to bottom?",
        "by_year": "A book for each year?",
        "rest": "Write drafts and private entries too, into a folder of their own?",
        "rest_of_drafts": "Write private entries too, into a folder of their own?",
        "out": "New folder to write into",
        "taken": "{path} cannot be written to: name a folder that is not there yet, and not in the archive.",
        "checking": "Checking; nothing is written yet.",
        "nothing": "No entry is public; the lines above say why.",
        "go": "Write this?",
        "stopped": "Nothing was written.",
        "only_checked": "This was a check only; nothing was written.",
        "done": "Written to {path} (files: {files}, {size}).",
        "report": "The whole report: {path}",
        "private": "{path} holds what is not public: never import or publish it.",
        "kept": "Your answers are kept in {path}, and will not be asked for again.",
        "next": "Next steps",
        "again": "To do the same again",
        "yes": "yes",
        "no": "no",
        "yes_or_no": "Please answer y or n.",
        "in": "in",
        "written": "written",
        "referred": "referred",
        "left": "left out",
        "entries": "entries",
        "comments": "comments",
        "files": "pictures",
        "categories": "categories",
        "left_row": "left out: {count} {kind}: {reason}{ids}",
        "referred_row": "referred: {count} {kind}: {reason}{ids}",
        "changed_row": "changed: {count} {kind}: {reason}{ids}",
        "mind_row": "mind: {count} {kind}: {reason}{ids}",
        "ids": " ({ids})",
        "such_as": "such as",
    },
}  # fmt: skip
"""Every text by its language and name; fields in braces are the same in both."""


def language_of(environment: Mapping[str, str]) -> str:
    """Return the language that the system's locale asks for: Japanese, else English."""
    locale = next(filter(None, (environment.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
    return "ja" if locale.lower().startswith("ja") else "en"


_REASONS: Final[tuple[tuple[str, str], ...]] = (
    (r"not public: is_private is (.*)", r"非公開の記事です（is_private が \1）"),
    (r"not public: open_flg (.*) is not declared public", r"open_flg が \1 の記事は公開と決められていません"),
    (r"not public: period_flg (.*) is not declared public", r"period_flg が \1 の記事は公開と決められていません"),
    (r"not public: its date is impossible or missing", "日付がないか、ありえない日付です"),
    (r"not public: its date is later than the backup", "バックアップより後の日付です"),
    (r"not public: all entries are drafts, as asked for", "すべて下書きにすると決めました"),
    (r"not public: the newest version does not hold it any more", "最新の状態にはもうありません（削除されました）"),
    (r"the newest version does not hold it any more", "最新の状態にはもうありません（削除されました）"),
    (r"public, and so in the other export", "公開の記事なので、もう一方に入ります"),
    (r"a draft, and in the other export", "下書きなので、もう一方に入ります"),
    (r"of another category", "ほかのカテゴリーです"),
    (r"without a date, and a span of dates was asked for", "日付がないので、期間に入るかわかりません"),
    (r"outside of the dates asked for", "指定した期間の外です"),
    (r"listed, but the archive has no full record of it", "一覧にはありますが、本文がアーカイブにありません"),
    (r"its entries are left out", "このカテゴリーの記事を書き出しません"),
    (r"its entry is not in this export", "その記事を書き出しません"),
    (r"its entry is not in the archive", "その記事がアーカイブにありません"),
    (r"delete_flg (.*) is not visible", r"delete_flg が \1 のコメントは表示と決められていません"),
    (r"the format has a row for each entry only", "1記事1行の表なので入りません"),
    (r"the format has no place for comments", "この形式にはコメントの場所がありません"),
    (r"the format has no place for pictures", "この形式には画像の場所がありません"),
    (r"redirects hold addresses only", "転送の一覧には入りません"),
    (r"the book was asked for without comments", "コメントなしの本にすると決めました"),
    (r"lacks a field of the patterns, or shares its old address", "URL を作れないか、元の URL がほかの記事と同じです"),
    (r"the archive does not have it", "アーカイブにありません"),
    (r"only its old address is written; .*", "元の場所を指したままです（--media-folder でファイルも書き出せます）"),
    (r"only its new address is written, .*", "新しい場所の URL だけを書きます。ファイルはそこに置いてください"),
    (r"only its address is written, from where .*", "URL だけを書きます。引っ越し先がそこから取り込みます"),
    (r"the page shows it nowhere", "このページには表示されません"),
    (r"date moved by seconds, since another has its title and date", "題名と日付の同じ記事があり、秒をずらしました"),
    (r"date impossible or missing, replaced by the nearest known", "日付が正しくないので、わかる日付で補いました"),
    (r"lines defused that an importer would take for keys or separators", "区切りに見える行を書き換えました"),
    (r"long lines broken", "長すぎる行を、見た目の変わらない所で分けました"),
    (r"link text of the continuation written as its first line", "「続きを読む」の文字を、続きの1行目に書きました"),
    (r"body kept as HTML, since the generator would run what is in it", "命令と間違われる本文を HTML で書きました"),
    (r"an empty comment added, .*", "本文も題名もない記事は捨てられるので、見えない印を入れました"),
    (r"characters (?:removed|replaced|removed or replaced).*", "この形式に書けない文字を除きました"),
    (r"links made plain text, since no e-reader .*", "電子書籍で開けないリンクを、ただの文字にしました"),
    (r"a book holds pictures only; .*", "本に入るのは画像だけなので、リンクのままです"),
    (r"category's name cut .*", "カテゴリー名が長すぎるので、途中で切りました"),
    (r"cells defused that a spreadsheet would calculate", "計算式と間違われるセルの頭に ' を付けました"),
    (r"text cut at the 32,767 characters a cell holds", "セルに入る 32,767 文字で切りました"),
    (r"title cut at .*", "題名が長すぎるので、途中で切りました"),
    (r"title made up, since Ghost wants one", "題名がないので補いました"),
    (r"tag's first character .*", "タグの1文字目が記号と間違われるので、全角にしました"),
    (r"name cut at .*", "名前が長すぎるので、途中で切りました"),
    (r"address above .* left out", "URL が長すぎるので除きました"),
    (r"tag cut at .*", "タグの名前が長すぎるので、途中で切りました"),
    (r"links to entries that are not in this export", "書き出さない記事へのリンクがあります"),
    (r"has an old address that only redirects.csv can hold", "元の URL を表せるのは redirects.csv だけです"),
    (r"lone surrogates replaced, .*", "文字のかけら（不正な文字コード）を置き換えました"),
    (r"without a title", "題名がありません"),
    (r"has a title above the (\S+) bytes WordPress holds", r"題名が、WordPress に入る \1 バイトより長くなっています"),
    (r"has a comment above the (\S+) bytes WordPress holds", r"WordPress に入る \1 バイトより長いコメントがあります"),
    (r"has scripts, frames or forms, which most services drop", "スクリプトや埋め込みがあり、消されることがあります"),
    (r"has lines longer than old importers read at once", "古い取り込みでは途中で切れる長さの行があります"),
    (r"is larger than a file may be, and has one of its own", "1記事だけでファイルの上限を超えます"),
    (r"shows pictures that the archive does not have", "アーカイブにない画像があります"),
)  # fmt: skip
_NEWEST: Final = "{}（最新の状態で）"
_JAPANESE: Final = tuple((re.compile(pattern), text) for pattern, text in _REASONS)


def translated(reason: str, language: str) -> str:
    """Return a reason of a report in a language; in English where no other words are known."""
    if language != "ja":
        return reason
    if IN_THE_NEWEST in reason:
        return _NEWEST.format(translated(reason.replace(IN_THE_NEWEST, "", 1), language))
    for pattern, japanese in _JAPANESE:
        if pattern.fullmatch(reason):
            return pattern.sub(japanese, reason)
    return reason


def report_lines(document: Mapping[str, Any], words: Mapping[str, str], language: str) -> Iterator[str]:
    """Yield a report's short table and its reasons; strangers' text in it is not made safe for a terminal yet."""
    heads = ("in", "written", "referred", "left")
    yield text.left("", 12) + "".join(text.right(words[name], 11) for name in heads)
    for kind in KINDS:
        left = sum(row["count"] for row in document["left_out"] if row["kind"] == kind)
        numbers = (document["in"][kind], document["out"][kind], document["referred"][kind], left)
        yield text.left(_kind(kind, words), 12) + "".join(f"{number:>11,}" for number in numbers)
    for row in document["left_out"]:
        yield _row("left_row", row["kind"], row["reason"], row["count"], row["ids"], words, language)
    for row in document["by_address"]:
        yield _row("referred_row", row["kind"], row["reason"], row["count"], row["ids"], words, language)
    for row in document["changed"]:
        yield _row("changed_row", row["kind"], row["what"], row["records"], row["ids"], words, language)
    for row in document["preflight"]:
        yield _row("mind_row", "entries", row["limit"], row["count"], row["entries"], words, language)


def _row(form: str, kind: str, reason: str, count: int, ids: list[str], words: Mapping[str, str], language: str) -> str:
    named = words["ids"].format(ids=names(ids)) if ids else ""
    return words[form].format(
        kind=_kind(kind, words), count=f"{count:,}", reason=translated(reason, language), ids=named
    )


def _kind(kind: str, words: Mapping[str, str]) -> str:
    return words["files" if kind == "pictures" else kind]
