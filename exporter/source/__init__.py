"""What a backup reads: export files and their index, and the ways into a blog's address."""
