-- exact_mean(x): exact_sum over the count of what is not null.
create macro exact_mean(x) as exact_sum(x) / count(x);
