"""Bug reports without the diary: records scrambled so that their shape stays, written to a file, and replayed."""
