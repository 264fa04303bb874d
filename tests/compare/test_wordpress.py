"""A WordPress is read as far as it permits, and the parts that it withholds are reported."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web

from exporter.compare.posts import Aspect, Fault, Picture, Scope, ShownAs
from exporter.compare.reconcile import Comparison
from exporter.errors import NotAuthorised, ServiceError, UsageError
from exporter.http.engine import Engine
from exporter.library.compare import Arrivals, compare, open_home
from exporter.settings import Settings
from tests.compare.posts import TEXT, THEN, left_open, old, old_comment
from tests.http.service import running_service
from tests.support.pictures import png
from tests.wordpress.fake import LOGIN, FakeWordPress, running_wordpress

OWNER: dict[str, Any] = {"new_home_user": LOGIN[0], "new_home_token": LOGIN[1]}


def put(home: FakeWordPress, number: int, **changes: Any) -> int:
    """Add the post of the entry with that number."""
    date = THEN.replace(day=THEN.day + number, tzinfo=None).isoformat()
    content = changes.pop("content", f"<p>{TEXT}その{number}</p>")
    return home.post(f"題{number}", content, date, **({"slug": f"entry-{number}", "categories": ("日記",)} | changes))


async def compared(home: FakeWordPress, *olds: Any, **settings: Any) -> Comparison:
    chosen = Settings(**{"retries": 0, "allow_private_network": True, **settings})
    async with Engine() as engine, open_home(home.url, chosen, engine=engine) as reader:
        return (await compare(reader, Arrivals(list(olds), frozenset(), {}), Scope())).comparison


def faults(found: Comparison) -> list[Fault]:
    return [each.change for result in found.results for each in result.differences]


def unchecked(found: Comparison) -> list[Aspect]:
    return [each.aspect for each in left_open(found)]


async def test_without_a_login_public_posts_are_compared_and_the_rest_is_named() -> None:
    async with running_wordpress() as home:
        put(home, 1)
        put(home, 2, status="draft")
        held = home.comment(put(home, 3), "umi", "<p>いいですね</p>", "2020-01-05T00:00:00", status="hold")
        draft = old(2, status=ShownAs.DRAFT)
        commented = old(3, comments=(old_comment(),))
        found = await compared(home, old(1), draft, commented)
        assert faults(found) == [Fault.COMMENT_MISSING]
        assert unchecked(found) == [Aspect.HELD_BACK]
        found = await compared(home, old(1), draft, commented, **OWNER)
        assert (faults(found), unchecked(found)) == ([Fault.COMMENT_HELD], [])
        home.comments[held]["status"] = "approved"
        assert (await compared(home, old(1), draft, commented, **OWNER)).whole


async def test_hidden_comments_are_expected_if_they_were_moved() -> None:
    async with running_wordpress() as home:
        put(home, 1)
        asked = old(1, comments=(old_comment(visible=False, asked=True),))
        assert faults(await compared(home, asked, **OWNER)) == [Fault.COMMENT_MISSING]
        stranger = await compared(home, asked)
        assert (faults(stranger), [each.aspect for each in left_open(stranger)]) == ([], [Aspect.HELD_BACK])


async def test_a_user_without_rights_sees_public_posts(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running_wordpress() as home:
        put(home, 1)
        routed = home.routed
        monkeypatch.setattr(
            home, "routed", lambda route, request, owner: routed(route, request, owner=owner and not route)
        )
        found = await compared(home, old(1), old(2, status=ShownAs.DRAFT), **OWNER)
        assert faults(found) == []
        assert [each.why for each in left_open(found)] == [
            "the user of the application password may not see everything"
        ]


async def test_a_wrong_password_is_an_error_and_not_a_smaller_answer() -> None:
    async with running_wordpress() as home:
        put(home, 1)
        with pytest.raises(NotAuthorised):
            await compared(home, old(1), new_home_user="owner", new_home_token="wrong")
        with pytest.raises(UsageError, match="--new-home-user"):
            await compared(home, old(1), new_home_token="wrong")


async def test_with_a_password_a_site_that_is_no_wordpress_is_an_error() -> None:
    async with running_service() as service, Engine() as engine:
        with pytest.raises(ServiceError, match="has no WordPress REST API"):
            async with open_home(service.url, Settings(**OWNER, retries=0), engine=engine):
                pass


async def test_the_password_goes_to_the_home_and_not_to_pictures() -> None:
    async with running_wordpress() as home, running_service() as pictures:

        async def picture(_: web.Request) -> web.StreamResponse:
            return web.Response(body=png(1, 4, 6), content_type="image/png")

        pictures.handler = picture
        seen: list[tuple[str, bool]] = []
        answer = home.answer

        async def noted(request: web.Request) -> web.StreamResponse:
            seen.append((request.path, "Authorization" in request.headers))
            return await answer(request)

        home.service.handler = noted
        own = home.file("b.png", png(2, 4, 6))
        put(home, 1, content=f'<p>{TEXT}その1</p><img src="{pictures.url}/a.png"><img src="{own}">')
        held = tuple(Picture(f"https://files.example.jp/{name}", "0" * 64, 4, 6, f"{name}.png") for name in "ab")
        found = await compared(home, old(1, pictures=held), **OWNER)
        assert found.whole
        assert all(known for path, known in seen if path.startswith("/wp-json"))
        assert ("/wp-content/uploads/b.png", False) in seen
        assert ["Authorization" in request.headers for request in pictures.seen] == [False]


async def test_a_password_is_sent_unencrypted_only_if_allowed() -> None:
    with pytest.raises(UsageError, match="unencrypted"):
        async with open_home("http://new.example", Settings(**OWNER)):
            pass
    async with running_wordpress() as home:  # requests to this machine's own address cross no network
        put(home, 1)
        assert (await compared(home, old(1), **OWNER)).whole


async def test_a_home_on_the_old_blogs_own_host_is_not_the_old_host() -> None:
    async with running_wordpress() as home:
        put(home, 1, content=f'<p>{TEXT}その1<a href="{home.url}/Entry/2/"></a><a href="https://old.example/"></a></p>')
        chosen = Settings(retries=0)
        async with Engine() as engine, open_home(home.url, chosen, engine=engine) as reader:
            hosts = frozenset({"127.0.0.1", "old.example"})
            found = (await compare(reader, Arrivals([old(1)], hosts, {}), Scope(old_hosts=hosts))).comparison
        (difference,) = found.results[0].differences
        assert difference == (Fault.LINK_ON_OLD_HOST, "", "https://old.example/")


async def test_a_text_behind_a_password_is_reported() -> None:
    async with running_wordpress() as home:
        put(home, 1, protected=True)
        found = await compared(home, old(1))
        assert faults(found) == [Fault.STATUS]
        assert unchecked(found) == [Aspect.TEXT]


@pytest.mark.parametrize(
    "change",
    [
        {"id": "1"}, {"id": True}, {"id": -1}, {"title": "x"}, {"title": {"rendered": None}}, {"content": []},
        {"content": {"rendered": 7}}, {"date": 20200102}, {"date": "gestern"}, {"slug": None}, {"status": ["publish"]},
        {"link": {}}, {"categories": {"1": 1}}, {"tags": ["x"]},
    ],
)  # fmt: skip
async def test_a_malformed_post_is_named_and_the_others_are_read(change: dict[str, Any]) -> None:
    async with running_wordpress() as home:
        number = put(home, 1)
        put(home, 2)
        home.change = lambda route, found: (
            [each | (change if each["id"] == number else {}) for each in found] if route == "wp/v2/posts" else found
        )
        found = await compared(home, old(2))
        assert faults(found) == []
        assert [(each.aspect, each.count) for each in left_open(found)] == [(Aspect.TEXT, 1)]
        assert not found.whole


@pytest.mark.parametrize("answer", [[None], [[]], ["x"], [{}], [{"id": 1}]])
async def test_malformed_comments_and_terms_are_named(answer: Any) -> None:
    async with running_wordpress() as home:
        put(home, 1)
        home.change = lambda route, found: answer if route in {"wp/v2/comments", "wp/v2/tags"} else found
        found = await compared(home, old(1))
        assert faults(found) == []
        assert unchecked(found) == [Aspect.CATEGORY, Aspect.COMMENTS]


async def test_comments_that_the_api_does_not_give_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running_wordpress() as home:
        put(home, 1)
        routed = home.routed

        def closed(route: str, request: web.Request, *, owner: bool) -> web.Response:
            if route in {"wp/v2/comments", "wp/v2/tags"}:
                return home.refuse(403, "rest_closed")
            return routed(route, request, owner=owner)

        monkeypatch.setattr(home, "routed", closed)
        found = await compared(home, old(1, comments=(old_comment(),)))
        assert faults(found) == []
        assert unchecked(found) == [Aspect.CATEGORY, Aspect.COMMENTS, Aspect.COMMENTS]


async def test_posts_that_are_counted_and_not_given_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running_wordpress() as home:
        put(home, 1)
        reply = home.reply

        def fewer(route: str, answer: Any, **headers: str) -> web.Response:
            return reply(route, answer, **({"X-WP-Total": "3", "X-WP-TotalPages": "1"} if headers else {}))

        monkeypatch.setattr(home, "reply", fewer)
        found = await compared(home, old(1))
        assert (Aspect.TEXT, 2) in [(each.aspect, each.count) for each in left_open(found)]


async def test_a_list_that_repeats_its_page_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running_wordpress() as home:
        put(home, 1)

        def same(route: str, request: web.Request, found: list[dict[str, Any]]) -> web.Response:
            return home.reply(route, found, **{"X-WP-Total": str(len(found)), "X-WP-TotalPages": "10000"})

        monkeypatch.setattr(home, "listed", same)
        assert (await compared(home, old(1))).whole
        assert len(home.service.seen) < 60
