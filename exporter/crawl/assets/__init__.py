"""The pictures and files of a blog: which there are, reading them, and telling whether they are what they claim."""
