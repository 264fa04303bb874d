"""A report's short table in the language of the questions. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from exporter.exporters.report import KINDS, names
from exporter.model.publication import IN_THE_NEWEST
from exporter.render import columns

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
    for pattern, text in _JAPANESE:
        if pattern.fullmatch(reason):
            return pattern.sub(text, reason)
    return reason


def report_lines(document: Mapping[str, Any], words: Mapping[str, str], language: str) -> Iterator[str]:
    """Yield a report's short table and its reasons; strangers' text in it is not made safe for a terminal yet."""
    heads = ("in", "written", "referred", "left")
    yield columns.left("", 12) + "".join(columns.right(words[name], 11) for name in heads)
    for kind in KINDS:
        left = sum(row["count"] for row in document["left_out"] if row["kind"] == kind)
        numbers = (document["in"][kind], document["out"][kind], document["referred"][kind], left)
        yield columns.left(_kind(kind, words), 12) + "".join(f"{number:>11,}" for number in numbers)
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
