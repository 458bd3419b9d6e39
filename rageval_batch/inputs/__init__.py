"""Bytes into batches of rows and rejects: files, readers, questions, contexts, outputs, metadata, checks."""
