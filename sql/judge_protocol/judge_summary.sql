-- judge_summary. Grain: run x judge x target x prompt variant, cross-judging only: self-judging is in judge_self_summary.
-- Inputs: judge_means.
create view judge_summary as
select * exclude (method)
from judge_means
where method = 'cross_judge';
