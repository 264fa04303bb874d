"""Second copies of archives: where they are kept, how they are sent, checked, brought back and read."""
