"""Do recalled contexts follow updates: numbered facts of which later ones override earlier ones."""
