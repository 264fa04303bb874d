"""The questions of ``export`` on a real terminal: every path, both languages, and all ways to cancel."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from exporter.cli.destinations import DESTINATIONS, OUT
from exporter.cli.language import language as language_for
from exporter.export.formats import NAMED
from exporter.export.targets import TARGETS
from exporter.message import Message
from exporter.model.kinds import Kind
from exporter.translation import translated
from tests.archive.builder import Built, record
from tests.cli.conftest import Program
from tests.support.questions import questions
from tests.support.runs import Runs, tree
from tests.support.terminal import Terminal

BLOG = "shiodamari.blog.example.jp"
NUMBERS = {service.name: str(number) for number, service in enumerate(DESTINATIONS, 1)}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")


class Asked:
    """The program on a terminal in its own folder, with its own settings."""

    def __init__(self, runs: Runs, folder: Path, language: str, *arguments: object) -> None:
        self.folder = folder
        environment = {"XDG_CONFIG_HOME": str(folder / "config"), "LC_ALL": "", "LC_MESSAGES": "", "LANG": language}
        self.words = questions(language_for([], environment))
        self.terminal = Terminal(runs, ["export", *arguments], folder, environment)

    def reply(self, name: str, text: str = "") -> None:
        self.terminal.answer(self.words[name], text)

    def flags(self, *public: str, shown: tuple[str, ...] = ()) -> None:
        """Answer for each sample in the order shown, and for the comments."""
        for answer in public:
            self.reply("public", answer)
        for answer in shown:
            self.reply("shown", answer)

    def end(self) -> str:
        self.code = self.terminal.end()
        return self.terminal.shown


@pytest.fixture
def home(tmp_path: Path, made: Path) -> Path:
    """A working directory that contains one archive."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "my-blog").symlink_to(made)
    return folder


def test_a_move_in_japanese_from_the_first_question_to_the_next_steps(runs: Runs, home: Path) -> None:
    asked = Asked(runs, home, "ja_JP.UTF-8")
    asked.reply("archive", "nowhere")
    asked.reply("archive")
    asked.reply("number", "99")
    asked.reply("number", NUMBERS["hatena"])
    asked.reply("home", "うちのブログ")
    asked.reply("home")
    asked.flags("多分", "はい", "n", "はい", shown=("y", ""))
    asked.reply("number", "2")
    asked.reply("rest", "y")
    asked.reply("out")
    asked.reply("go")
    shown = asked.end()
    assert asked.code == 0
    out = home / f"{BLOG}-hatena"
    assert [path.name for path in out.iterdir()] == ["movabletype-public-001.txt"]
    assert [path.name for path in out.with_name(f"{out.name}.NOT-PUBLIC").iterdir()] == [
        "movabletype-NOT-PUBLIC-001.txt"
    ]
    for text in ("nowhere はアーカイブではありません", "1 から", f"https://{BLOG}/Entry/59/", "y か n", "はじめまして", "次にすること", "はてなブログの管理画面", "画像は元の場所を指したままです", "compare my-blog NEW_HOME", "公開していない記事が入っています", "次からは指定しなくてもかまいません"):  # fmt: skip
        assert text in shown, text
    assert shown.index("記事                 60         56          0          4") < shown.index(
        "この内容で書き出しますか"
    )
    again = Asked(runs, home, "en_US.UTF-8", "my-blog", "--lang", "ja")
    again.words = questions("ja")
    again.reply("number", NUMBERS["csv"])
    again.reply("rest")
    again.reply("out", out.name)
    again.reply("out")
    again.reply("go", "n")
    shown = again.end()
    assert again.code == 0
    assert "誰でも読めますか" not in shown
    assert shown.count('前に控えた答えを使います: period_flg_public = "yes", public_open_flg = "1"') == 1
    assert f"{out.name} はすでにあり" in shown
    assert "何も書き出しませんでした。" in shown
    assert not list(home.glob("*-csv*"))


def test_the_command_that_is_shown_does_the_same(
    runs: Runs, home: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked(runs, home, "C.UTF-8", "my-blog")
    asked.reply("number", NUMBERS["wordpress"])
    asked.reply("home", "https://new.example")
    asked.reply("new", "https://new.example/{nofield}")
    asked.reply("new")
    asked.flags("y", "", "", shown=("y", ""))
    asked.reply("number")
    asked.reply("base", "ftp://x")
    asked.reply("base", "https://new.example/media/")
    asked.reply("rest")
    asked.reply("out", "新しい ブログ")
    asked.reply("go", "y")
    shown = asked.end()
    assert asked.code == 0
    assert "Please answer with an address" in shown
    out = home / "新しい ブログ"
    before = tree(out)
    assert any(name.startswith("media/") for name in map(str, before))
    redirects = home / "新しい ブログ.redirects"
    assert f'"https://{BLOG}/Entry/3/","https://new.example/' in (redirects / "redirects.csv").read_text("utf-8")
    steps = shown.partition("Next steps")[2]
    for text in (
        f"blog-exporter move wordpress my-blog --to https://new.example/ --new-home-user USER --old-url 'https://{BLOG}",
        "Put the content of 新しい ブログ/media into your web space, so that it is found at https://new.example/media/",
        "Pictures are fetched then from their new place",
        "the one file of 新しい ブログ.redirects that suits the old server",
        "compare my-blog https://new.example/",
    ):
        assert text in steps, text
    assert "from the old blog" not in steps
    sample = steps.partition("open https://new.example/")[2].partition(" ")[0]
    assert (out / sample).is_file()
    command, again = (shlex.split(line) for line in shown.splitlines()[-2:])
    assert command[:3] == ["blog-exporter", "export", "wordpress"]
    before_redirects = tree(redirects)
    monkeypatch.chdir(home)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    assert program(*command[1:]).code == 0
    assert tree(out) == before
    assert program(*again[1:]).code == 0
    assert tree(redirects) == before_redirects


def test_nothing_declared_makes_drafts_of_everything(runs: Runs, home: Path) -> None:
    asked = Asked(runs, home, "en_US.UTF-8", "my-blog", "--dry-run")
    asked.reply("number", NUMBERS["hugo"])
    asked.reply("home", "https://new.example/")
    asked.reply("new")
    asked.flags("", "", shown=("", ""))
    asked.reply("number")
    asked.reply("rest_of_drafts")
    asked.reply("out")
    shown = asked.end()
    assert asked.code == 0
    assert "so everything will be a draft. Private entries stay out." in shown
    assert "This was a check only; nothing was written." in shown
    assert sorted(path.name for path in home.iterdir()) == ["my-blog"]


def test_pictures_are_placed_if_the_target_has_a_place(runs: Runs, home: Path) -> None:
    said = ("--public-open-flg", "1", "--visible-delete-flg", "f", "--old-url", "https://{blog_id}/Entry/{entry_id}/")
    asked = Asked(runs, home, "ja_JP.UTF-8", "my-blog", *said)
    asked.reply("number", NUMBERS["wordpress"])
    asked.reply("home", "https://new.example/blog/")
    for question in ("new", "number", "base", "rest", "out", "go"):
        asked.reply(question)
    shown = asked.end()
    assert asked.code == 0
    place = "https://new.example/blog/wp-content/uploads/media/"
    assert f"を WordPress のサーバーの wp-content/uploads/media フォルダーに置きます。{place} で見えるはずです" in shown
    assert "https://new.example/blog/{post_name}/" in shown
    assert "閉鎖後: リンク" not in shown


def test_a_format_without_drafts_asks_until_something_is_public(runs: Runs, home: Path) -> None:
    asked = Asked(runs, home, "en_US.UTF-8", "my-blog")
    asked.reply("number", NUMBERS["sqlite"])
    asked.flags("", "", "y", "", "", shown=("y", "n"))
    for question in ("rest", "out", "go"):
        asked.reply(question)
    shown = asked.end()
    assert asked.code == 0
    assert "without a public entry there is nothing to write" in shown
    out = f"{BLOG}-sqlite"
    assert f"pip install datasette; then search in a browser with: datasette {out}\n" in shown
    assert (home / out / "metadata.json").is_file()


def test_one_address_of_an_entry_gives_all_addresses(runs: Runs, home: Path) -> None:
    """The texts have no links that show the addresses of entries."""
    root = home / "small"
    root.mkdir()
    when = {"year": "2020", "mon": "01", "day": "02", "hour": "03", "min": "04", "sec": "05"}
    flags = {"open_flg": "1", "is_private": "f", "period_flg": "f"}
    entries = {key: record(entry_id=key, title=f"題{key}", **flags, **when) for key in ("4", "17")}
    Built(root).commit({Kind.ENTRIES: entries})
    asked = Asked(runs, home, "ja_JP.UTF-8", "small")
    asked.reply("number", NUMBERS["ghost"])
    asked.reply("home", "https://new.example/")
    for wrong in ("4", "https://old.example/4/e-4.html", "https://old.example/entry-17.html"):
        asked.reply("old", wrong)
    asked.reply("old", "https://old.example/e/4.html")
    asked.reply("new", "https://new.example/{slug}/")
    asked.flags("y")
    for question in ("number", "rest", "out", "go"):
        asked.reply(question)
    shown = asked.end()
    assert asked.code == 0
    assert shown.count("この記事の番号 4 が一度だけ入った URL") == 3
    (redirects,) = home.glob("*-ghost.redirects")
    assert '"https://old.example/e/17.html"' in (redirects / "redirects.csv").read_text("utf-8")


def test_a_book_and_a_bag_ask_their_own_questions(runs: Runs, home: Path) -> None:
    said = ("--public-open-flg", "1", "--visible-delete-flg", "f")
    book = Asked(runs, home, "en_US.UTF-8", "my-blog", *said)
    book.reply("number", NUMBERS["epub"])
    book.reply("number", "2")
    book.reply("title", "潮だまり")
    book.reply("vertical", "y")
    book.reply("by_year")
    book.reply("rest")
    book.reply("out", "book")
    book.reply("go")
    shown = book.end()
    assert book.code == 0
    assert "--title 潮だまり" in shown.replace("'", "")
    assert "--comments none" in shown
    assert [path.suffix for path in (home / "book").iterdir()] == [".epub"]
    bag = Asked(runs, home, "ja_JP.UTF-8", "my-blog")
    bag.reply("number", NUMBERS["bag"])
    bag.reply("out", "bag")
    bag.reply("go")
    shown = bag.end()
    assert bag.code == 0
    assert "公開しないでください" in shown
    assert (home / "bag.NOT-PUBLIC" / "bagit.txt").is_file()
    assert not (home / "bag").exists()


@pytest.mark.parametrize(
    ("name", "doubt", "step"),
    [
        (
            "seesaa",
            "Seesaaブログが movabletype のファイルを読めるかは確認されていません",
            "Seesaaブログの管理画面",
        ),
        ("movable-type", "", "「記事のインポート」を開き"),
        pytest.param("blogger", "Blogger が blogger-atom のファイル", "チェックを外します", marks=pytest.mark.thorough),
        pytest.param("note", "note が wxr のファイル", "アプリではできません", marks=pytest.mark.thorough),
    ],
)
def test_every_target_is_written_with_its_known_limits(
    runs: Runs, home: Path, name: str, doubt: str, step: str
) -> None:
    asked = Asked(runs, home, "ja_JP.UTF-8", "my-blog", "--public-open-flg", "1", "--visible-delete-flg", "f")
    for question, reply in (
        ("number", NUMBERS[name]),
        ("home", ""),
        ("number", "1"),
        ("base", ""),
        ("rest", ""),
        ("out", "out"),
        ("go", ""),
    ):
        asked.reply(question, reply)
    shown = asked.end()
    assert asked.code == 0
    assert ("確認されていません。まず --since DAY など" in shown) == bool(doubt)
    assert doubt in shown.partition(asked.words["go"])[0]
    assert step in shown
    assert "画像は今の場所のままにします。" in shown
    assert f"export {name} my-blog out" in shown


@pytest.mark.parametrize(
    ("name", "way", "folder", "files"),
    [
        pytest.param("astro", "1", "src/content/blog", {"src", "public"}, marks=pytest.mark.thorough),
        pytest.param("eleventy", "3", "content/blog", {"_config", "content", "public"}, marks=pytest.mark.thorough),
        ("jekyll", "2", "_posts", {"_config.yml", "_data", "_posts", "media"}),
        ("obsidian", "1", "posts", {".obsidian", "attachments", "daily", "posts"}),
    ],
)
def test_pages_for_a_starter_and_comments_in_the_chosen_place(
    runs: Runs,
    home: Path,
    program: Program,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    way: str,
    folder: str,
    files: set[str],
) -> None:
    said = ("--public-open-flg", "1", "--visible-delete-flg", "f", "--old-url", "https://{blog_id}/Entry/{entry_id}/")
    asked = Asked(runs, home, "en_US.UTF-8", "my-blog", *said)
    asked.reply("number", NUMBERS[name])
    if name != "obsidian":
        asked.reply("home", "https://new.example/")
        asked.reply("new", "https://new.example/blog/{slug}/")
    asked.reply("number", way)
    asked.reply("rest")
    asked.reply("out", "out")
    asked.reply("go")
    shown = asked.end()
    assert asked.code == 0
    out = home / "out"
    assert {path.name for path in out.iterdir()} == files
    pages = [path.read_text("utf-8") for path in (out / folder).glob("*.md")]
    assert len(pages) == 55
    assert any("コメント (" in text for text in pages) == (way == "1")
    assert (f"compare my-blog https://new.example/{' --no-comments' * (way != '1')} " in shown) == (name != "obsidian")
    assert ("The comments are in out/_data" in shown) == (name == "jekyll")
    assert (home / "out.redirects").is_dir() == (name != "obsidian")
    before = tree(out)
    monkeypatch.chdir(home)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    again = shown.partition("To do the same again")[2].splitlines()
    assert program(*shlex.split(again[1])[1:]).code == 0
    assert tree(out) == before


def test_every_target_is_offered() -> None:
    assert [place.name for place in DESTINATIONS[: len(TARGETS)]] == list(TARGETS)


def test_a_blog_without_a_public_entry_says_so(runs: Runs, home: Path) -> None:
    asked = Asked(runs, home, "en_US.UTF-8", "my-blog", "--public-open-flg", "1", "--since", "2031-01-01")
    asked.reply("number", NUMBERS["data"])
    asked.reply("shown", "y")
    asked.reply("shown", "n")
    asked.reply("rest")
    asked.reply("out")
    asked.reply("go", "n")
    assert "No entry is public" in asked.end()


def test_a_wrong_option_ends_before_the_next_question(runs: Runs, home: Path) -> None:
    asked = Asked(runs, home, "en_US.UTF-8", "my-blog", "--public-open-flg", "9")
    asked.reply("number", NUMBERS["data"])
    assert "public_open_flg is 9, which does not occur: open_flg is 1 (58 entries) or 2 (2 entries)" in asked.end()
    assert asked.code == 2
    drafts = Asked(runs, home, "en_US.UTF-8", "my-blog", "--all-as-draft")
    drafts.reply("number", NUMBERS["csv"])
    assert "csv has no drafts" in drafts.end()
    assert drafts.code == 2


def test_the_next_steps_publish_nothing_private(runs: Runs, home: Path) -> None:
    asked = Asked(runs, home, "en_US.UTF-8", "my-blog", "--public-open-flg", "1", "--only", "private")
    asked.reply("number", NUMBERS["wordpress"])
    asked.reply("home")
    asked.reply("number", "2")
    asked.reply("out", "blog")
    asked.reply("go")
    shown = asked.end()
    assert asked.code == 0
    assert "Upload the .xml files" not in shown
    assert "never import or publish it" in shown
    assert sorted(path.name for path in home.glob("blog*")) == ["blog.NOT-PUBLIC", "blog.NOT-PUBLIC.report.json"]


@pytest.mark.parametrize(
    "question",
    ["archive", "go", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("number", "public", "out"))],
)
@pytest.mark.sample(1)
def test_ctrl_c_leaves_nothing(runs: Runs, home: Path, question: str) -> None:
    before = sorted(map(str, home.rglob("*")))
    asked = Asked(runs, home, "ja_JP.UTF-8")
    for name, text in (("archive", ""), ("number", NUMBERS["csv"]), ("public", "y"), ("public", ""), ("public", ""), ("rest", ""), ("out", ""), ("go", "")):  # fmt: skip
        if name == question:
            asked.terminal.interrupt(asked.words[name])
            break
        asked.reply(name, text)
    shown = asked.end()
    assert asked.code == 130
    assert shown.rstrip().endswith("blog-exporter: エラー: 中断しました。")
    assert "Traceback" not in shown
    assert sorted(map(str, home.rglob("*"))) == before


@pytest.mark.parametrize("arguments", [(), ("DIR",), ("--json",)])
def test_without_a_terminal_one_line_names_the_next_step(
    program: Program, made: Path, arguments: tuple[str, ...]
) -> None:
    result = program("export", *(made if argument == "DIR" else argument for argument in arguments))
    assert result.code == 2
    (line,) = result.err.splitlines()
    assert line.startswith("blog-exporter: error: Name the format: export FORMAT DIR OUT")
    assert "with FORMAT one of wxr, movabletype, blogger-atom, " in line
    assert "or a target, one of wordpress, hatena, note, livedoor, ameba, fc2, seesaa, movable-type, blogger." in line


def test_json_is_not_asked_for_on_a_terminal(runs: Runs, home: Path) -> None:
    asked = Asked(runs, home, "ja_JP.UTF-8", "--json")
    assert "Questions need a terminal" in asked.end()
    assert asked.code == 2


def test_every_destination_is_described_in_every_language() -> None:
    for place in DESTINATIONS:
        assert place.form in NAMED
        conditions = ("bring", "stay") if place.fetches else ("body",)
        steps = [list(place.steps(*conditions, language=language)) for language in ("en", "ja")]
        assert not [step for step in steps[0] + steps[1] if step.startswith("[")]
        for english, japanese in zip(*steps, strict=True):
            assert any(ord(char) > 0x3000 for char in japanese), english
            assert (OUT in japanese) == (OUT in english)
        label = place.label if isinstance(place.label, Message) else place.folder
        assert translated(label, "ja") != label
    assert len(NUMBERS) == len(DESTINATIONS)


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({"LANG": "ja_JP.UTF-8"}, "ja"), ({"LANG": "ja_JP.UTF-8", "LC_ALL": "C"}, "en"), ({}, "en"),
        ({"LC_ALL": "", "LC_MESSAGES": "ja", "LANG": "de_DE"}, "ja"),
    ],
)  # fmt: skip
def test_the_language_is_that_of_the_system(environment: dict[str, str], language: str) -> None:
    assert language_for([], environment) == language
