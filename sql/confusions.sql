-- confusions. Grain: run x class field x wrong answer x right answer.
-- Inputs: tallies. got: the first 120 characters; longer answers that begin alike are one line.
create view confusions as
select run_id, profile, eval_set, kind as field, got, expected, n
from tallies
where expected is not null;
