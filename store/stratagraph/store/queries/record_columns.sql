-- All of a record: its head, and what is beyond it from the record itself (`r`), which is not there above the ceiling.
{head_columns}, r.name, r.text, r.payload, r.provenance, r.interpretation, r.sealed
