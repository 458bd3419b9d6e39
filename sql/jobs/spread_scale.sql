-- spread_scale(totals): what deviations of a metric are divided by before they are squared: 1 for values up to 1e5.
create macro spread_scale(totals) as
case when greatest(-totals.min, totals.max) > 1e5 then greatest(-totals.min, totals.max) else 1.0 end;
