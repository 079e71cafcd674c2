"""Two towers over all pairs of two sets: embeddings from who was seen with what."""
