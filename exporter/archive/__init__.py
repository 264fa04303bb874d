"""The archive on disk: its layout, its versions, how it is written whole or not at all, and how it is checked."""
