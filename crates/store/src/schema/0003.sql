-- Where the messages stand that open and close spans; null until they are stored. Nobody has to look for each.
ALTER TABLE spans ADD COLUMN open_seq INTEGER;
ALTER TABLE spans ADD COLUMN close_seq INTEGER;
UPDATE spans SET
  open_seq = (SELECT seq FROM messages AS m
    WHERE m.session = spans.session AND m.id = spans.open_message AND m.version = 1),
  close_seq = (SELECT seq FROM messages AS m
    WHERE m.session = spans.session AND m.id = spans.close_message AND m.version = 1);

-- With all that tells where spans stand, so that their texts need not be read for it.
DROP INDEX spans_by_session;
CREATE INDEX spans_by_session ON spans(
  session, num, frame, open_seq, closed, close_seq, close_undone, detached
);
CREATE INDEX spans_unplaced ON spans(session)
  WHERE (open_message IS NOT NULL AND open_seq IS NULL)
    OR (close_message IS NOT NULL AND close_seq IS NULL);
