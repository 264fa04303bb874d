"""The public API: an archive to read, and a backup as an asynchronous iterator of events."""
