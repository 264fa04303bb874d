"""WordPress as a home of blogs: its REST API, and what its records mean."""
