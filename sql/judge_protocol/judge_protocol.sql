-- judge_protocol. Grain: judgement, and sample of the list that a judge has no record for (fail_reason missing).
-- Inputs: stored_judge_protocol, current_runs.
-- The columns of the protocol; one a dimension of the rubric that a run was scored with, null for other rubrics' runs.
create view judge_protocol as
select
    r.run_id, s.judge_model, s.question_id, s.prompt_variant, s.target_model, s.output_id, s.repeat,
    s.* exclude (
        run_id, judge_model, question_id, prompt_variant, target_model, output_id, repeat, commit, dataset, weight,
        input, line, target_key, cross_score, cross_counted, self_score, self_counted, due, answered, base_variant,
        judge_name, target_name
    ),
    r.eval_set
from stored_judge_protocol s
join current_runs r on r.commit = s.commit and r.stored_id = s.run_id;
