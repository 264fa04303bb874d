"""Compare the archive with a new home: missing and changed entries, and parts that could not be compared."""
