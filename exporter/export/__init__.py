"""Views and exports: records in, files out."""
