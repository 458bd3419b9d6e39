-- current_runs. Grain: result that may be asked for: the newest of each run x profile x eval set, and older ones that were
-- named RUN@COMMIT. Inputs: stored_runs (every run of every commit), commits, pinned (older results that a query names), file_runs
-- (runs of files that are compared in this session).
-- run_id is what the result is called; stored_id what its rows are called in the files of its commit.
create view current_runs as
with dated as (
    select r.* exclude (run_id), r.run_id as stored_id, c.created_at
    from stored_runs r
    join commits c on c.commit = r.commit
)
select d.stored_id as run_id, d.*
from dated d
qualify row_number() over (partition by d.stored_id, d.profile, d.questions_sha256 order by d.commit desc) = 1
union all
select p.run_id, d.*
from dated d
join pinned p on p.stored_id = d.stored_id and p.commit = d.commit
union all by name
from file_runs;
