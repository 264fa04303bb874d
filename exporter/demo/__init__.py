"""A sample blog service and its fictional blog, for the ``demo`` command, the sample output and the tests."""
