"""A blog's data, independent of its service: records, kinds, publication, assets. Pure."""
