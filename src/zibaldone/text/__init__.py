"""Plain-language tools without a model: words, sentences, dates. The offline answers stand on these."""
