"""Second copies of an archive: places to store them, sync in both directions, checks, and reading."""
