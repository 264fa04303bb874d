"""Records to text people read: Markdown, front matter, safe links and file names. Pure: no files, network or clock."""
