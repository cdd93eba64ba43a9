-- state.db with schema version 8, whose fingerprints have 32 bits: made from the chat.db of upgraded-chat.ts by the
-- version that had them, with changes, detection on and a webhook that has been given everything. The zeros behind the
-- last fingerprint are left out.
CREATE TABLE cursor (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  row_id INTEGER NOT NULL,
  guid TEXT,
  inode TEXT NOT NULL
   , change INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE webhook (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  url TEXT NOT NULL,
  events TEXT NOT NULL,
  secret TEXT,
  created_at TEXT NOT NULL,
  consecutive_failures INTEGER NOT NULL DEFAULT 0,
  last_success_at TEXT
   , include TEXT NOT NULL DEFAULT '[]', key_id TEXT, name TEXT, is_enabled INTEGER NOT NULL DEFAULT 1, headers TEXT NOT NULL DEFAULT '{}', on_failure TEXT NOT NULL DEFAULT 'drop', filter TEXT, previous_secret TEXT, previous_until_ms INTEGER, held TEXT) STRICT;
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
CREATE TABLE consumer (
  name TEXT PRIMARY KEY,
  row_id INTEGER NOT NULL,
  change INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE sent_part (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms INTEGER NOT NULL,
  request_id TEXT,
  idempotency_key TEXT,
  after_row_id INTEGER,
  chat TEXT NOT NULL,
  content TEXT NOT NULL,
  is_open INTEGER NOT NULL,
  row_id INTEGER,
  guid TEXT,
  until_row_id INTEGER
) STRICT;
CREATE UNIQUE INDEX sent_part_by_row ON sent_part (row_id) WHERE row_id IS NOT NULL;
CREATE INDEX sent_part_without_row ON sent_part (content, after_row_id) WHERE row_id IS NULL;
CREATE INDEX sent_part_open ON sent_part (number) WHERE is_open <> 0;
CREATE TABLE sent_since (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  row_id INTEGER NOT NULL
) STRICT;
CREATE TABLE api_key (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  hash TEXT NOT NULL,
  previous_hash TEXT,
  previous_until_ms INTEGER,
  scopes TEXT NOT NULL,
  read TEXT NOT NULL,
  send TEXT NOT NULL,
  approval TEXT NOT NULL,
  caps TEXT NOT NULL,
  dry_run INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  expires_at TEXT,
  last_used_at TEXT,
  revoked_at TEXT
) STRICT;
CREATE TABLE approval (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  key_id TEXT NOT NULL,
  state TEXT NOT NULL,
  recipient TEXT NOT NULL,
  members TEXT NOT NULL,
  text TEXT,
  attachments TEXT NOT NULL,
  shown TEXT NOT NULL,
  ask TEXT NOT NULL,
  request_hash TEXT NOT NULL,
  text_hmac TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  decided_at TEXT,
  decided_by TEXT,
  message_id TEXT,
  problem TEXT
) STRICT;
CREATE INDEX approval_by_state ON approval (state, key_id, expires_ms);
CREATE INDEX approval_by_ask ON approval (ask, created_ms);
CREATE TABLE audit (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms INTEGER NOT NULL,
  key_id TEXT NOT NULL,
  action TEXT NOT NULL,
  target TEXT,
  outcome TEXT NOT NULL,
  text_hmac TEXT,
  count INTEGER NOT NULL,
  is_new INTEGER NOT NULL,
  ask TEXT
) STRICT;
CREATE INDEX audit_by_time ON audit (at_ms);
CREATE INDEX audit_of_asks ON audit (key_id, at_ms, is_new) WHERE action = 'send' AND ask IS NOT NULL;
CREATE INDEX audit_by_ask ON audit (ask, at_ms) WHERE ask IS NOT NULL;
CREATE TABLE secret (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE change (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  row_id INTEGER NOT NULL,
  names INTEGER NOT NULL,
  is_removed INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  guid TEXT,
  conversation_id TEXT,
  first_row_id INTEGER,
  count INTEGER
) STRICT;
CREATE TABLE fingerprint (block INTEGER PRIMARY KEY, prints BLOB NOT NULL) STRICT;
CREATE TABLE change_detection (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  generation INTEGER NOT NULL,
  is_on INTEGER NOT NULL,
  asked_at_ms INTEGER NOT NULL,
  swept_at_ms INTEGER
) STRICT;
CREATE TABLE dropped (
  webhook TEXT NOT NULL REFERENCES webhook (id) ON DELETE CASCADE,
  row_id INTEGER NOT NULL,
  change INTEGER NOT NULL,
  is_replayed INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (webhook, row_id, change)
) STRICT, WITHOUT ROWID;
CREATE TABLE self_chat (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  address TEXT NOT NULL,
  chat TEXT NOT NULL,
  proved_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE self_chat_request (
  guid TEXT PRIMARY KEY,
  approval TEXT NOT NULL,
  text_hmac TEXT NOT NULL
) STRICT;
CREATE TABLE fleet (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  mac TEXT NOT NULL,
  epoch TEXT NOT NULL,
  stream TEXT
) STRICT;

PRAGMA user_version = 8;
INSERT INTO webhook (id, url, events, secret, created_at) VALUES
  ('44444444-4444-4444-8444-444444444444', 'http://127.0.0.1:9/agent', '["message.received","message.updated"]', 's', '2026-03-02T03:04:05Z');
INSERT INTO consumer VALUES ('webhook/44444444-4444-4444-8444-444444444444', 12, 3);
INSERT INTO cursor VALUES (1, 12, 'ROW-12', '2154725:1795368104432883911', 0);
INSERT INTO sqlite_sequence VALUES ('change', 3);
INSERT INTO change VALUES (1, 1, 4, 0, 1767323050060, NULL, NULL, NULL, NULL);
INSERT INTO change VALUES (2, 12, 4, 0, 1767323050060, NULL, NULL, NULL, NULL);
INSERT INTO change VALUES (3, 12, 4, 0, 1767323170060, NULL, NULL, NULL, NULL);
INSERT INTO fingerprint VALUES (0, X'00000000FF2F0080BE400680FF2F0060FF2F001040C9000840210008FF2F0000050A660001000000FFFFFFFFFFFFFFFFFF370000');
INSERT INTO change_detection VALUES (1, 2, 1, 1767323045010, 1767323045062);
