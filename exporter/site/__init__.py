"""The offline site: pages, search and charts that open from a folder, without a server and without the network."""
