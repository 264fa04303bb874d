"""A WordPress through its REST API."""
