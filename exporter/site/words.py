"""What the interface says, in Japanese and in English, and how it writes dates. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import Final

from exporter.clock import at_home

_WORDS: Final[dict[str, tuple[str, str]]] = {
    "language": ("ja", "en"),
    "skip": ("本文へ", "Skip to the text"),
    "home": ("ホーム", "Home"),
    "years": ("年月", "By date"),
    "categories": ("カテゴリー", "Categories"),
    "comments": ("コメント", "Comments"),
    "gallery": ("写真", "Pictures"),
    "statistics": ("統計", "Statistics"),
    "history": ("変更履歴", "History"),
    "about": ("この保存版について", "About this copy"),
    "search": ("検索", "Search"),
    "search_hint": ("ことばをさがす", "Search the blog"),
    "menu": ("ページ", "Pages"),
    "theme": ("明るさを切り替える", "Light or dark"),
    "shortcuts": ("キー操作", "Keys"),
    "blog_copy": ("ブログの保存版", "A copy of the blog"),
    "recent": ("新しい記事", "Recent entries"),
    "all_entries": ("すべての記事", "All entries"),
    "on_this_day": ("この日の記事", "On this day"),
    "continue": ("続きを読む", "Continue reading"),
    "random": ("ランダムに読む", "Any one"),
    "count": ("記事 %d 件", "Entries: %d"),
    "since": ("%s から %s まで", "%s to %s"),
    "previous": ("前の記事", "Previous entry"),
    "next": ("次の記事", "Next entry"),
    "newer": ("新しいほうへ", "Newer"),
    "older": ("古いほうへ", "Older"),
    "mentions": ("この記事にふれている記事", "Entries that mention this one"),
    "alike": ("似ている記事", "Entries like this one"),
    "untitled": ("(無題)", "(untitled)"),
    "undated": ("日付のない記事", "Entries without a date"),
    "uncategorised": ("カテゴリーなし", "No category"),
    "nameless": ("(名前なし)", "(no name)"),
    "private": ("非公開", "Private"),
    "private_tip": ("本人だけが読める記事です", "Only its writer could read this entry"),
    "access": ("公開設定 %s", "Visibility code %s"),
    "gone": ("配信元から消えた記事", "Entries gone upstream"),
    "gone_since": (
        "%s 以降、配信元にはありません。ここにあるのは最後の姿です。",
        "Gone upstream since %s. This is how it last was.",
    ),
    "more": ("続き", "Continued"),
    "copy_code": ("コピー", "Copy"),
    "copied": ("コピーしました", "Copied"),
    "text_settings": ("文字の設定", "Text settings"),
    "text_sign": ("あ", "Aa"),
    "text_face": ("書体", "Typeface"),
    "text_sans": ("ゴシック", "Sans serif"),
    "text_serif": ("明朝", "Serif"),
    "text_size": ("大きさ", "Size"),
    "text_small": ("小", "Small"),
    "text_medium": ("標準", "Medium"),
    "text_large": ("大", "Large"),
    "text_largest": ("特大", "Largest"),
    "text_way": ("文字の向き", "Direction"),
    "text_horizontal": ("横書き", "Horizontal"),
    "text_vertical": ("縦書き", "Vertical"),
    "contents": ("目次", "Contents"),
    "minutes": ("約 %d 分で読めます", "%d min read"),
    "n_comments": ("コメント %d 件", "Comments: %d"),
    "hidden_flag": ("表示フラグ t", "Flagged t"),
    "answers": ("↩ %s への返事", "↩ to %s"),
    "own": ("筆者", "author"),
    "own_tip": ("バックアップしたユーザーの名前です", "The name of the user whose backup this is"),
    "replied": ("返信済み %s", "Answered %s"),
    "original": ("もとのアドレス", "Original address"),
    "record": ("もとの記録", "The record"),
    "record_lead": ("サービスが送ってきた値をそのまま示します。", "The values as the service sent them."),
    "cut": ("（長いため、ここまで）", "(too long to be shown here)"),
    "pictures": ("この記事の写真", "Pictures of this entry"),
    "picture": ("写真", "Picture"),
    "picture_before": ("前の写真", "Previous picture"),
    "picture_after": ("次の写真", "Next picture"),
    "no_pictures": ("保存された写真はまだありません。", "No picture has been saved yet."),
    "unused": ("どの記事にも使われていない写真", "Pictures no entry uses"),
    "no_comments": ("コメントはありません。", "There are no comments."),
    "orphans": ("記事のないコメント", "Comments without an entry"),
    "orphans_lead": (
        "ここにあるコメントの記事は、アーカイブにありません。",
        "The entries of these comments are not in the archive.",
    ),
    "unread": ("一覧にあるのに読めなかった記事", "Listed, but could not be read"),
    "updated": ("最終更新 %s", "Last update %s"),
    "period": ("期間の日付 %s", "Period date %s"),
    "entry_history": ("この記事の変更履歴", "How this entry changed"),
    "entry_history_lead": (
        "保存したそれぞれの版で、記事がどう変わったか。",
        "What changed in the entry with each version that was saved.",
    ),
    "changed_entries": ("変わった記事", "Entries that changed"),
    "n_versions": ("%d 版", "%d versions"),
    "version": ("第 %d 版", "Version %d"),
    "versions": ("版", "Versions"),
    "past_title": ("ある日のブログ", "The blog on another day"),
    "past_lead": (
        "保存したどの日の姿でも読めます。日を選んでください。",
        "The blog can be read as it was on any day it was saved. Choose one.",
    ),
    "past_at": ("%s のブログ", "The blog as of %s"),
    "past_back": ("今日へ戻る", "Back to today"),
    "past_pick": ("日を選ぶ", "Choose a day"),
    "past_older": ("前の版", "The version before"),
    "past_newer": ("後の版", "The version after"),
    "past_see": ("この版のブログを見る", "See the blog as of this version"),
    "past_not_yet": ("この日、この記事はまだありませんでした。", "On that day there was no such entry yet."),
    "past_today_only": ("このページは今日のものです。", "This page shows today."),
    "past_no_pictures": ("この日の写真はありません。", "There were no pictures on that day."),
    "past_damaged": (
        "この日から後の版に壊れたところがあり、そこで変わったものは今の姿で示しています。",
        "Versions after that day are damaged in places: what they changed there is shown as it is today.",
    ),
    "yes": ("はい", "yes"),
    "no": ("いいえ", "no"),
    "nothing": ("（なし）", "(none)"),
    "field_title": ("題名", "Title"),
    "field_slug": ("アドレスの中の名前", "Name in the address"),
    "field_body": ("本文", "Text"),
    "field_more_title": ("続きの見出し", "Heading of the continuation"),
    "field_more": ("続き", "Continuation"),
    "field_template": ("テンプレート", "Template"),
    "field_date": ("日時", "Date"),
    "field_updated": ("更新日時", "Last update"),
    "field_period_date": ("期間の日付", "Period date"),
    "field_category_id": ("カテゴリー番号", "Category number"),
    "field_private": ("非公開", "Private"),
    "field_access": ("公開設定", "Visibility code"),
    "field_comments_open": ("コメントの受付", "Takes comments"),
    "field_pings_open": ("トラックバックの受付", "Takes trackbacks"),
    "field_name": ("名前", "Name"),
    "field_text": ("本文", "Text"),
    "field_url": ("ホームページ", "Website"),
    "field_deleted": ("表示フラグ", "Flagged"),
    "field_reply": ("返信", "Answered"),
    "field_description": ("説明", "Description"),
    "field_bytes": ("大きさ（バイト）", "Size in bytes"),
    "field_width": ("幅", "Width"),
    "field_height": ("高さ", "Height"),
    "field_modified": ("変更日時", "Modified"),
    "field_extension": ("拡張子", "Extension"),
    "field_record": ("送られたままの記録", "The record as sent"),
    "earlier_state": ("以前の姿です。", "An earlier state."),
    "state_changed": ("%s に保存。%s には変わっていました。", "Saved %s; by %s it had changed."),
    "state_gone": ("%s に保存。%s には消えていました。", "Saved %s; by %s it was gone."),
    "state_before": ("ひとつ前の姿", "The state before"),
    "state_after": ("ひとつ後の姿", "The state after"),
    "state_now": ("今の記事", "The entry today"),
    "read_state": ("この姿を読む", "Read this state"),
    "read_before": ("変わる前の姿を読む", "Read the state before"),
    "what_changed": ("変わったところ", "What changed"),
    "compare": ("比べる版", "Versions to compare"),
    "new": ("新規", "new"),
    "changed": ("変更", "changed"),
    "gone_word": ("消失", "gone"),
    "nothing_new": ("この版で変わった記事はありません。", "No entry changed in this version."),
    "everything": ("最初の版です。すべてがここから始まります。", "The first version: everything begins here."),
    "damaged_state": (
        "この版の姿は壊れていて、ほかに写しがありません。",
        "This state is damaged, and there is no other copy of it.",
    ),
    "damaged_places": (
        "壊れていて示せないもの: %d 件",
        "Damaged, and so not shown: %d",
    ),
    "not_all": ("ほか %d 件", "and %d more"),
    "no_history": ("版の記録はありません。", "There is no record of versions."),
    "provenance": ("この版の来歴", "Where this version comes from"),
    "captured": ("保存した日時", "Captured"),
    "completeness": ("そろっているか", "Completeness"),
    "complete": ("すべてあり", "complete"),
    "incomplete": ("欠けあり", "incomplete"),
    "excepted": (
        "失われて取得できないものと、設定で除外したものは、下の表に数えてあります。",
        "What is gone for good, and what a setting leaves out, is counted in the table.",
    ),
    "listed": ("全部で", "Listed"),
    "saved": ("保存済み", "Saved"),
    "pending": ("まだ読めていない", "Pending"),
    "lost": ("失われた", "Gone for good"),
    "by_choice": ("設定で除外", "Left out by a setting"),
    "refused": ("アドレスの制限で拒否", "Refused by the address guard"),
    "doubtful": ("内容が疑わしい", "Doubtful"),
    "uploads": ("アップロードしたファイル", "Uploaded files"),
    "tool": ("作成ツール", "With"),
    "manifest": ("manifest.json の SHA-256", "SHA-256 of manifest.json"),
    "address": ("取得元", "Read from"),
    "blog": ("ブログ", "Blog"),
    "problems": ("読めなかったもの", "Could not be read"),
    "kind": ("種類", "Kind"),
    "total": ("合計", "Total"),
    "entries": ("記事", "Entries"),
    "entry_list": ("一覧の項目", "List items"),
    "files": ("ファイル", "Files"),
    "user": ("ユーザー", "User"),
    "assets": ("画像など", "Pictures and files"),
    "verify_title": ("確かめかた", "How to verify"),
    "verify_lead": (
        "アーカイブのフォルダーで次のどちらかを実行すると、すべてが書かれたときのままかどうかが分かります。",
        "In the folder of the archive, either of these tells whether all is as it was written.",
    ),
    "about_lead": (
        (
            "これはブログのバックアップから作られた読むためのページです。ネットワークにはつながりません。"
            "消しても、もとの記録からいつでも作り直せます。"
        ),
        (
            "These pages were made from a backup of the blog, for reading. They never use the network. "
            "They can be deleted and made again from the records at any time."
        ),
    ),
    "about_public": (
        "これはブログのバックアップから作られた、公開用のページです。",
        "These pages were made from a backup of the blog, to be published.",
    ),
    "per_month": ("月ごとの記事数", "Entries a month"),
    "heatmap": ("年と月の濃淡", "Years and months"),
    "comments_month": ("月ごとのコメント数", "Comments a month"),
    "lengths": ("記事の長さ", "Length of entries"),
    "sizes": ("保存した画像の大きさ（年ごと）", "Size of saved pictures by year"),
    "top_categories": ("よく使ったカテゴリー", "Most used categories"),
    "month": ("月", "Month"),
    "year": ("年", "Year"),
    "number": ("件数", "Number"),
    "characters": ("文字数", "Characters"),
    "bytes": ("バイト", "Bytes"),
    "table": ("表で見る", "As a table"),
    "sum_characters": ("全部で %s 文字", "%s characters in all"),
    "longest": ("いちばん長い記事", "The longest entry"),
    "needs_script": (
        "検索にはスクリプトが必要です。「年月」からすべての記事をたどれます。",
        "Search needs scripts. Every entry can be reached by date.",
    ),
    "results": ("%d 件", "%d found"),
    "searching": ("さがしています…", "Searching…"),
    "no_results": ("見つかりませんでした。", "Nothing was found."),
    "earlier_hits": ("前の版にあったもの", "In earlier versions"),
    "earlier_lead": (
        "いまの版にはもうない言いまわしです。",
        "What these said once, and do not say any more.",
    ),
    "show_more": ("さらに見る", "Show more"),
    "in_comment": ("コメント", "Comment"),
    "similar": ("似た表記も %d 件", "Similar spellings too: %d"),
    "sort": ("並び", "Order"),
    "sort_newest": ("新しい順", "Newest first"),
    "sort_best": ("関連の高い順", "Best first"),
    "hit_before": ("前の箇所", "Previous place"),
    "hit_after": ("次の箇所", "Next place"),
    "hits_clear": ("強調を消す", "Clear the marks"),
    "all": ("すべて", "All"),
    "year_facet": ("年", "Year"),
    "load_error": ("検索データを読めませんでした。", "The search data could not be read."),
    "key_search": ("検索する", "search"),
    "key_next": ("次へ", "next"),
    "key_previous": ("前へ", "previous"),
    "key_newer": ("次の記事", "next entry"),
    "key_older": ("前の記事", "previous entry"),
    "key_home": ("ホームへ", "home"),
    "key_theme": ("明るさ", "light or dark"),
    "key_help": ("この一覧", "this list"),
    "key_close": ("閉じる", "close"),
    "close": ("閉じる", "Close"),
    "footer": ("blog-exporter で保存しました", "Saved with blog-exporter"),
    "n_of": ("%d 枚", "%d pictures"),
    "fleet_title": ("保存したブログの一覧", "The saved blogs"),
    "fleet_blogs": ("ブログ %s 件", "Blogs: %s"),
    "fleet_entries": ("記事 %s 件", "Entries: %s"),
    "fleet_letters": ("頭文字からさがす", "By first letters"),
    "fleet_all": ("すべてのブログ", "All blogs"),
    "fleet_hint": ("ブログの名前をさがす", "Search the names of blogs"),
    "fleet_needs_script": (
        "名前の検索にはスクリプトが必要です。頭文字からすべてのブログをたどれます。",
        "Searching names needs scripts. Every blog can be reached by its first letters.",
    ),
    "fleet_page": ("%s / %s ページ", "Page %s of %s"),
    "fleet_before": ("前のページ", "Previous page"),
    "fleet_after": ("次のページ", "Next page"),
    "fleet_no_site": ("読むためのページなし", "no pages to read"),
    "fleet_partial": ("一部未保存", "not wholly saved"),
    "fleet_failed": ("前回の保存に失敗", "last backup failed"),
    "fleet_new": ("未保存", "not saved yet"),
    "fleet_damaged": ("破損", "damaged"),
}
"""By name: Japanese, English. ``%d`` and ``%s`` are filled in by whoever says it."""

LANGUAGES: Final[dict[str, dict[str, str]]] = {
    language: {name: said[at] for name, said in _WORDS.items()} for at, language in enumerate(("ja", "en"))
}


def field_name(attributes: Mapping[str, str], field: str, language: str = "en") -> str:
    """Return what a raw field is called in a language; one of several that say one thing is called as it was sent.

    Args:
        attributes: by the raw field, the attribute of its neutral record that is read from it.
        field: the raw field.
        language: one of :data:`LANGUAGES`.
    """
    attribute = attributes.get(field)
    alone = list(attributes.values()).count(attribute or "") == 1
    return LANGUAGES[language].get(f"field_{attribute}", field) if alone else field


_WEEKDAYS = "月火水木金土日"
_MONTHS = ("January", "February", "March", "April", "May", "June", "July",
           "August", "September", "October", "November", "December")  # fmt: skip


class Dates:
    """Writes dates in one of the languages; what the archive itself says of time is in UTC, and shown in ``zone``."""

    def __init__(self, language: str, zone: tzinfo = UTC) -> None:
        self._japanese = language == "ja"
        self._zone = zone

    def day(self, date: datetime | None) -> str:
        """Return a day as people write it; empty when there is none."""
        if date is None:
            return ""
        if self._japanese:
            return f"{date.year}年{date.month}月{date.day}日（{_WEEKDAYS[date.weekday()]}）"
        return f"{date.day} {_MONTHS[date.month - 1]} {date.year}"

    def day_of_year(self, date: datetime) -> str:
        """Return a day without its year."""
        return f"{date.month}月{date.day}日" if self._japanese else f"{date.day} {_MONTHS[date.month - 1]}"

    def month_of(self, date: datetime) -> str:
        """Return a month with its year."""
        return f"{date.year}年{date.month}月" if self._japanese else f"{_MONTHS[date.month - 1]} {date.year}"

    def minute(self, date: datetime | None) -> str:
        """Return a day and the time of day; empty when there is none."""
        return "" if date is None else f"{self.day(date)} {date:%H:%M}"

    def written(self, written: str) -> str:
        """Return a time as the archive has it, such as when a version was finished; as it is where it is no time."""
        return self.minute(at_home(written, self._zone)) or written

    def local(self, written: str) -> str:
        """Return a time as the service wrote it, in the blog's own clock; as it is where it is no time."""
        try:
            return self.minute(datetime.fromisoformat(written))
        except ValueError:
            return written

    def year(self, year: str) -> str:
        """Return a year's name."""
        return f"{year}年" if self._japanese else year

    def month(self, month: int) -> str:
        """Return a month's name, 1 to 12."""
        return f"{month}月" if self._japanese else _MONTHS[month - 1]
