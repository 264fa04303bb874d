"""Blog services: what one is, how its lists are paged, and one module for each."""
