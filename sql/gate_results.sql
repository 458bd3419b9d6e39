-- gate_results. Grain: current run x gate, of every level that its profile's gates have: all runs in one statement.
-- Inputs: gated. status: passed, failed or skipped.
create view gate_results as
select run_id, profile, eval_set, gate, metric, stat, actual, op, "limit", level, status, failure, n
from gated(null);
