"""Typesetting: pages of HTML and pictures become a PDF, in a child process with limits."""
