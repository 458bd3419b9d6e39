-- exact_mean(x): exact_sum over the count of what is not null.
create macro exact_mean(x) as sum(x::decimal(38, 18))::double / count(x);
