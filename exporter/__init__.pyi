from exporter.export.interface import ExportOptions as ExportOptions
from exporter.http.engine import Engine as Engine
from exporter.library.backup import backup as backup
from exporter.library.backup import open_service as open_service
from exporter.library.export import copy_site as copy_site
from exporter.library.export import export_blog as export_blog
from exporter.library.status import status as status
from exporter.library.views import prune as prune
from exporter.library.views import rebuild as rebuild
from exporter.library.views import repair as repair
from exporter.model.kinds import Kind as Kind
from exporter.model.publication import Declared as Declared
from exporter.settings import Settings as Settings
from exporter.source.discovery import discover as discover
from exporter.source.export_files import find_export_files as find_export_files

__version__: str
