"""Profile `eval_json_v2`: structured JSON answers against an expected example."""

from rageval_batch.profiles.eval_json_v2.score import PROFILE as PROFILE
