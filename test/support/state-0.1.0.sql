-- state.db as Postern 0.1.0 made it, with a row of each kind.
CREATE TABLE cursor (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  row_id INTEGER NOT NULL,
  guid TEXT,
  inode TEXT NOT NULL
) STRICT;
CREATE TABLE webhook (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  url TEXT NOT NULL,
  events TEXT NOT NULL,
  secret TEXT,
  include_details INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  row_id INTEGER NOT NULL,
  consecutive_failures INTEGER NOT NULL DEFAULT 0,
  last_success_at TEXT
) STRICT;
CREATE TABLE delivery (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  webhook TEXT NOT NULL REFERENCES webhook (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  at TEXT NOT NULL,
  event TEXT NOT NULL,
  row_id INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  status INTEGER,
  error TEXT,
  duration_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX delivery_by_webhook ON delivery (webhook, number);
CREATE TABLE send (
  key_hash TEXT PRIMARY KEY,
  request_hash TEXT NOT NULL,
  claimed_at_ms INTEGER NOT NULL,
  state TEXT NOT NULL,
  row_id INTEGER,
  problem TEXT
) STRICT;

PRAGMA user_version = 1;
INSERT INTO cursor (one, row_id, guid, inode) VALUES (1, 900, 'G900', '18446744073709551615');
INSERT INTO webhook (id, url, events, secret, include_details, created_at, row_id, consecutive_failures, last_success_at) VALUES
  ('11111111-1111-4111-8111-111111111111', 'http://127.0.0.1:9/plain', '["message.received"]', NULL, 0, '2026-01-02T03:04:05Z', 900, 0, '2026-02-02T03:04:05Z'),
  ('22222222-2222-4222-8222-222222222222', 'http://127.0.0.1:9/behind', '["message.sent","reaction.added"]', 'whsec_c2VjcmV0', 1, '2026-01-02T03:04:06Z', 17, 2, NULL);
INSERT INTO delivery (webhook, id, at, event, row_id, outcome, attempts, status, error, duration_ms) VALUES
  ('22222222-2222-4222-8222-222222222222', 'd17', '2026-01-02T04:00:00Z', 'message.sent', 17, 'dropped', 3, 500, 'The receiver answered 500.', 6012);
INSERT INTO send (key_hash, request_hash, claimed_at_ms, state, row_id, problem) VALUES
  ('7c35c5a1785d20704e44d5de4beb81c1fce91b6fe48ed7c3159af6f7f832078b', 'hash', 1767000000000, 'confirmed', 77, NULL);
