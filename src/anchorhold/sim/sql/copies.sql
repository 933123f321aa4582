-- Every row of the template, once for each of the other accounts.
WITH {parts}
SELECT 1
