-- The truth: every change, in order. Everything below but `messages` is derived from it.
CREATE TABLE events (
  seq  INTEGER PRIMARY KEY,
  at   INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;

CREATE TABLE frames (
  num                INTEGER PRIMARY KEY,
  id                 TEXT NOT NULL UNIQUE,
  parent             INTEGER REFERENCES frames(num),
  session            TEXT,
  status             TEXT NOT NULL,
  finished           INTEGER NOT NULL,
  title              TEXT NOT NULL,
  criteria           TEXT NOT NULL,
  criteria_compacted TEXT NOT NULL,
  identity_derived   INTEGER NOT NULL,
  results            TEXT,
  results_compacted  TEXT,
  results_source     TEXT,
  created_at         INTEGER NOT NULL,
  updated_at         INTEGER NOT NULL,
  ended_at           INTEGER,
  log_path           TEXT,
  reason             TEXT,
  invalidated_at     INTEGER,
  depth              INTEGER NOT NULL,
  position           INTEGER NOT NULL,
  -- Its place among its siblings: as they came to be, until a plan is put in another order.
  ord                INTEGER NOT NULL,
  detached           INTEGER NOT NULL,
  -- The frame that stands for it; it is counted as that one's child then.
  consolidated       INTEGER REFERENCES frames(num)
) STRICT;
CREATE INDEX frames_consolidated ON frames(consolidated) WHERE consolidated IS NOT NULL;
CREATE INDEX frames_by_parent ON frames(parent, num);
CREATE INDEX frames_finished ON frames(parent, ended_at) WHERE finished = 1;
CREATE INDEX frames_open ON frames(parent, status, ord) WHERE status IN ('planned', 'in_progress', 'blocked');

-- How many attached frames of a status a parent has; parent 0 stands for the roots, -1 for the store.
CREATE TABLE frame_counts (
  parent INTEGER NOT NULL,
  status TEXT NOT NULL,
  n      INTEGER NOT NULL,
  PRIMARY KEY (parent, status)
) STRICT, WITHOUT ROWID;

CREATE TABLE aliases (
  alias TEXT PRIMARY KEY,
  frame INTEGER NOT NULL REFERENCES frames(num)
) STRICT, WITHOUT ROWID;
CREATE INDEX aliases_by_frame ON aliases(frame, alias);

-- Words of finished frames, so that the relevant among many siblings are found without reading all.
CREATE TABLE frame_words (
  parent INTEGER NOT NULL,
  word   TEXT NOT NULL,
  frame  INTEGER NOT NULL REFERENCES frames(num),
  PRIMARY KEY (parent, word, frame)
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
  id        TEXT PRIMARY KEY,
  host      TEXT NOT NULL,
  parent    TEXT,
  root      INTEGER REFERENCES frames(num),
  active    INTEGER REFERENCES frames(num),
  active_seq INTEGER NOT NULL,
  -- Whether it was read from another program's recording, so that nobody works in it here.
  recorded  INTEGER NOT NULL DEFAULT 0,
  -- The newest event that changed its spans or its active frame.
  changed_seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE spans (
  num           INTEGER PRIMARY KEY,
  frame         INTEGER NOT NULL REFERENCES frames(num),
  session       TEXT NOT NULL,
  open_message  TEXT,
  open_call     TEXT,
  origin        TEXT NOT NULL,
  closed        INTEGER NOT NULL,
  close_message TEXT,
  close_call    TEXT,
  outcome       TEXT,
  close_undone  INTEGER NOT NULL,
  detached      INTEGER NOT NULL,
  foldable      INTEGER NOT NULL,
  fold_text     TEXT,
  settled_at    TEXT,
  settled_serial INTEGER,
  renderer      INTEGER,
  -- Why it is sent as it is although there is a fold.
  held          TEXT
) STRICT;
CREATE INDEX spans_by_session ON spans(session, num);
CREATE INDEX spans_open ON spans(session, num) WHERE closed = 0 OR close_undone = 1;
CREATE INDEX spans_by_frame ON spans(frame, num);
CREATE INDEX spans_held ON spans(frame) WHERE held IS NOT NULL;
CREATE INDEX spans_by_call ON spans(open_call, session);
CREATE INDEX spans_by_close ON spans(session, close_message) WHERE close_message IS NOT NULL;

-- Frames that sessions of their own work on, by the span in which they do, and the calls that wait.
CREATE TABLE errands (
  span         INTEGER PRIMARY KEY REFERENCES spans(num),
  frame        INTEGER NOT NULL REFERENCES frames(num),
  session      TEXT NOT NULL,
  caller       TEXT NOT NULL,
  call_message TEXT,
  call         TEXT,
  delivered    INTEGER NOT NULL
) STRICT;
CREATE INDEX errands_by_caller ON errands(caller, span);
CREATE INDEX errands_by_session ON errands(session, span);
CREATE INDEX errands_open ON errands(session) WHERE delivered = 0;

CREATE TABLE artifacts (
  frame INTEGER NOT NULL REFERENCES frames(num),
  path  TEXT NOT NULL,
  hash  TEXT,
  ord   INTEGER NOT NULL,
  PRIMARY KEY (frame, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX artifacts_by_path ON artifacts(path, hash);

CREATE TABLE decisions (
  frame INTEGER NOT NULL REFERENCES frames(num),
  ord   INTEGER NOT NULL,
  text  TEXT NOT NULL,
  PRIMARY KEY (frame, ord)
) STRICT, WITHOUT ROWID;

CREATE TABLE pins (
  num   INTEGER PRIMARY KEY,
  frame INTEGER NOT NULL REFERENCES frames(num),
  text  TEXT NOT NULL,
  seq   INTEGER NOT NULL,
  removed INTEGER NOT NULL
) STRICT;
CREATE INDEX pins_by_frame ON pins(frame, num) WHERE removed = 0;

-- What the machine saw of the work in a span when that was closed; there is no span where the frame came
-- from elsewhere.
CREATE TABLE evidence (
  num   INTEGER PRIMARY KEY,
  frame INTEGER NOT NULL REFERENCES frames(num),
  span  INTEGER UNIQUE REFERENCES spans(num),
  brief TEXT NOT NULL,
  body  TEXT NOT NULL
) STRICT;
CREATE INDEX evidence_by_frame ON evidence(frame, num);

-- What was sent to the model, byte for byte.
CREATE TABLE renders (
  session  TEXT NOT NULL,
  slot     TEXT NOT NULL,
  text     TEXT NOT NULL,
  renderer INTEGER NOT NULL,
  seq      INTEGER NOT NULL,
  PRIMARY KEY (session, slot)
) STRICT, WITHOUT ROWID;

-- Lines that stand for results of calls while the work that they belong to goes on.
CREATE TABLE masks (
  session        TEXT NOT NULL,
  message        TEXT NOT NULL,
  part           TEXT NOT NULL,
  text           TEXT NOT NULL,
  settled_at     TEXT NOT NULL,
  settled_serial INTEGER NOT NULL,
  PRIMARY KEY (session, message, part)
) STRICT, WITHOUT ROWID;

-- Pushes and pops that were suggested. One without an end has expired once expires_at has come.
CREATE TABLE suggestions (
  num        INTEGER PRIMARY KEY,
  session    TEXT NOT NULL,
  frame      INTEGER NOT NULL REFERENCES frames(num),
  heuristic  TEXT NOT NULL,
  confidence INTEGER NOT NULL,
  subject    TEXT,
  reason     TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  outcome    TEXT,
  ended_at   INTEGER
) STRICT;
CREATE INDEX suggestions_by_frame ON suggestions(frame, heuristic, num);
CREATE INDEX suggestions_by_session ON suggestions(session, num);

-- Child sessions, and what becomes of them; those that are long over are only counted.
CREATE TABLE subagents (
  session      TEXT PRIMARY KEY,
  parent       TEXT NOT NULL,
  title        TEXT NOT NULL,
  caller       INTEGER REFERENCES frames(num),
  matches      INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  active_at    INTEGER NOT NULL,
  idle_at      INTEGER,
  until        INTEGER,
  aborted      INTEGER NOT NULL,
  trouble      TEXT,
  completed_at INTEGER,
  completed_by TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX subagents_until ON subagents(until) WHERE until IS NOT NULL;

CREATE TABLE subagent_counts (
  what TEXT PRIMARY KEY,
  n    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE settings (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Compactions that were asked for and have not come yet.
CREATE TABLE pending_compactions (
  session TEXT PRIMARY KEY,
  frame   INTEGER NOT NULL REFERENCES frames(num),
  body    TEXT NOT NULL,
  seq     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX pending_compactions_by_frame ON pending_compactions(frame);

-- Compactions that came or were given up.
CREATE TABLE compactions (
  seq     INTEGER PRIMARY KEY,
  at      INTEGER NOT NULL,
  session TEXT NOT NULL,
  kind    TEXT NOT NULL,
  frame   INTEGER REFERENCES frames(num),
  message TEXT,
  summary TEXT,
  failure TEXT,
  -- What the agent has still to be told.
  notice  TEXT
) STRICT;
CREATE INDEX compactions_by_session ON compactions(session, seq);
CREATE INDEX compactions_by_frame ON compactions(frame, seq);
CREATE INDEX compactions_untold ON compactions(session, seq) WHERE notice IS NOT NULL;

-- States of the project's files where frames began and ended, and what was restored.
CREATE TABLE file_states (
  frame  INTEGER NOT NULL REFERENCES frames(num),
  moment TEXT NOT NULL,
  state  TEXT NOT NULL,
  PRIMARY KEY (frame, moment)
) STRICT, WITHOUT ROWID;
CREATE TABLE file_restores (
  seq   INTEGER PRIMARY KEY,
  frame INTEGER NOT NULL REFERENCES frames(num),
  body  TEXT NOT NULL
) STRICT;
CREATE INDEX file_restores_by_frame ON file_restores(frame, seq);

-- Bodies of messages: blobs beside the log, which holds their ids and hashes. `codec` says how one is
-- packed.
CREATE TABLE messages (
  num     INTEGER PRIMARY KEY,
  session TEXT NOT NULL,
  seq     INTEGER NOT NULL,
  version INTEGER NOT NULL,
  id      TEXT NOT NULL,
  hash    BLOB NOT NULL,
  at      INTEGER NOT NULL,
  bytes   INTEGER NOT NULL,
  codec   INTEGER NOT NULL,
  body    BLOB NOT NULL,
  UNIQUE (session, seq, version)
) STRICT;
CREATE INDEX messages_by_id ON messages(session, id, version, seq);

-- Frames whose log has to be written, with the event that made it so. Work to be done, like `indexed`
-- below: what is written leaves it.
CREATE TABLE logs_due (
  frame INTEGER PRIMARY KEY,
  since INTEGER NOT NULL
) STRICT;

-- The terms that messages (by `num`) and frames are known by. Search narrows down with them and then
-- looks at the texts themselves. They are caught up with, up to what `indexed` says.
CREATE VIRTUAL TABLE message_terms USING fts5(
  terms, content='', contentless_delete=1, detail=none, tokenize='ascii'
);
CREATE VIRTUAL TABLE frame_terms USING fts5(
  terms, content='', contentless_delete=1, detail=none, tokenize='ascii'
);
-- The words among these terms, each once, and the letters that stand beside each other in them: a string
-- that begins or ends within a word is looked for by the words that hold it.
CREATE TABLE words (
  num  INTEGER PRIMARY KEY,
  word TEXT NOT NULL UNIQUE
) STRICT;
CREATE VIRTUAL TABLE word_pieces USING fts5(
  pieces, content='', columnsize=0, detail=none, tokenize='ascii'
);
CREATE VIRTUAL TABLE message_vocabulary USING fts5vocab(message_terms, row);
CREATE VIRTUAL TABLE frame_vocabulary USING fts5vocab(frame_terms, row);
CREATE TABLE indexed (
  what TEXT PRIMARY KEY,
  upto INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
