"""Memory where other libraries look for it: one file per library, each needing that library's extra."""
