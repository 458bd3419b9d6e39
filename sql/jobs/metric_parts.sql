-- metric_parts(numerator, denominator, n): the sums of a metric's numerators and denominators over the questions of a
-- run; an aggregate. They are decimals, so that sums of sums are exact. n: answers of the question with a denominator.
-- n_parts: questions, in a run without repeats answers, that have one.
create macro metric_parts(numerator, denominator, n, repeats) as {
    numerator: sum(numerator)::double,
    denominator: sum(denominator)::double,
    n_parts: coalesce(sum(case when repeats = 1 then n else (n > 0)::bigint end), 0)::bigint
};
