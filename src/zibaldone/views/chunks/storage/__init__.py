"""Records in immutable blocks: where the chunks of Akashic lie (section 4.2)."""
