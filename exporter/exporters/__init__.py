"""What can be made of an archive: one interface, and one module for each target."""
