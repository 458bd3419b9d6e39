-- legal_rag. Grain: answer (run x question x repeat) of the current result of each run.
-- Inputs: stored_legal_rag, current_runs.
-- Sub-scores of other question types are null, and so are all of a missing or empty answer.
create view legal_rag as
select
    r.run_id, s.question_id, s.repeat, s.question_type, s.weight, s.score, s.passed,
    s.exact_match, s.citation_correctness,
    s.evidence_recall, s.evidence_precision, s.citation_provided,
    s.abstained, s.correct_abstention, s.no_hallucination, s.inventions, s.quote_included,
    s.difficulty, s.category, s.tags, s.fail_reason,
    r.eval_set
from stored_legal_rag s
join current_runs r on r.commit = s.commit and r.stored_id = s.run_id;
