-- judge_means. Grain: run x judge x target x prompt variant x method: what judge_summary and judge_self_summary show apart.
-- Inputs: judge_counted. Means of score, sum and every dimension over n valid judgements; shares of the recomputed
-- verdicts.
create view judge_means as
select
    run_id, eval_set, judge_model, target_model, prompt_variant, method,
    count(*) as n,
    exact_mean(score) as score,
    exact_mean(overall_recomputed) as overall,
    exact_mean(columns(lambda c: c not in (
        'run_id', 'eval_set', 'judge_model', 'question_id', 'prompt_variant', 'target_model', 'target_key', 'output_id',
        'repeat', 'method', 'overall_recomputed', 'verdict', 'score'
    ))),
    count(*) filter (verdict = 'PASS') / nullif(count(verdict), 0) as pass_share,
    count(*) filter (verdict = 'PARTIAL') / nullif(count(verdict), 0) as partial_share,
    count(*) filter (verdict = 'FAIL') / nullif(count(verdict), 0) as fail_share
from judge_counted
group by run_id, eval_set, judge_model, target_model, prompt_variant, method;
