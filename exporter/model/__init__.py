"""What the program knows of a blog, whichever service it is from: records, kinds, publication, assets. Pure."""
