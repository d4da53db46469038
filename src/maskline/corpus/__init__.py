"""Where text comes from: one file per source, what an article is, how it is cleaned, and which split it is in."""
