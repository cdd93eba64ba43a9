/** Creates the tables of the core. A feature creates its own. */
export const TABLES = `
  CREATE TABLE cursor (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    row_id INTEGER NOT NULL,
    guid TEXT,
    inode TEXT NOT NULL,
    change INTEGER NOT NULL DEFAULT 0,
    replaced_at INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE webhook (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    url TEXT NOT NULL,
    events TEXT NOT NULL,
    secret TEXT,
    created_at TEXT NOT NULL,
    consecutive_failures INTEGER NOT NULL DEFAULT 0,
    last_success_at TEXT,
    include TEXT NOT NULL DEFAULT '[]',
    key_id TEXT,
    name TEXT,
    is_enabled INTEGER NOT NULL DEFAULT 1,
    headers TEXT NOT NULL DEFAULT '{}',
    on_failure TEXT NOT NULL DEFAULT 'drop',
    filter TEXT,
    previous_secret TEXT,
    previous_until_ms INTEGER,
    held TEXT,
    wire TEXT
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
  CREATE TABLE dropped (
    webhook TEXT NOT NULL REFERENCES webhook (id) ON DELETE CASCADE,
    row_id INTEGER NOT NULL,
    change INTEGER NOT NULL,
    is_replayed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (webhook, row_id, change)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE consumer (
    name TEXT PRIMARY KEY,
    row_id INTEGER NOT NULL,
    change INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE send (
    key_hash TEXT PRIMARY KEY,
    request_hash TEXT NOT NULL,
    claimed_at_ms INTEGER NOT NULL,
    state TEXT NOT NULL,
    row_id INTEGER,
    problem TEXT
  ) STRICT;
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
    until_row_id INTEGER,
    service_reason TEXT,
    key_id TEXT
  ) STRICT;
  CREATE UNIQUE INDEX sent_part_by_row ON sent_part (row_id) WHERE row_id IS NOT NULL;
  CREATE INDEX sent_part_without_row ON sent_part (content, after_row_id) WHERE row_id IS NULL;
  CREATE INDEX sent_part_open ON sent_part (number) WHERE is_open <> 0;
  CREATE INDEX sent_part_by_key ON sent_part (idempotency_key) WHERE idempotency_key IS NOT NULL;
  CREATE TABLE sent_since (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    row_id INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE row_age (
    row_id INTEGER PRIMARY KEY,
    age_s INTEGER NOT NULL,
    seen_ms INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX row_age_by_sighting ON row_age (seen_ms);
  CREATE TABLE watched_span (
    from_ms INTEGER NOT NULL,
    to_ms INTEGER NOT NULL
  ) STRICT;
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
  CREATE TABLE fingerprint (
    block INTEGER PRIMARY KEY,
    prints BLOB NOT NULL
  ) STRICT;
  CREATE TABLE change_detection (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    generation INTEGER NOT NULL,
    is_on INTEGER NOT NULL,
    asked_at_ms INTEGER NOT NULL,
    swept_at_ms INTEGER,
    prints_version INTEGER NOT NULL DEFAULT 1
  ) STRICT;
  INSERT INTO change_detection (one, generation, is_on, asked_at_ms) VALUES (1, 0, 0, 0);
  CREATE TABLE feature (
    name TEXT PRIMARY KEY
  ) STRICT, WITHOUT ROWID;`;
