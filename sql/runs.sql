-- runs. Grain: run x profile x eval set, its newest commit.
-- Inputs: current_runs. An older result stays in the store and is named RUN@COMMIT; it shows only where it was asked for.
create view runs as
select
    run_id, profile, eval_set, commit, created_at,
    questions_sha256, source_sha256, contexts_sha256, params_sha256, signature, version,
    prompt_sha256, prompt_version, index_version, model_id, adapter_id, eval_set_version,
    question_count, answered_count, repeats, meta
from current_runs;
