"""Profile `claim_evidence`: claims with their evidence, citations, entities, stages, rankings and contradictions."""

from rageval_batch.profiles.claim_evidence.score import PROFILE as PROFILE
