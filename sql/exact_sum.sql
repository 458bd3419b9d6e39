-- exact_sum(x): the sum of doubles, the same bits whatever the order and the number of threads.
-- Each value is taken to 18 decimals and the sum is one of integers; null where there is nothing to add.
create macro exact_sum(x) as sum(x::decimal(38, 18))::double;
