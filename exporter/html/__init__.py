"""Making something of HTML from strangers: trees, clean HTML, links, Markdown. Pure."""
