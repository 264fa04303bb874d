"""A sample blog service and its made-up blog, for the ``demo`` command, the sample output and the tests."""

FILE_URL = "https://files.example.jp/v1/blog/user/{user_id}/{mtime}"
ENTRY_URL = "https://{blog_id}/Entry/{entry_id}/"
NOBODY = {"id": "0" * 32, "nickname": "-"}
"""A calling user without a name."""
