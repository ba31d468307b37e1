"""Models: embedders, tokenizers, rerankers and chat models."""
