-- rejects. Grain: input row that could not be used, of every commit, with its raw text.
-- Inputs: stored_rejects.
create view rejects as
select commit, file, line, reason, detail, raw from stored_rejects;
