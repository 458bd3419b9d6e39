"""Profile `judge_protocol`: verdicts of LLM judges, validated and aggregated."""

from rageval_batch.profiles.judge_protocol.score import PROFILE as PROFILE
