-- confusions. Grain: run x class field x wrong answer x right answer.
-- Inputs: tallies. Long answers are cut.
create view confusions as
select run_id, profile, eval_set, kind as field, got, expected, n
from tallies
where expected is not null;
