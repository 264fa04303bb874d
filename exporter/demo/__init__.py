"""A sample blog service and its made-up blog, for the ``demo`` command, the sample output and the tests."""
