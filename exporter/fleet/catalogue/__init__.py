"""The catalogue of a fleet: one table each of blogs, entries, comments, files, versions and runs."""
