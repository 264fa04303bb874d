"""The rule of upload addresses, inferred from the addresses in entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.crawl.assets.upload_rule import MIN_MATCHES, InferredRule, infer_file_url
from exporter.html.links import AddressPattern
from exporter.service.registry import DEFAULT_SERVICE

# Other tests cover the same lines; measuring coverage here would more than double the time.
pytestmark = pytest.mark.no_cover

USER = "0123456789abcdef0123456789abcdef"
HOST = "https://files.example.jp"


def record(number: int, **more: Any) -> dict[str, Any]:
    """Return a file record with the fields of API 2.6; every number has other values."""
    return {
        "file_id": str(410_000 + number),
        "user_id": USER,
        "mtime": str(1_500_000_000 + 86_461 * number),
        "name": f"海と山{number}.jpg",
        "title": f"海{number}",
        "extension": "jpg",
        "file_size": str(12_345 + number),
        "width": "640",
        "height": "480",
        "explanation": "",
        **more,
    }


def records(count: int, **more: Any) -> list[dict[str, Any]]:
    return [record(number, **more) for number in range(count)]


def inferred(files: list[dict[str, Any]], addresses: list[str]) -> tuple[str, int] | None:
    found = infer_file_url(DEFAULT_SERVICE, files, addresses)
    return None if found is None else (found.pattern.text, found.matches)


def filled(pattern: str, files: list[dict[str, Any]]) -> list[str]:
    """Return the addresses of files by a pattern, made here without the program's code."""
    return [pattern.format(**{name: quote(str(value), safe="") for name, value in each.items()}) for each in files]


RULES = [
    "/{user_id}/{mtime}",
    "/v1/blog/user/{user_id}/{mtime}.{extension}",
    "/up/{file_id}.{extension}",
    "/up/{name}",
    "/{file_id}/{name}",
    "/{user_id}/{mtime}/{file_id}-large.{extension}",
    "/get.php?id={file_id}",
    "/get.php?user={user_id}&file={mtime}&size=l",
    "/img_{mtime}_{file_id}.jpeg",
]


@pytest.mark.parametrize("rule", [HOST + rule for rule in RULES])
@pytest.mark.parametrize("count", [MIN_MATCHES, 40])
def test_the_rule_that_embedded_addresses_follow_is_found(rule: str, count: int) -> None:
    files = records(3 * count)
    other = [f"https://pictures.example/{number}.gif" for number in range(50)]
    found = infer_file_url(
        DEFAULT_SERVICE, files, [*other, *filled(rule, files[:count]), "https://files.example.jp/about.html"]
    )
    assert found is not None
    assert (found.pattern.text, found.matches) == (rule, count)
    assert [found.pattern.fill(each) for each in files] == filled(rule, files)


def test_it_does_not_matter_which_comes_first() -> None:
    rule = HOST + RULES[0]
    files = records(9)
    addresses = [*filled(rule, files), *(f"{HOST}/x/{number}" for number in range(9))]
    assert inferred(files, addresses) == inferred(files[::-1], addresses[::-1]) == (rule, 9)


def test_many_small_likenesses_that_come_first_do_not_hide_the_rule() -> None:
    """Old entries show thumbnails in a folder for each month; all later entries show the uploads themselves."""
    rule = HOST + RULES[0]
    files = records(100)
    thumbnails = [f"{HOST}/thumb/{1 + each // 3:02d}/{files[each]['mtime']}.jpg" for each in range(27)]
    later = filled(rule, files[30:])
    assert inferred(files, later + thumbnails) == (rule, 70)
    assert inferred(files, thumbnails + later) == (rule, 70)


@pytest.mark.parametrize("rule", [HOST + rule for rule in RULES])
@pytest.mark.parametrize("count", range(MIN_MATCHES))
def test_two_matches_are_not_enough(rule: str, count: int) -> None:
    files = records(20)
    assert inferred(files, filled(rule, files[:count])) is None
    twice = filled(rule, files[:count]) * 4 + [each.replace("https:", "http:") for each in filled(rule, files[:count])]
    assert inferred(files, twice) is None, "they are the same uploads"


def test_without_files_or_addresses_there_is_no_rule() -> None:
    assert infer_file_url(DEFAULT_SERVICE, [], []) is None
    assert infer_file_url(DEFAULT_SERVICE, [], filled(HOST + RULES[0], records(9))) is None
    assert infer_file_url(DEFAULT_SERVICE, records(9), []) is None
    assert (
        infer_file_url(
            DEFAULT_SERVICE, [{}, {"file_id": None}, {"file_id": ""}, {"file_id": ["1"]}], [f"{HOST}/1", f"{HOST}/"]
        )
        is None
    )


@pytest.mark.parametrize(("strangers", "believed"), [(0, True), (5, True), (6, False), (60, False)])
def test_a_likeness_that_less_than_half_of_the_addresses_bear_out_is_chance(strangers: int, believed: bool) -> None:
    """Pictures of another host named 1.jpg to 60.jpg are not the uploads 1 to 5."""
    files = [record(number, file_id=str(number)) for number in range(1, 6)]
    addresses = [f"https://h.example/{number}.jpg" for number in range(1, 6 + strangers)]
    found = infer_file_url(DEFAULT_SERVICE, files, addresses)
    assert (found is not None) is believed
    if found is not None:
        assert (found.pattern.text, found.matches, found.certain) == (
            "https://h.example/{file_id}.{extension}",
            5,
            False,
        )


def test_a_coincidental_rule_does_not_hide_a_real_one() -> None:
    files = [record(number, file_id=str(number)) for number in range(1, 9)]
    chance = [f"https://h.example/{number}.jpg" for number in range(1, 60)]
    rule = HOST + "/{user_id}/{mtime}"
    assert inferred(files, [*chance, *filled(rule, files[:4])]) == (rule, 4)


@pytest.mark.parametrize(("field", "certain"), [("file_id", False), ("mtime", True), ("name", True)])
def test_short_values_are_not_certain_and_come_with_sizes_to_prove_them(field: str, certain: bool) -> None:
    files = [record(number, file_id=str(number), file_size=1000 + number) for number in range(1, 5)]
    addresses = filled(f"{HOST}/{{{field}}}", files)
    found = infer_file_url(DEFAULT_SERVICE, files, addresses)
    assert found is not None
    assert found.certain is certain
    assert found.sizes == {address: 1001 + number for number, address in enumerate(addresses)}


def test_an_invalid_size_proves_nothing() -> None:
    sizes = ["9", "x", None, 7]
    files = [record(number, file_size=size) for number, size in enumerate(sizes)]
    addresses = filled(HOST + RULES[0], files)
    found = infer_file_url(DEFAULT_SERVICE, files, addresses)
    assert found is not None
    assert found.sizes == {addresses[0]: 9, addresses[3]: 7}


@pytest.mark.parametrize(
    "name",
    ["海と山 {n}.jpg", "{n}%.jpg", "a&b={n}.jpg", "(写真){n}.jpg", "{n}+1.jpg", "🌊{n}.png", "é{n}.gif", "a/{n}.jpg"],
)
def test_names_are_percent_encoded_as_utf_8(name: str) -> None:
    files = [record(number, name=name.replace("{n}", str(number))) for number in range(100, 105)]
    rule = HOST + "/up/{name}"
    assert inferred(files, filled(rule, files)) == (rule, 5)


@pytest.mark.parametrize("value", ["a{b}c", "{file_id}", "{", "}", "{}"])
def test_braces_in_values_are_only_characters(value: str) -> None:
    files = [record(number, name=f"{value}{number}.jpg") for number in range(5)]
    rule = HOST + "/up/{name}"
    assert inferred(files, filled(rule, files)) == (rule, 5)
    assert inferred([record(number, title=value) for number in range(5)], filled(HOST + RULES[0], files)) == (
        HOST + RULES[0], 5
    )  # fmt: skip


def test_braces_in_addresses_make_no_rule() -> None:
    files = records(5)
    assert inferred(files, [f"{HOST}/{{x}}/{each['mtime']}" for each in files]) is None
    rule = HOST + RULES[0]
    odd = [f"{HOST}/{{name}}/{each['file_id']}" for each in files]
    assert inferred(files, [*odd, *filled(rule, files)]) == (rule, 5)


def test_braces_in_the_names_of_fields_do_no_harm() -> None:
    files = [{**record(number), "a{b}": "1", "{}": f"zzzz{number}", "{": f"yyyy{number}"} for number in range(5)]
    assert inferred(files, filled(HOST + RULES[0], records(5))) == (HOST + RULES[0], 5)
    assert inferred(files, [f"{HOST}/zzzz{number}/yyyy{number}" for number in range(5)]) is None


def test_of_two_schemes_the_safe_one_is_taken() -> None:
    files = records(6)
    safe = filled(HOST + RULES[0], files)
    for addresses in ([*safe, *(each.replace("https:", "http:") for each in safe)], safe):
        assert inferred(files, addresses) == inferred(files, addresses[::-1]) == (HOST + RULES[0], 6)
    unsafe = [each.replace("https:", "http:") for each in safe]
    assert inferred(files, [*safe[:3], *unsafe]) == ("http" + HOST[5:] + RULES[0], 6), "more uploads come first"


def test_of_two_sizes_the_one_that_more_uploads_have_is_taken() -> None:
    files = records(9)
    small = filled(HOST + "/s/{mtime}.{extension}", files)
    large = filled(HOST + "/l/{mtime}.{extension}", files[:5])
    assert inferred(files, [*large, *small]) == (HOST + "/s/{mtime}.{extension}", 9)


def test_numbers_that_are_parts_of_longer_ones_are_no_fields() -> None:
    files = records(9)
    assert inferred(files, [f"{HOST}/1{each['mtime']}" for each in files]) is None
    assert inferred(files, [f"{HOST}/x{each['file_id']}y.jpg" for each in files]) is None


def test_values_that_are_numbers_are_read_as_texts() -> None:
    files = [{"file_id": 410_000 + number, "mtime": 1_500_000_000 + number, "extension": "png"} for number in range(5)]
    rule = HOST + "/{file_id}/{mtime}.{extension}"
    assert inferred(files, filled(rule, files)) == (rule, 5)
    flags: list[dict[str, Any]] = [{"file_id": True, "n": None, "x": [], "y": 1.5} for _ in range(5)]
    assert inferred(flags, [f"{HOST}/True", f"{HOST}/1.5", f"{HOST}/None"]) is None


def test_fields_shared_by_all_uploads_make_no_rule() -> None:
    """All uploads share one extension, width and user, so these fields identify no upload."""
    files = records(40)
    assert inferred(files, [f"{HOST}/{USER}/{number}.jpg" for number in range(40)]) is None
    assert inferred(files, [f"{HOST}/{each['file_size']}/640x480.jpg" for each in files]) is None


def test_uploads_of_one_second_share_an_address() -> None:
    files = [record(number, mtime=str(1_500_000_000 + number // 2)) for number in range(10)]
    found = infer_file_url(DEFAULT_SERVICE, files, list(dict.fromkeys(filled(HOST + RULES[0], files))))
    assert found is not None
    assert (found.pattern.text, found.matches) == (HOST + RULES[0], 5)


@pytest.mark.parametrize("examples", [40, pytest.param(200, marks=pytest.mark.thorough)])
def test_an_inferred_rule_gives_the_addresses_it_was_inferred_from(examples: int) -> None:
    @settings(max_examples=examples)
    @given(
        st.lists(
            st.dictionaries(st.sampled_from(["file_id", "mtime", "name", "a{b", ""]), st.text(max_size=6)), max_size=6
        ),
        st.lists(
            st.text(max_size=12).map(lambda text: HOST + "/" + quote(text, safe="{}?&=./")), max_size=8, unique=True
        ),
    )
    def check(files: list[dict[str, str]], urls: list[str]) -> None:
        found = infer_file_url(DEFAULT_SERVICE, files, urls)
        if found is not None:
            assert found.matches >= MIN_MATCHES
            assert len({url for each in files if (url := found.pattern.fill(each)) in urls}) > 0
            assert set(found.sizes) <= set(urls)

    check()


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts how often addresses are filled in, compared, and turned into patterns."""
    counted: Counter[str] = Counter()

    def counting(name: str) -> Callable[..., Any]:
        real = getattr(AddressPattern, name)

        def call(*arguments: Any) -> Any:
            counted[name] += 1
            return real(*arguments)

        return call

    for name in ("__init__", "fill", "fits"):
        monkeypatch.setattr(AddressPattern, name, counting(name))
    return counted


def found_in(count: int, make: Callable[[dict[str, Any], int], str]) -> InferredRule | None:
    files = records(count)
    return infer_file_url(DEFAULT_SERVICE, files, [make(each, number) for number, each in enumerate(files)])


SHAPES: dict[str, Callable[[dict[str, Any], int], str]] = {
    "a rule": lambda each, _: f"{HOST}/{each['user_id']}/{each['mtime']}",
    "nothing alike": lambda _, number: f"{HOST}/pictures/{number}x.jpg",
    "a folder of its own": lambda each, number: f"{HOST}/{number:08x}h/{each['mtime']}.jpg",
    "folders of months": lambda each, number: (
        f"{HOST}/{2000 + number // 480}/{number // 40 % 12:02d}/{each['mtime']}.jpg"
    ),
}


@pytest.mark.parametrize("make", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("count", [250, pytest.param(2000, marks=pytest.mark.thorough)])
def test_each_file_costs_the_same_work_for_any_number_of_files(
    work: Counter[str], make: Callable[[dict[str, Any], int], str], count: int
) -> None:
    found_in(count, make)
    assert work.total() <= 40 * count


def test_folders_that_match_no_field_make_no_rule_for_other_uploads() -> None:
    """Forty uploads of one month do not show the folders of the other months."""
    assert found_in(400, SHAPES["folders of months"]) is None


@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.thorough)])
def test_thousands_of_files_are_looked_through_once(work: Counter[str], count: int) -> None:
    found = found_in(count, SHAPES["a rule"])
    assert found is not None
    assert (found.pattern.text, found.matches, found.certain) == (HOST + RULES[0], count, True)
    assert work["fill"] <= 2 * count
    assert work["fits"] <= 2 * count
    assert work["__init__"] <= 10
