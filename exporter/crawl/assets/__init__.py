"""Pictures and files: their addresses, the plan, the download, and checks of their content."""
