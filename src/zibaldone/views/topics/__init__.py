"""The topics view (Infini Memory): Markdown documents, one per topic, kept up to date."""
