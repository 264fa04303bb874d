"""The window, in a person's own browser. Its forms become command lines, and its pages show their progress."""
