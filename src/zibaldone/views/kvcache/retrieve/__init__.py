"""Which blocks a question gets: boxes, scores, fetching."""
