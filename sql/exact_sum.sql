-- exact_sum(x): the sum of doubles, the same bits whatever the order and the number of threads.
-- Each value is taken to 18 decimals and the sum is one of integers; null where there is nothing to add, and where a
-- value is beyond 1e12: a hundred million smaller ones fit into the sum.
create macro exact_sum(x) as
case
    when max(abs(x::double)) <= 1e12
        then sum(case when abs(x::double) <= 1e12 then x end::decimal(38, 18))::double
end;
