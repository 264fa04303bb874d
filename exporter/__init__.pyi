from exporter.capture.events import CaptureEvent as CaptureEvent
from exporter.capture.outcome import CaptureOutcome as CaptureOutcome
from exporter.copies.transfer import SyncResult as SyncResult
from exporter.crawl.outcome import Outcome as Outcome
from exporter.export.interface import ExportOptions as ExportOptions
from exporter.http.engine import Engine as Engine
from exporter.library.backup import Backup as Backup
from exporter.library.backup import BackupEvent as BackupEvent
from exporter.library.backup import OpenService as OpenService
from exporter.library.backup import backup as backup
from exporter.library.backup import open_service as open_service
from exporter.library.backup_blog import backup_blog as backup_blog
from exporter.library.backup_blog import open_backup as open_backup
from exporter.library.capture import capture_blog as capture_blog
from exporter.library.compare import Compared as Compared
from exporter.library.compare import compare_blog as compare_blog
from exporter.library.export import ExportableArchive as _ExportableArchive
from exporter.library.export import Exported as Exported
from exporter.library.export import copy_site as copy_site
from exporter.library.export import export_blog as export_blog
from exporter.library.move import Moved as Moved
from exporter.library.move import move_blog as move_blog
from exporter.library.search import search_blog as search_blog
from exporter.library.status import Status as Status
from exporter.library.status import status as status
from exporter.library.sync import sync as sync
from exporter.library.views import prune as prune
from exporter.library.views import rebuild as rebuild
from exporter.library.views import repair as repair
from exporter.model.kinds import Kind as Kind
from exporter.model.publication import Declared as Declared
from exporter.search.index import SearchResult as SearchResult
from exporter.settings import Settings as Settings
from exporter.source.discovery import discover as discover
from exporter.source.export_files import find_export_files as find_export_files

Archive = _ExportableArchive
__version__: str
