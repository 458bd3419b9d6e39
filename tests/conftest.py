"""One Hypothesis profile for all tests: the same examples on every machine, no deadlines."""

import warnings

from hypothesis import HealthCheck, settings

with warnings.catch_warnings():
    # Their sources predate today's rules for escapes and open files; the oracles load them without ceremony.
    warnings.simplefilter("ignore")
    import jieba  # noqa: F401
    import zhconv

    zhconv.convert("門", "zh-hans")

settings.register_profile(
    "repeatable",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("repeatable")
