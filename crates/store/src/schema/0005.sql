-- Steps that a pop can close after the fact, by the name that was given to them: a number, which is never given
-- twice in a store, but that a fork keeps what its original was shown.
CREATE TABLE named_steps (
  num INTEGER NOT NULL,
  session TEXT NOT NULL,
  first_message TEXT,
  first_call TEXT,
  last_message TEXT,
  last_call TEXT,
  PRIMARY KEY (num, session)
) STRICT, WITHOUT ROWID;
CREATE INDEX named_steps_by_session ON named_steps(session, num);
CREATE INDEX named_steps_by_call ON named_steps(last_call);
