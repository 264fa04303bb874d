"""The pages of a site; each module yields the files of one part of it."""
