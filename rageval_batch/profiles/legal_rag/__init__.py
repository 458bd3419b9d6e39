"""Profile `legal_rag`: exact facts, sets of evidence, and gaps where the right answer is to abstain."""

from rageval_batch.profiles.legal_rag.score import PROFILE as PROFILE
