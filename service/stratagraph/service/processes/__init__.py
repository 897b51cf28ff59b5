"""The processes of one service: a parent, a process for the background work, and workers that answer the API.

The parent imports the code, binds the sockets and forks the others; it runs no event loop, no thread and no statement,
so that a fork of it is sound at any time and little can end it. It replaces a process that has ended, or has had no
heartbeat for a while.

Uvicorn's own supervisor was not taken: it starts a worker that cannot start again without a pause, kills workers that
are merely busy for five seconds, imports everything anew for each, and knows no process but workers.
"""
