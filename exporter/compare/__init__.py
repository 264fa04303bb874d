"""The archive against a new home: what arrived, what is missing or changed, and what could not be looked at."""
