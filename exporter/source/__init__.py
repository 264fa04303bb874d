"""The sources of a backup: export files and their index, and the ways into a blog's address."""
