-- run_groups. Grain: run x profile x eval set x grouping x value: a run by type, difficulty, category, tag, … as its profile
-- names columns. A question with several tags stands under each of them, so the groups of a list do not add up to the run.
-- Inputs: stored_summary, current_runs, profile_catalog.
-- Several repeats of a question count as their mean. overall_percentage: the mean as a share of the best score, times 100.
create view run_groups as
select
    r.run_id, r.profile, r.eval_set, s.grouping, s.group_value as value,
    s.n_total as total_tests, p.sum as passed_tests, p.mean as pass_rate, s.mean,
    100 * s.mean / c.score_top as overall_percentage
from stored_summary s
join current_runs r on r.commit = s.commit and r.stored_id = s.run_id
join profile_catalog c on c.profile = r.profile
left join stored_summary p
    on p.commit = s.commit and p.run_id = s.run_id and p.grouping = s.grouping and p.group_value = s.group_value
    and p.metric = 'passed'
where s.grouping <> '' and s.metric = 'score';
