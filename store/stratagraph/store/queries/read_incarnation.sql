SELECT {incarnation} AS incarnation
