-- Messages are known by lists of our own. What is stored is indexed anew, in the background.
DROP TABLE message_vocabulary;
DROP TABLE message_terms;
INSERT INTO frame_terms (frame_terms) VALUES ('delete-all');
INSERT INTO word_pieces (word_pieces) VALUES ('delete-all');
DELETE FROM words;
DELETE FROM indexed;

-- Runs of messages, by `num`, of which is known which terms they hold. `upto` is the term up to which a run
-- is written that is being merged from others; null once it is whole.
CREATE TABLE runs (
  num       INTEGER PRIMARY KEY,
  level     INTEGER NOT NULL,
  first     INTEGER NOT NULL,
  last      INTEGER NOT NULL,
  upto      INTEGER,
  is_merged INTEGER NOT NULL DEFAULT FALSE
) STRICT;
-- Lists of messages, some a row. `at` is the run's number and, in the lower 32 bits, the number of the first
-- list's term: that of a word in `words`, or from 2^31 on a hash of anything else.
CREATE TABLE postings (
  at    INTEGER PRIMARY KEY,
  lists BLOB NOT NULL
) STRICT;

-- With all that tells where spans stand, so that their texts need not be read for it.
DROP INDEX spans_by_session;
CREATE INDEX spans_by_session ON spans(
  session, num, frame, open_message, closed, close_message, close_undone, detached
);

-- What calls were answered whose changes do not tell by which call they were made.
CREATE TABLE answers (
  session TEXT NOT NULL,
  message TEXT NOT NULL,
  call    TEXT NOT NULL,
  body    TEXT NOT NULL,
  PRIMARY KEY (session, message, call)
) STRICT, WITHOUT ROWID;
