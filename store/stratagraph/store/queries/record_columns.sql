-- All of a record up to the ceiling, its head above.
{head_columns},
  CASE WHEN r.sensitivity <= :ceiling THEN r.name END AS name,
  CASE WHEN r.sensitivity <= :ceiling THEN r.text END AS text,
  CASE WHEN r.sensitivity <= :ceiling THEN r.payload END AS payload,
  CASE WHEN r.sensitivity <= :ceiling THEN r.provenance END AS provenance,
  CASE WHEN r.sensitivity <= :ceiling THEN r.interpretation END AS interpretation
