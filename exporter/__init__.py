"""blog-exporter: back up a whole blog into an archive from which nothing is ever lost."""

__version__ = "0.1.0"
