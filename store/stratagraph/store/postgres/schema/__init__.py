"""The schema as it is: what a new database gets, and what an older one has after its migrations.

tables/         tables, as SQLAlchemy Core
functions/      functions, one a file
views/          views, one a file
rights.txt      which role may do what with each table, view and function, for people
rights.py       the statements that rights.txt stands for: owners, grants, policies
head.py         building all of it in an empty database; applying functions, views and rights again where they changed
migrations/     numbered changes of tables, for databases that exist
"""
