-- What a session took that was read from another program's recording, as JSON; null where nobody has told.
ALTER TABLE sessions ADD COLUMN figures TEXT;
