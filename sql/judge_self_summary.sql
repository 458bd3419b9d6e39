-- judge_self_summary. Grain: run x judge x target x prompt variant, self-judging only: it never enters the main numbers.
-- Inputs: judge_counted. Means of score, sum and every dimension over n valid judgements; shares of the recomputed verdicts.
create view judge_self_summary as
select
    run_id, eval_set, judge_model, target_model, prompt_variant,
    count(*) as n,
    exact_mean(score) as score,
    exact_mean(overall_recomputed) as overall,
    exact_mean(columns(lambda c: c not in (
        'run_id', 'eval_set', 'judge_model', 'question_id', 'prompt_variant', 'target_model', 'target_key', 'output_id',
        'repeat', 'method', 'overall_recomputed', 'verdict', 'score'
    ))),
    count(*) filter (verdict = 'PASS') / count(*) as pass_share,
    count(*) filter (verdict = 'PARTIAL') / count(*) as partial_share,
    count(*) filter (verdict = 'FAIL') / count(*) as fail_share
from judge_counted
where method = 'self_judge'
group by run_id, eval_set, judge_model, target_model, prompt_variant;
