"""Options that many commands share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from exporter.cli.blog_names import archive_named, is_web_address
from exporter.cli.help import PATH
from exporter.cli.language import adopt
from exporter.cli.output import OnLoss, Output, SafeStream, counted
from exporter.errors import BlogExporterError, UsageError
from exporter.message import message, message_n
from exporter.service.registry import PROFILES
from exporter.setting_sources import option_name
from exporter.setting_types import duration
from exporter.settings import SETTINGS, Settings, read_config, resolve

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from exporter.archive.archive import Archive
    from exporter.copies.object_lock import Locked
    from exporter.copies.store import Store

Command = Callable[..., Any]


def complete_folders(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Let the shell complete folders."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(typed, type="dir")]


def complete_archives(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Let the shell complete the names in the settings file, and folders."""
    from click.shell_completion import CompletionItem

    names: list[str] = []
    with suppress(BlogExporterError):
        names = [name for name in read_config(context.params.get("config")).blogs if name.startswith(typed)]
    return [*map(CompletionItem, names), *complete_folders(context, parameter, typed)]


def archive_argument(command: Command) -> Command:
    """Add DIR, an archive's folder; the command ends with an error if its newest versions are damaged."""

    @wraps(command)
    def wrapped(*, archive: str, **given: Any) -> Any:
        place = archive_named(archive, given.get("config"))
        with ending_with_damage(place):
            return command(archive=place, **given)

    return click.argument("archive", metavar="DIR", shell_complete=complete_archives)(wrapped)


def with_output(on_loss: OnLoss = OnLoss.FAIL) -> Callable[[Command], Command]:
    """Add ``--json``, ``-q`` and ``-v``; the command gets an :class:`Output` as ``out``.

    Args:
        on_loss: the reaction if the answer cannot be written.
    """

    def decorate(command: Command) -> Command:
        @click.option("--json", "as_json", is_flag=True, help=message("Print one JSON object on standard output."))
        @click.option("-q", "--quiet", is_flag=True, help=message("Print only warnings and errors."))
        @click.option("-v", "--verbose", count=True, help=message("Print more; twice, even more."))
        @wraps(command)
        def wrapped(*args: Any, as_json: bool, quiet: bool, verbose: int, **options: Any) -> Any:
            stdout = click.get_current_context().find_object(SafeStream)
            if stdout is not None:
                stdout.on_loss = on_loss
            out = Output(as_json=as_json, verbosity=-1 if quiet else min(verbose, 2))
            return command(*args, out=out, **options)

        return wrapped

    return decorate


def setting_options(*names: str) -> Callable[[Command], Command]:
    """Add an option for each setting; a setting that is off by default becomes a flag.

    The settings parse the text, so that every source is checked alike.
    """

    def decorate(command: Command) -> Command:
        for name in reversed(names):
            setting, spelled = SETTINGS[name], option_name(name)
            if setting.choices == ("yes", "no") and setting.default != "yes":
                command = click.option(spelled, name, flag_value="yes", default=None, help=setting.help)(command)
                continue
            how: dict[str, Any] = {"metavar": setting.metavar, "shell_complete": offered(setting.choices)}
            if name == "profile":
                how = {"metavar": "|".join((*PROFILES, "NAME")), "shell_complete": offered(PROFILES)}
            elif name.endswith("_url"):
                how["metavar"] = "URL"
            command = click.option(spelled, name, help=setting.help, show_default=setting.default or None, **how)(
                command
            )
        return command

    return decorate


def given_settings(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings among the options of a command line that were given."""
    return {name: value for name, value in options.items() if name in SETTINGS and value is not None}


def offered(choices: Iterable[str]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return the completion of a value to one of these."""
    return lambda _context, _parameter, typed: [each for each in choices if each.startswith(typed)]


def without_views(command: Command) -> Command:
    """Add ``--no-markdown`` and ``--no-site``, which turn off the settings of these names."""
    for name, words in (
        ("site", message("Write no offline site into latest/.")),
        ("markdown", message("Write no Markdown into latest/.")),
    ):
        command = click.option(f"--no-{name}", name, flag_value="no", default=None, help=words)(command)
    return command


def duration_option(name: str, text: str) -> timedelta:
    """Read a duration given as an option that is not a setting.

    Raises:
        UsageError: the text is not a duration.
    """
    try:
        return duration(text)
    except ValueError as error:
        raise UsageError("option {name} is {text!r}: {reason}.", name=name, text=text, reason=error) from error


at_option = click.option(
    "--at",
    metavar="N|DATE",
    help=message("Use version N, or the version of a date."),
    show_default=message("the newest"),
)
_config_option = click.option(
    "--config", type=PATH, metavar="FILE", help=message("Settings file in place of your own.")
)


def with_config(*names: str, on_loss: OnLoss = OnLoss.FAIL) -> Callable[[Command], Command]:
    """Add options for these settings, ``--config`` and the options of :func:`with_output`."""

    def decorate(command: Command) -> Command:
        return setting_options(*names)(_config_option(with_output(on_loss)(command)))

    return decorate


def with_archive(*names: str, on_loss: OnLoss = OnLoss.FAIL) -> Callable[[Command], Command]:
    """Add DIR, options for these settings, ``--config`` and the options of :func:`with_output`.

    The command gets the opened ``archive``, and ``settings`` resolved with its options.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def wrapped(*, out: Output, archive: Path, config: Path | None, **options: Any) -> Any:
            found, settings = opened(out, archive, given_settings(options), config)
            others = {name: value for name, value in options.items() if name not in SETTINGS}
            code = command(out=out, archive=found, settings=settings, **others)
            if found.damage:
                raise found.damage[0]
            return code

        return with_config(*names, on_loss=on_loss)(wrapped)

    return decorate


def require_new_file(path: Path, *, force: bool) -> None:
    """Check that a command may write a file.

    Raises:
        UsageError: the path is a folder or inside an archive, or the file exists and ``force`` is not set.
    """
    from exporter.archive.reader import require_outside_archives

    require_outside_archives(path)
    if path.is_dir():
        raise UsageError("{path} is a folder; name a file.", path=path)
    if os.path.lexists(path) and not force:
        raise UsageError("{path} exists already. Add --force to replace it, or name another file.", path=path)


@contextmanager
def ending_with_damage(path: Path | None) -> Iterator[None]:
    """Read the archive at ``path``, then raise the damage of its newest versions, if they have any.

    The command may succeed thanks to ``latest/``; its user still learns that the archive is damaged.

    Raises:
        ArchiveDamaged: a file of one of the newest versions is missing or has another size than its manifest says.
    """
    from exporter.archive.archive import Archive

    damage = None
    with suppress(BlogExporterError):
        damage = None if path is None else next(Archive.open(path).wrong_sizes(), None)
    yield
    if damage is not None:
        raise damage[1]


def settings_of(
    out: Output, config: Path | None, options: Mapping[str, str | None] | None = None, blog_id: str = ""
) -> Settings:
    """Resolve the settings from the command line and all other sources, and use their language from now on."""
    return adopt(resolve(options or {}, config=config, blog_id=blog_id, warn=out.warn))


def opened(out: Output, path: Path, options: Mapping[str, str | None], config: Path | None) -> tuple[Archive, Settings]:
    """Open an archive, and resolve the settings for its blog."""
    from exporter.archive.archive import Archive
    from exporter.archive.settings_file import settings_to_read_with

    archive = Archive.open(path)
    return archive, adopt(settings_to_read_with(archive, options, config, out.warn))


identity_option = click.option(
    "--identity",
    "identities",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help=message("File of an age identity, to read an encrypted copy."),
)


def is_copy(place: str, identities: Sequence[Path]) -> bool:
    """Return whether a place must be read through a store: an address or an encrypted folder."""
    from exporter.copies.store import is_place_of_copies

    return bool(identities) or is_place_of_copies(place)


def place_named(words: str, config: Path | None = None) -> str:
    """Return the folder of the archive that the user named, or the address of a copy unchanged.

    Raises:
        UsageError: the words are an address of an unsupported kind.
        NoArchive: see :func:`~exporter.cli.blog_names.archive_named`.
    """
    from exporter.copies.store import is_address

    return words if not is_web_address(words) and is_address(words) else str(archive_named(words, config))


def store_at(place: str, identities: tuple[Path, ...]) -> Store:
    """Return the store at a place, for reading."""
    from exporter.copies.opening import StoreOptions, open_store

    return open_store(place, StoreOptions(identities=identities))


def warn_about_locked(out: Output, locked: Locked) -> None:
    """Show the locks of a copy."""
    files = counted(locked.objects, "file")
    if locked.until is None:
        text = message_n(
            "{n:,} of {files} has no lock.", "{n:,} of {files} have no lock.", locked.unlocked, files=files
        )
        out.answer(text)
        return
    out.answer(
        "Locked until {date} at least: {files}, {renewed:,} of them renewed.",
        date=f"{locked.until:%Y-%m-%d}",
        files=files,
        renewed=locked.renewed,
    )


_WITH_CAPTURES: Final = frozenset({"bagit", "wacz"})
"""The formats that contain the captures of an archive."""


def readable_archive(need: str, metavar: str = "DIR") -> Callable[[Command], Command]:
    """Add the argument DIR. A copy is fetched into the cache, and the command receives the folder as ``archive``.

    Args:
        need: the name of a :class:`~exporter.copies.cache.Need`.
        metavar: the name in the help; in brackets if the argument is optional.
    """

    def decorate(command: Command) -> Command:
        @identity_option
        @wraps(command)
        def wrapped(*, archive: str | None, identities: tuple[Path, ...], **given: Any) -> Any:
            place = None if archive is None else place_named(archive, given.get("config"))
            if place is not None and is_copy(place, identities):
                return command(archive=_fetched(place, identities, need, given), **given)
            root = None if place is None else Path(place)
            with ending_with_damage(root):
                return command(archive=root, **given)

        required = not metavar.startswith("[")
        add = click.argument("archive", metavar=metavar, required=required, shell_complete=complete_archives)
        return add(wrapped)

    return decorate


def _fetched(copy: str, identities: tuple[Path, ...], need: str, given: dict[str, Any]) -> Path:
    from exporter.cli.progress_bar import ProgressBar
    from exporter.copies.cache import Need, fetched

    needed = max(Need[need], Need.RECORDS) if given.get("entry") else Need[need]
    needed = Need.CAPTURES if given.get("form") in _WITH_CAPTURES else needed
    out = Output(as_json=bool(given.get("as_json")), verbosity=-1 if given.get("quiet") else 0)
    with ProgressBar(out, message("fetching")) as bar:
        return fetched(store_at(copy, identities), needed, given.get("at"), bar.update)
