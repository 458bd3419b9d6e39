-- exact_weighted_mean(x, w, top): sum of x times w over the sum of the w of what is not null, the same bits in any order.
-- top is the largest w: weights are scaled by it, so that any finite weight can be added exactly. Null where all are 0.
create macro exact_weighted_mean(x, w, top) as
exact_sum(x * (w / nullif(top, 0))) / nullif(exact_sum(case when x is not null then w / nullif(top, 0) end), 0);
