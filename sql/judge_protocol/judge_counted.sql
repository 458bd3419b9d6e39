-- judge_counted. Grain: judgement that enters means: valid, and no duplicate of another.
-- Inputs: stored_judge_protocol, current_runs. target_key is the target's name for comparing: NFKC, strip, casefold.
-- Models are called as the run first writes them, so that all spellings of a name are one judge or target.
create view judge_counted as
select
    r.run_id, r.eval_set,
    s.* exclude (
        run_id, commit, dataset, weight, input, line, file, valid, flags, judge_flags, warnings, overall_score,
        verdict_declared, evidence_count, quotes_found, fail_reason, cross_score,
        cross_counted, self_score, self_counted, due, answered, base_variant, judge_name, target_name
    ) replace (coalesce(judge_name, judge_model) as judge_model, coalesce(target_name, target_model) as target_model)
from stored_judge_protocol s
join current_runs r on r.commit = s.commit and r.stored_id = s.run_id
where s.cross_score is not null or s.self_score is not null;
