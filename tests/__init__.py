"""The tests."""

import sys

# If jsonschema finds this module, it builds a grammar for two seconds, for a format that no schema here has.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
