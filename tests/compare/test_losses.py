"""All damage of ten kinds to a new home is reported, and nothing else."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

import pytest

from exporter.compare.posts import Fault, Scope
from exporter.compare.reconcile import Comparison
from exporter.http.engine import Engine
from exporter.library.compare import Arrivals, compare, open_home
from exporter.settings import Settings
from tests.compare.moved import OLD, Moved, moved_blog
from tests.wordpress.fake import LOGIN, FakeWordPress, running_wordpress

pytestmark = pytest.mark.no_cover

OWNER = Settings(new_home_user=LOGIN[0], new_home_token=LOGIN[1], allow_private_network=True, retries=0)


def fill(home: FakeWordPress, moved: Moved) -> dict[str, int]:
    """Put a blog into a new home; return the numbers of the posts by entry ID."""
    folder = ""
    for name, picture in moved.files.items():
        folder = home.file(name, picture).removesuffix(name)
    numbers = {}
    for entry_id, post in moved.posts.items():
        content = typeset(post.content.replace("{media}", folder).replace("{home}", home.url))
        numbers[entry_id] = home.post(post.title, content, post.date, slug=post.slug, categories=(post.category,))
        for name, text, date in post.comments:
            home.comment(numbers[entry_id], name, text, date)
    return numbers


def typeset(html: str) -> str:
    """Replace quotation marks, dashes and dots as WordPress does when it shows them."""
    return html.replace('"See"', "&#8220;See&#8221;").replace(" -- ", " &#8211; ").replace("...", "&#8230;")


def harm(home: FakeWordPress, number: int, kind: Fault) -> None:
    """Damage a post."""
    post = home.posts[number]
    content = post["content"]
    match kind:
        case Fault.MISSING:
            del home.posts[number]
        case Fault.COMMENT_HELD:
            next(each for each in home.comments.values() if each["post"] == number)["status"] = "hold"
        case Fault.PICTURE_MISSING:
            del home.files[content["rendered"].partition('src="')[2].partition('"')[0].removeprefix(home.url)]
        case Fault.TEXT:
            content["rendered"] = content["rendered"][:400]
        case Fault.DATE:
            later = datetime.fromisoformat(post["date"]) + timedelta(hours=9)
            post["date"] = post["date_gmt"] = later.isoformat()
        case Fault.CATEGORY:
            post["categories"] = []
        case Fault.SLUG:
            post["slug"] = f"p{number}"
        case Fault.STATUS:
            post["status"] = "draft"
        case Fault.DUPLICATE:
            copy = home.number()
            home.posts[copy] = {**post, "id": copy, "slug": f"{post['slug']}-2", "link": f"{post['link']}-2"}
        case _:
            content["rendered"] += f'<p><a href="{OLD}/Entry/1/"><!-- old --></a></p>'


async def compared(home: FakeWordPress, expected: Arrivals, settings: Settings = OWNER) -> Comparison:
    async with Engine() as engine, open_home(home.url, settings, engine=engine) as reader:
        return (await compare(reader, expected, Scope(old_hosts=expected.old_hosts))).comparison


def named(found: Comparison) -> dict[str, set[Fault]]:
    return {
        result.old.id: {each.change for each in result.differences} for result in found.results if result.differences
    }


@pytest.fixture(scope="module", params=[200, pytest.param(2000, marks=pytest.mark.thorough)])
def moved(request: pytest.FixtureRequest) -> Moved:
    return moved_blog(request.param)


async def test_an_undamaged_move_is_reported_as_complete(moved: Moved) -> None:
    async with running_wordpress() as home:
        fill(home, moved)
        found = await compared(home, moved.expected())
        assert named(found) == {}
        assert found.identical == len(moved.posts)
        assert found.unchecked == []
        assert found.whole


async def test_losses_of_ten_kinds_are_all_named_and_nothing_else(moved: Moved) -> None:
    async with running_wordpress() as home:
        numbers = fill(home, moved)
        each = len(moved.posts) // 200
        harmed = moved.harmed(each)
        assert set(Counter(harmed.values()).values()) == {each}
        assert len(harmed) == 10 * each
        for entry_id, kind in harmed.items():
            harm(home, numbers[entry_id], kind)
        found = await compared(home, moved.expected())
        assert named(found) == {entry_id: {kind} for entry_id, kind in harmed.items()}
        assert found.identical == len(moved.posts) - len(harmed)
        assert (found.extra, found.unchecked, found.whole) == ([], [], False)
