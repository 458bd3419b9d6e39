-- judge_self_summary. Grain: run x judge x target x prompt variant, self-judging only: it never enters the main numbers.
-- Inputs: judge_means.
create view judge_self_summary as
select * exclude (method)
from judge_means
where method = 'self_judge';
