"""The data of a blog, independent of its service: records, kinds, publication, assets. Pure."""
