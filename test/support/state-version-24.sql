-- state.db with schema version 24, in which the core still created the tables of features: written by that version, which
-- had migrated it from a version whose fingerprints have 32 bits. Made from the chat.db of upgraded-chat.ts, with changes,
-- detection on, a webhook that has been given everything, and a row of each feature. The zeros behind the last
-- fingerprint are left out.
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
   , include TEXT NOT NULL DEFAULT '[]', key_id TEXT, name TEXT, is_enabled INTEGER NOT NULL DEFAULT 1, headers TEXT NOT NULL DEFAULT '{}', on_failure TEXT NOT NULL DEFAULT 'drop', filter TEXT, previous_secret TEXT, previous_until_ms INTEGER, held TEXT, wire TEXT) STRICT;
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
, service_reason TEXT, key_id TEXT) STRICT;
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
, callback_hosts TEXT NOT NULL DEFAULT '[]', max_wait_s INTEGER NOT NULL DEFAULT 50) STRICT;
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
, has_key INTEGER NOT NULL DEFAULT 1, options TEXT NOT NULL DEFAULT '{}') STRICT;
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
, prints_version INTEGER NOT NULL DEFAULT 1) STRICT;
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
CREATE TABLE self_chat_message (
  key TEXT PRIMARY KEY,
  at_ms INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
CREATE TABLE row_age (
  row_id INTEGER PRIMARY KEY,
  age_s INTEGER NOT NULL,
  seen_ms INTEGER NOT NULL
   ) STRICT;
CREATE TABLE watched_span (
  from_ms INTEGER NOT NULL,
  to_ms INTEGER NOT NULL
   ) STRICT;
CREATE TABLE subscription (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  key_id TEXT NOT NULL,
  name TEXT NOT NULL,
  arguments TEXT NOT NULL,
  url TEXT NOT NULL,
  secret TEXT NOT NULL,
  previous_secret TEXT,
  previous_until_ms INTEGER,
  expires_ms INTEGER NOT NULL,
  last_delivery_ms INTEGER,
  last_error TEXT,
  failed_since_ms INTEGER,
  has_skipped INTEGER NOT NULL,
  has_gap INTEGER NOT NULL
   ) STRICT;
CREATE TABLE statistic (
  kind TEXT NOT NULL,
  span TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  subject TEXT NOT NULL,
  name TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (kind, span, at_ms, subject, name)
   ) STRICT, WITHOUT ROWID;
CREATE TABLE statistic_time (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  since_ms INTEGER NOT NULL,
  asked_ms INTEGER NOT NULL
   , events_ms INTEGER) STRICT;
CREATE TABLE oauth_client (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  redirect_uris TEXT NOT NULL,
  created_ms INTEGER NOT NULL
   ) STRICT;
CREATE TABLE oauth_grant (
  key_id TEXT PRIMARY KEY,
  client_id TEXT NOT NULL,
  scope TEXT NOT NULL,
  access_hash TEXT NOT NULL,
  access_until_ms INTEGER NOT NULL,
  refresh_hash TEXT NOT NULL,
  family_hash TEXT
   ) STRICT, WITHOUT ROWID;
CREATE TABLE feature (
  name TEXT PRIMARY KEY,
  version INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_by_webhook ON delivery (webhook, number);
CREATE UNIQUE INDEX sent_part_by_row ON sent_part (row_id) WHERE row_id IS NOT NULL;
CREATE INDEX sent_part_without_row ON sent_part (content, after_row_id) WHERE row_id IS NULL;
CREATE INDEX sent_part_open ON sent_part (number) WHERE is_open <> 0;
CREATE INDEX approval_by_state ON approval (state, key_id, expires_ms);
CREATE INDEX approval_by_ask ON approval (ask, created_ms);
CREATE INDEX audit_by_time ON audit (at_ms);
CREATE INDEX audit_by_ask ON audit (ask, at_ms) WHERE ask IS NOT NULL;
CREATE INDEX approval_by_expiry ON approval (expires_ms);
CREATE INDEX row_age_by_sighting ON row_age (seen_ms);
CREATE INDEX sent_part_by_key ON sent_part (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX statistic_by_age ON statistic (span, at_ms);
CREATE INDEX oauth_grant_by_access ON oauth_grant (access_hash);
CREATE INDEX audit_of_asks ON audit (key_id, at_ms, is_new) WHERE ask IS NOT NULL;
CREATE INDEX audit_of_all_asks ON audit (at_ms) WHERE ask IS NOT NULL;

PRAGMA user_version = 24;
INSERT INTO webhook (id, url, events, secret, created_at) VALUES
  ('44444444-4444-4444-8444-444444444444', 'http://127.0.0.1:9/agent', '["message.received","message.updated"]', 's', '2026-03-02T03:04:05Z');
INSERT INTO consumer VALUES ('webhook/44444444-4444-4444-8444-444444444444', 12, 3);
INSERT INTO cursor VALUES (1, 12, 'ROW-12', '2154725:1795368104432883911', 0);
INSERT INTO sqlite_sequence VALUES ('change', 3);
INSERT INTO change VALUES (1, 1, 4, 0, 1767323050060, NULL, NULL, NULL, NULL);
INSERT INTO change VALUES (2, 12, 4, 0, 1767323050060, NULL, NULL, NULL, NULL);
INSERT INTO change VALUES (3, 12, 4, 0, 1767323170060, NULL, NULL, NULL, NULL);
INSERT INTO fingerprint VALUES (0, X'00000000FF2F0080BE400680FF2F0060FF2F001040C9000840210008FF2F0000050A660001000000FFFFFFFFFFFFFFFFFF370000');
INSERT INTO change_detection VALUES (1, 2, 1, 1767323045010, 1767323045062, 1);
INSERT INTO api_key (id, name, hash, scopes, read, send, approval, caps, dry_run, created_at) VALUES
  ('7f3a9c1e', 'agent', 'h', '["send"]', '[]', '[{"address":"+15550100"}]', 'always', '{"per_minute":10,"per_day":100,"new_contacts_per_day":5}', 0, '2026-03-02T03:04:05Z');
INSERT INTO approval (id, key_id, state, recipient, members, text, attachments, shown, ask, request_hash, text_hmac, created_ms, expires_ms) VALUES
  ('a-1', '7f3a9c1e', 'held', '+15550100', '["+15550100"]', 'May I?', '[]', 's', 'q', 'r', 't', 1767323000000, 4000000000000);
INSERT INTO audit (at_ms, key_id, action, target, outcome, count, is_new) VALUES (1767323000000, 'owner', 'key', '7f3a9c1e', 'created', 1, 0);
INSERT INTO secret VALUES ('audit', 'secret of the log');
INSERT INTO self_chat VALUES (1, 'me@example.com', 'any;-;me@example.com', 1767323000000);
INSERT INTO fleet VALUES (1, 'm', 'e', NULL);
INSERT INTO subscription (id, key_id, name, arguments, url, secret, expires_ms, has_skipped, has_gap) VALUES
  ('s-1', 'owner', 'message.received', '{}', 'http://127.0.0.1:9/s', 'w', 4000000000000, 0, 0);
INSERT INTO statistic VALUES ('sends', 'day', 1767312000000, '', 'sent', 3);
INSERT INTO statistic_time VALUES (1, 1767312000000, 1767312000000, NULL);
INSERT INTO oauth_grant VALUES ('7f3a9c1e', 'c', 'read', 'h1', 4000000000000, 'h2', 'h3');
