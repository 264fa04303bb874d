"""What the questions of ``export`` say, in Japanese and in English."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from exporter.export.words import Language

LANGUAGES: Final[tuple[Language, ...]] = ("ja", "en")

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
        "entries": "記事",
        "comments": "コメント",
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
        "entries": "entries",
        "comments": "comments",
        "such_as": "such as",
    },
}  # fmt: skip
"""Every text by its language and name; fields in braces are the same in both."""


def language_of(environment: Mapping[str, str]) -> Language:
    """Return the language that the system's locale asks for: Japanese, else English."""
    locale = next(filter(None, (environment.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
    return "ja" if locale.lower().startswith("ja") else "en"
