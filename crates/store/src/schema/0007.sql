-- What is kept of a session beside texts. `message` is the one that a mark is about, else empty.
CREATE TABLE session_states (
  session TEXT NOT NULL,
  name    TEXT NOT NULL,
  message TEXT NOT NULL,
  value   TEXT NOT NULL,
  seq     INTEGER NOT NULL,
  PRIMARY KEY (session, name, message)
) STRICT, WITHOUT ROWID;

-- It stood among the texts that were sent.
INSERT INTO session_states (session, name, message, value, seq)
  SELECT session, 'frame_mode', '', text, seq FROM renders WHERE slot = 'mode'
  UNION ALL
  SELECT session, 'tokens_per_estimate', '', CAST(round(text * 100) AS INTEGER), seq
    FROM renders WHERE slot = 'calibration'
  UNION ALL
  SELECT session, 'broken_turn', '', text, seq FROM renders WHERE slot = 'broken'
  UNION ALL
  SELECT session, 'stale_until', substr(slot, 13), '', seq FROM renders WHERE slot GLOB 'stale:until:*'
  UNION ALL
  SELECT session, 'stale_step', substr(slot, 12), '', seq FROM renders WHERE slot GLOB 'stale:step:*'
  UNION ALL
  SELECT session, 'stale_summary', substr(slot, 15), '', seq FROM renders WHERE slot GLOB 'stale:summary:*';
DELETE FROM renders WHERE slot IN ('mode', 'calibration', 'broken') OR slot GLOB 'stale:*';
