"""Measurements of the program against what else could do the same work. See README.md beside this file."""
