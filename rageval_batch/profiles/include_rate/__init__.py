"""Profile `include_rate`: required and forbidden phrases, citations and weights."""

from rageval_batch.profiles.include_rate.score import PROFILE as PROFILE
