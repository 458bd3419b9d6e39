-- questions. Grain: question x profile x eval set, of the newest commit of each: the question's text and all its fields.
-- Inputs: stored_questions (the question files of commits, kept copies or read again).
-- category, topic: of fields of those names, or that the profile declares; fields ->> '$.name' is any field.
create view questions as
select profile, eval_set, question_id, question, category, topic, fields::json as fields
from stored_questions;
