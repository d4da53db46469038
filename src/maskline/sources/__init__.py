"""Where articles come from: the sample, the hub, files and dumps."""
