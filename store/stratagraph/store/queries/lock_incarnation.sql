SELECT f.incarnation AS known, {incarnation} AS incarnation FROM sync_feed f FOR UPDATE OF f
