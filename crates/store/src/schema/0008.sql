-- The key by which the user's record of stores knows this database from others.
CREATE TABLE store_key (key TEXT NOT NULL) STRICT;
