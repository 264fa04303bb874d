"""The EPUB export."""
