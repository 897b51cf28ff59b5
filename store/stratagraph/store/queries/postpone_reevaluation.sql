UPDATE reevaluation SET attempts = attempts + 1, error = :error, next_try_at = :next_try_at
WHERE tenant = :tenant AND id = :id
