"""Run a move: compare the plan with the new home, and send the differences.

The run can be killed at any moment and resumed. First each entry gets a private post without text, which reserves its
address. Its pictures follow, attached to the post so that only people who may see the post can see them. Then come its
comments, and last its text and status. So a post becomes visible only when it is complete, and the addresses in links
between posts are final.

The plan decides which records are private, and the run compares each answer with it. The first record of each kind
goes alone, so that a home that publishes it gets no private text.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Final, TypeVar

from exporter.errors import PrivateExposed
from exporter.export.media import PostPicture
from exporter.export.posts import PostComment
from exporter.export.reasons import Reason
from exporter.export.report import Report
from exporter.move.home import (
    CATEGORIES_ROUTE,
    COMMENTS,
    PAGES,
    POSTS,
    RESERVED,
    TAGS_ROUTE,
    HomeContent,
    HomeFile,
    HomePost,
    comment_fingerprint,
    comment_in,
    comment_of,
    entry_in,
    file_slug,
    fingerprint,
    mark,
    post_key,
    post_of,
    read_home,
)
from exporter.move.map_file import MapFile
from exporter.move.outcome import Did, LeftAlone, MoveEvent, MoveOutcome, MoveStage, MoveStep, Reserved, Stage, Thing
from exporter.move.plan import Fields, Placed, Plan, PlannedComment, PlannedPost
from exporter.move.privacy import is_post_shown, is_shown_by_status
from exporter.move.terms import PlannedTerm
from exporter.move.writer import Writer
from exporter.wordpress import RestRefusal, WordPressApi

T = TypeVar("T")

_TRIMMED: Final = " \t\n\r\0\v"
"""The characters that PHP's ``trim`` removes."""

_HIDDEN: Final = frozenset({"draft", "private"})
_NOT_MADE: Final = "?"
"""The address of a record that a dry run does not make."""


@dataclass(eq=False)
class MoveRun:
    """A run of a move.

    Args:
        api: the new home.
        plan: the wanted content of the new home.
        mapped: the records that earlier runs made.
        writer: sends records; ``None`` for a dry run.
        read: reads a picture from the archive.
        concurrency: the number of records sent at a time.
        report: gets the outcome for the archive's records.
        tell: called with each event.
        brought: the keys of all posts of this plan and of others. Other public posts of the blog in the new home are
            reported. ``None`` if only a part of the blog is moved, so that none are reported.
        home: the new home's content, if the caller has just read it.
        authors: the numbers of the new home's users by name; empty if the user may not make posts of others.
        public_pictures: the SHA-256 of each picture in a public entry, also in other plans.

    Attributes:
        outcome: the result so far.
        fresh: the keys of the posts that this run made.
    """

    api: WordPressApi
    plan: Plan
    mapped: MapFile
    writer: Writer | None
    _: KW_ONLY
    read: Callable[[PostPicture], bytes]
    concurrency: int
    report: Report
    tell: Callable[[MoveEvent], None]
    brought: Container[str] | None = None
    home: HomeContent | None = None
    authors: Mapping[str, int] = field(default_factory=dict)
    public_pictures: Container[str] = frozenset()

    def __post_init__(self) -> None:
        self._home = self.home or HomeContent()
        self._placed = Placed(authors=self.authors)
        self.fresh: set[str] = set()
        self._proven = {"private"}
        self._holds = False
        self._shown: defaultdict[int, dict[str, str]] = defaultdict(dict)
        self.outcome = MoveOutcome(public=self.plan.public, links=self.plan.linked)

    async def run(self) -> MoveOutcome:
        """Move everything, and then check that it arrived.

        Raises:
            ServiceError: the new home failed. The next run resumes from the records that were made.
            PrivateExposed: the new home shows everybody a private record. It was deleted if this run made it.
        """
        plan = self.plan
        self.tell(MoveStage(Stage.HOME))
        self._home = self.home or await read_home(self.api, tags=bool(plan.tags))
        await self.hide()
        self._look_for_more()
        self.tell(MoveStage(Stage.CATEGORIES, len(plan.categories)))
        for path, category in plan.categories.items():
            number = await self._category(category)
            if number is not None:
                self._placed.categories[path] = number
        if plan.tags:
            self.tell(MoveStage(Stage.TAGS, len(plan.tags)))
            await self._each(plan.tags.values(), self._tag, lambda _: False)
        self.tell(MoveStage(Stage.ADDRESSES, len(plan)))
        await self._each(
            plan,
            self._reserve,
            lambda planned: self._doubtful(Thing.POST, planned.post.id),
            alone_until=lambda: plan.public or bool(self.fresh),
        )
        self.tell(MoveStage(Stage.PICTURES, len(plan.pictures)))
        pictures = plan.pictures.values()
        await self._each(pictures, self._picture, self._is_doubtful_picture, alone_until=self._has_picture_arrived)
        self.tell(MoveStage(Stage.POSTS, len(plan) + plan.comments))
        await self._each(plan, self._finish, self._has_doubtful_comments)
        if self.writer is not None:
            self.tell(MoveStage(Stage.LAST_LOOK))
            await self._look_again()
        return self.outcome

    async def hide(self) -> None:
        """Hide the posts that this program published and that are private now.

        A post that a person published stays unchanged.

        Raises:
            ServiceError, PrivateExposed: as for :meth:`run`.
        """
        plan, posts = self.plan, self._home.posts
        known = [posts[key] for key in plan.post_keys() if key in posts and not plan.public]
        for each in known:
            if each.empty and self.writer is not None:
                self.writer.adopt(Thing.POST, each)
        for planned in plan if any(is_post_shown("", each.status) for each in known) else ():
            there, status = posts.get(planned.key), plan.status(planned.post)
            if there is None or not is_post_shown(status, there.status) or plan.may_be_published(planned.post):
                continue
            before = self.mapped.of(Thing.POST, planned.post.id)
            if there.empty or (before is not None and before.stored == there.fingerprint):
                await self._restrict(planned, there, "private" if there.reserved else status)

    def _is_shown(self, there: HomePost | None) -> bool:
        return there is not None and is_shown_by_status(there.status)

    async def _restrict(self, planned: PlannedPost, there: HomePost, status: str) -> str:
        """Send only the status of a post that is not public; return why it was refused, or an empty text."""
        changed = await self._change(planned, there, {"status": status})
        if isinstance(changed, str):
            return changed
        self._home.posts[planned.key] = changed
        self._proven.add(status)
        return ""

    def _look_for_more(self) -> None:
        """Report public posts that the archive no longer shows, and note the shown comments of each post."""
        for key, post in self._home.posts.items():
            entry_id = entry_in(self.plan.blog_id, key)
            if self.brought is not None and entry_id and key not in self.brought and post.status == "publish":
                self._did(Thing.POST, entry_id, Did.LEFT, LeftAlone.ONLY_THERE)
        for address, comment in self._home.comments.items():
            comment_id = comment_in(self.plan.blog_id, address)
            if comment_id and comment.shown:
                self._shown[comment.post][address] = comment_id

    def _did(self, thing: Thing, key: str, did: Did, why: str = "") -> None:
        step = MoveStep(thing, key, did, why)
        self.outcome.note(step)
        self.tell(step)

    async def _each(
        self,
        items: Iterable[T],
        do: Callable[[T], Awaitable[None]],
        doubtful: Callable[[T], bool],
        *,
        alone_until: Callable[[], bool] = lambda: True,
    ) -> None:
        """Handle each item, several at a time, and last the items with a request that may still be running.

        Until ``alone_until`` is true, one item at a time.
        """
        later: list[T] = []

        def certain() -> Iterator[T]:
            for item in items:
                if doubtful(item):
                    later.append(item)
                else:
                    yield item

        for some in (certain(), iter(later)):
            await self._together(some, do, alone_until)

    async def _together(
        self, items: Iterator[T], do: Callable[[T], Awaitable[None]], alone_until: Callable[[], bool]
    ) -> None:
        if not alone_until():
            for item in items:
                await do(item)
                if alone_until():
                    break

        async def work() -> None:
            for item in items:
                await do(item)

        workers = [asyncio.ensure_future(work()) for _ in range(self.concurrency)]
        try:
            await asyncio.gather(*workers)
        except PrivateExposed:
            # The others send nothing more. Each checks the answer to its last request.
            await asyncio.gather(*workers, return_exceptions=True)
            raise self.writer.exposed() if self.writer is not None else PrivateExposed from None
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    def _doubtful(self, thing: Thing, key: str) -> bool:
        return self.mapped.sending_since(thing, key) is not None

    async def _category(self, category: PlannedTerm) -> int | None:
        """Find a category by either of its names, or make it, and return its number if it has one.

        An existing one stays unchanged. If a person moved it below another category, the map knows it.
        """
        known = self._home.categories
        before = self.mapped.of(Thing.CATEGORY, category.key) if category.path else None
        number = before.id if before is not None and before.id in known.above else None
        above = self._placed.categories.get(category.path[:-1], 0)
        number = number or known.find(category, above)
        return await self._term(Thing.CATEGORY, category, number, above)

    async def _tag(self, tag: PlannedTerm) -> None:
        number = await self._term(Thing.TAG, tag, self._home.tags.find(tag, 0))
        if number is not None:
            self._placed.tags[tag.name] = number

    async def _term(self, thing: Thing, term: PlannedTerm, number: int | None, above: int = 0) -> int | None:
        """Make a category or tag unless it has a number; return its number.

        WordPress lists every category and tag to everybody, so private posts get no new ones.
        """
        did = Did.MADE if number is None else Did.THERE
        tag = thing is Thing.TAG
        if number is None and not self.plan.public:
            why = LeftAlone.TAG_WOULD_BE_PUBLIC if tag else LeftAlone.WOULD_BE_PUBLIC
            self._did(thing, term.words, Did.LEFT, why)
            return None
        if number is None and self.writer is not None:
            made = await self.writer.term(TAGS_ROUTE if tag else CATEGORIES_ROUTE, term, above)
            if isinstance(made, RestRefusal):
                self._did(thing, term.words, Did.REFUSED, made.message)
                return None
            number = made
        self._did(thing, term.words, did)
        return number

    def _has_picture_arrived(self) -> bool:
        """Return whether a picture was uploaded. The first makes the month's folder; two at once would fail."""
        return bool(self.outcome.counts[Thing.PICTURE][Did.MADE])

    def _is_doubtful_picture(self, picture: PostPicture) -> bool:
        sha256 = picture.asset.sha256 or ""
        return file_slug(sha256) not in self._home.files and self._doubtful(Thing.PICTURE, sha256)

    async def _picture(self, picture: PostPicture) -> None:
        sha256 = picture.asset.sha256 or ""
        there = self._home.files.get(file_slug(sha256))
        if there is None and self.mapped.of(Thing.PICTURE, sha256) is not None:
            self._did(Thing.PICTURE, picture.asset.url, Did.LEFT, LeftAlone.DELETED)
            return
        did, found = Did.MADE if there is None else Did.THERE, await self._placed_file(picture, sha256, there)
        if isinstance(found, RestRefusal):
            self._did(Thing.PICTURE, picture.asset.url, Did.REFUSED, found.message)
        else:
            self._did(Thing.PICTURE, picture.asset.url, did)
        file = there if isinstance(found, RestRefusal) else found
        if file is not None:
            self._placed.pictures[sha256], self._placed.files[sha256] = file.url, file.id
        elif not isinstance(found, RestRefusal):
            self._placed.pictures[sha256] = _NOT_MADE

    async def _placed_file(
        self, picture: PostPicture, sha256: str, there: HomeFile | None
    ) -> HomeFile | RestRefusal | None:
        """Upload a picture, or attach an uploaded one to its post; return ``None`` if a dry run would upload it."""
        if self.writer is None:
            return there
        parent, public = self._parent(sha256), self._is_public(sha256)
        if there is None:
            return await self.writer.picture(picture, self.read(picture), parent, public=public)
        found: HomeFile | RestRefusal = there
        if parent and self._belongs_elsewhere(sha256, there, parent):
            found = await self.writer.attach(sha256, there, parent, public=public)
        self.writer.enter(Thing.PICTURE, sha256, there)
        return found

    def _is_public(self, sha256: str) -> bool:
        return self.plan.public or sha256 in self.public_pictures

    def _belongs_elsewhere(self, sha256: str, file: HomeFile, parent: int) -> bool:
        """Return whether the wrong people can see a file: everybody a private one, or only its owner a public one."""
        if file.post == parent or file.status != "inherit":
            return False
        hidden = any(post.id == file.post and not self._is_shown(post) for post in self._home.posts.values())
        if self._is_public(sha256):
            return self.plan.public and hidden
        # A draft that a person published keeps its pictures.
        return not hidden if self.plan.private else not file.post

    def _parent(self, sha256: str) -> int:
        """Return the number of the first post that shows a picture and may have it; 0 for none.

        A post in the trash may not, and a public one may not have a private picture.
        """
        for entry_id in self.plan.shown_in.get(sha256, ()):
            post = self._home.posts.get(post_key(self.plan.blog_id, entry_id))
            if post is not None and not post.gone and not (self.plan.private and self._is_shown(post)):
                return post.id
        return 0

    async def _reserve(self, planned: PlannedPost) -> None:
        """Ensure that an entry has a post with a known address."""
        entry_id = planned.post.id
        there, before = self._home.posts.get(planned.key), self.mapped.of(Thing.POST, entry_id)
        if there is None and before is None:
            url = _NOT_MADE
            if self.writer is not None:
                made = await self.writer.reserve(planned, public=self.plan.public)
                if isinstance(made, RestRefusal):
                    self._did(Thing.POST, entry_id, Did.REFUSED, made.message)
                    return
                self._home.posts[planned.key] = made
                self.fresh.add(planned.key)
                url = made.url
            self._placed.posts[entry_id] = url
        elif before is not None:
            self._placed.posts[entry_id] = before.url
        elif there is not None:
            self._placed.posts[entry_id] = there.url
        self.tell(Reserved(entry_id, planned.key in self.fresh))

    def _has_doubtful_comments(self, planned: PlannedPost) -> bool:
        return any(
            self.plan.address(each) not in self._home.comments and self._doubtful(Thing.COMMENT, each.comment.id)
            for each in planned.post.comments
        )

    async def _finish(self, planned: PlannedPost) -> None:
        """Send a post's comments, then its text and its status, unless a person changed it in the new home."""
        post, there = planned.post, self._home.posts.get(planned.key)
        if post.id not in self._placed.posts:
            self.plan.leave(post, Reason.NOT_TAKEN)
        elif there is None and self.mapped.of(Thing.POST, post.id) is None:  # a dry run
            self.plan.account(post, self._placed, await self._comments(planned, 0))
            self._did(Thing.POST, post.id, Did.MADE)
        elif there is None or there.gone:
            self.plan.leave(post, Reason.DELETED_THERE)
            self._did(Thing.POST, post.id, Did.LEFT, await self._why_not_there(planned, there))
        else:
            fields = self.plan.fields(planned, self._placed)
            if there.status == "publish" and self.plan.is_scheduled(post):  # WordPress published it at its date
                fields = fields._replace(values={**fields.values, "status": there.status})
            await self._bring(planned, there, fields)

    async def _why_not_there(self, planned: PlannedPost, there: HomePost | None) -> str:
        before = self.mapped.of(Thing.POST, planned.post.id)
        if there is not None:
            return LeftAlone.TRASHED
        of = PAGES if planned.page else POSTS
        if before is not None and await of.current(self.api, before.id) is not None:
            return LeftAlone.CHANGED  # a person removed the key
        return LeftAlone.DELETED

    async def _bring(self, planned: PlannedPost, there: HomePost, fields: Fields) -> None:
        post, same, ours = planned.post, there.digest == fields.digest, self._is_ours(planned, there, fields)
        if ours and not same and planned.key not in self.fresh:
            # A person may have changed it during this run.
            now = post_of(await there.collection.current(self.api, there.id))
            ours = now is not None and now[1].fingerprint == there.fingerprint
        if ours and fields.values["status"] == "publish" and there.status in _HIDDEN:
            same = False  # an earlier move hid it, while its entry was private
        if self.plan.private and self._is_shown(there) and not self.plan.may_be_published(post):
            self._leave_shown(planned)
            return
        closed = ours and not there.reachable and any(self._is_new(each) for each in post.comments)
        refused = await self._changed(planned, there, _opened(planned, fields, there)) if closed else ""
        comments = 0 if refused else await self._comments(planned, there.id)
        if ours and not refused and (closed or not same):
            refused = await self._try_status(planned, there, fields)
            refused = refused or await self._changed(planned, there, fields.values)
        self.plan.account(post, self._placed, comments)
        mapped = self.mapped.of(Thing.POST, post.id)
        if mapped is not None and mapped.name:
            self.report.changed("entries", Reason.NAME_GIVEN, post.id)
        if refused:
            self._did(Thing.POST, post.id, Did.REFUSED, refused)
        elif not ours and not same:
            self._did(Thing.POST, post.id, Did.LEFT, LeftAlone.CHANGED)
        elif same:
            self._did(Thing.POST, post.id, Did.THERE)
            if ours and self.writer is not None and not closed:
                self.writer.enter(Thing.POST, post.id, there, planned.slug)
        else:
            self._did(Thing.POST, post.id, Did.MADE if there.reserved else Did.CHANGED)

    def _leave_shown(self, planned: PlannedPost) -> None:
        """Send nothing more to a private post that everybody can see and that a person may have published."""
        self.plan.leave(planned.post, Reason.SHOWN_THERE)
        self._did(Thing.POST, planned.post.id, Did.LEFT, LeftAlone.SHOWN)

    async def _try_status(self, planned: PlannedPost, there: HomePost, fields: Fields) -> str:
        """Send a status that no private post has yet before the text that it must hide; return why it was refused."""
        status = str(fields.values["status"])
        if self.plan.public or status in {*self._proven, there.status, "publish"}:
            return ""
        return await self._restrict(planned, there, status)

    async def _changed(self, planned: PlannedPost, there: HomePost, values: Mapping[str, Any]) -> str:
        """Change a post; return why it was refused, or an empty text."""
        changed = await self._change(planned, there, values)
        return changed if isinstance(changed, str) else ""

    async def _change(self, planned: PlannedPost, there: HomePost, values: Mapping[str, Any]) -> HomePost | str:
        if self.writer is None:
            return replace(there, status=str(values["status"]))
        changed = await self.writer.change(planned, there, values, public=self.plan.public)
        return changed.message if isinstance(changed, RestRefusal) else changed

    def _is_ours(self, planned: PlannedPost, there: HomePost, fields: Fields) -> bool:
        """Return whether a post is unchanged since this program last wrote it, even if a kill interrupted that run."""
        before = self.mapped.of(Thing.POST, planned.post.id)
        if there.empty or (there.reserved and there.untouched):
            return True
        if before is not None and before.stored == there.fingerprint:
            return True
        sent = (fields.values, _opened(planned, fields, there))
        return any(there.fingerprint == fingerprint(_as_kept(values, there)) for values in sent)

    def _is_new(self, comment: PostComment) -> bool:
        known = self.mapped.of(Thing.COMMENT, comment.comment.id) is not None
        return not known and self.plan.address(comment) not in self._home.comments

    async def _comments(self, planned: PlannedPost, number: int) -> int:
        """Send a post's comments, each after the one that it answers; return how many the new home has."""
        brought = 0
        numbers: dict[str, int] = {}
        for comment in self.plan.thread(planned):
            each = comment.found
            parent = numbers.get(comment.threaded.parent, 0)
            if comment.threaded.parent and not parent and self.writer is not None:
                self.report.changed("comments", Reason.THREAD_BROKEN, each.comment.id)
            did, why = await self._comment(comment, self.plan.comment(comment, number, parent))
            there = self._home.comments.get(self.plan.address(each))
            if there is not None:
                numbers[each.comment.id] = there.id
            self._did(Thing.COMMENT, each.comment.id, did, why)
            if why == LeftAlone.DELETED:
                self.report.left("comments", Reason.DELETED_THERE, each.comment.id)
            elif did is Did.REFUSED and self._is_new(each):
                self.report.left("comments", Reason.NOT_TAKEN, each.comment.id)
            else:
                brought += 1
        wanted = {self.plan.address(each) for each in planned.post.comments}
        for address, comment_id in self._shown.get(number, {}).items():
            if address not in wanted:
                self._did(Thing.COMMENT, comment_id, Did.LEFT, LeftAlone.ONLY_THERE)
        return brought

    async def _comment(self, planned: PlannedComment, fields: Fields) -> tuple[Did, str]:
        """Send a comment, or update one that only this program changed; return the result and its reason."""
        comment_id, address = planned.found.comment.id, self.plan.address(planned.found)
        there = self._home.comments.get(address)
        if there is None and not self._is_new(planned.found):
            return Did.LEFT, LeftAlone.DELETED
        if there is None:
            return await self._new_comment(comment_id, address, fields)
        before, kept = self.mapped.of(Thing.COMMENT, comment_id), _comment_as_kept(fields.values)
        same = there.digest == fields.digest or there.fingerprint == kept
        # A comment whose sending was interrupted by a kill is unchanged.
        sent = same and (there.fingerprint == kept or self._doubtful(Thing.COMMENT, comment_id))
        ours = sent or there.reserved or (before is not None and before.stored == there.fingerprint)
        if same and not (ours and there.shown and fields.values["status"] != "approve"):
            if ours and self.writer is not None:
                self.writer.enter(Thing.COMMENT, comment_id, there)
            return Did.THERE, ""
        # A person may have changed it during this run.
        now = comment_of(await COMMENTS.current(self.api, there.id)) if ours else None
        if now is None or now[1].fingerprint != there.fingerprint:
            return Did.LEFT, LeftAlone.CHANGED
        if self.writer is not None:
            refused = await self.writer.change_comment(comment_id, address, there.id, fields.values)
            if isinstance(refused, RestRefusal):
                return Did.REFUSED, refused.message
        return Did.CHANGED, ""

    async def _new_comment(self, comment_id: str, address: str, fields: Fields) -> tuple[Did, str]:
        """Make a comment. The first one to hold back is made without its text, in case the new home approves it."""
        if self.writer is None:
            return Did.MADE, ""
        held = fields.values["status"] != "approve"
        proves = held and not self._holds
        make = self.writer.empty_comment if proves else self.writer.comment
        made = await make(comment_id, address, fields.values)
        if proves and not isinstance(made, RestRefusal):
            self._holds, self._home.comments[address] = True, made
            made = await self.writer.change_comment(comment_id, address, made.id, fields.values)
        if isinstance(made, RestRefusal):
            return Did.REFUSED, made.message
        self._home.comments[address] = made
        return Did.MADE, ""

    async def _look_again(self) -> None:
        """Report missing records and duplicates."""
        home, outcome = await read_home(self.api), self.outcome
        outcome.twice = dict(home.twice)
        for picture in self.plan.pictures.values():
            if file_slug(picture.asset.sha256 or "") not in home.files:
                outcome.miss(Thing.PICTURE, picture.asset.url)
        for planned in self.plan:
            there = home.posts.get(planned.key)
            if there is None or there.gone:
                outcome.miss(Thing.POST, planned.post.id)
                continue
            if there.reserved:
                outcome.miss(Thing.POST, planned.post.id)
            for each in planned.post.comments:
                if self.plan.address(each) not in home.comments:
                    outcome.miss(Thing.COMMENT, each.comment.id)


def _opened(planned: PlannedPost, fields: Fields, there: HomePost) -> dict[str, Any]:
    """Return the fields with which a post accepts more comments, before it gets its final ones again."""
    content = fields.values["content"].replace(mark(planned.key, fields.digest), mark(planned.key, RESERVED))
    status = "publish" if there.status == "publish" == fields.values["status"] else "private"
    return {**fields.values, "content": content, "status": status, "comment_status": "open"}


def _as_kept(values: Mapping[str, Any], there: HomePost) -> dict[str, Any]:
    """Return fields in the form in which a home that keeps them unchanged sends them."""
    inner = {name: {"raw": values[name]} for name in ("title", "content", "excerpt") if name in values}
    return {"author": there.author, **values, **inner, "slug": there.slug}


def _comment_as_kept(values: Mapping[str, Any]) -> str:
    """Return the fingerprint of a comment in a home that changes nothing but strips surrounding white space."""
    status = "approved" if values["status"] == "approve" else values["status"]
    return comment_fingerprint({**values, "status": status, "content": {"raw": values["content"].strip(_TRIMMED)}})
