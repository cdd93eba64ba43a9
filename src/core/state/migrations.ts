/** Each entry migrates the schema by one version. `user_version` counts the applied ones. */
export const MIGRATIONS = [
  `CREATE TABLE cursor (
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
   ) STRICT;`,
  `CREATE TABLE consumer (
     name TEXT PRIMARY KEY,
     row_id INTEGER NOT NULL,
     change INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   INSERT INTO consumer SELECT 'webhook/' || id, row_id, 0 FROM webhook;
   ALTER TABLE webhook DROP COLUMN row_id;
   ALTER TABLE webhook ADD COLUMN include TEXT NOT NULL DEFAULT '[]';
   UPDATE webhook SET include = '["details"]' WHERE include_details <> 0;
   ALTER TABLE webhook DROP COLUMN include_details;
   ALTER TABLE cursor ADD COLUMN change INTEGER NOT NULL DEFAULT 0;`,
  `CREATE TABLE sent_part (
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
   ) STRICT;`,
  `CREATE TABLE api_key (
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
   ALTER TABLE webhook ADD COLUMN key_id TEXT;`,
  `CREATE TABLE change (
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
   INSERT INTO change_detection VALUES (1, 0, 0, 0, NULL);`,
  `ALTER TABLE webhook ADD COLUMN name TEXT;
   ALTER TABLE webhook ADD COLUMN is_enabled INTEGER NOT NULL DEFAULT 1;
   ALTER TABLE webhook ADD COLUMN headers TEXT NOT NULL DEFAULT '{}';
   ALTER TABLE webhook ADD COLUMN on_failure TEXT NOT NULL DEFAULT 'drop';
   ALTER TABLE webhook ADD COLUMN filter TEXT;
   ALTER TABLE webhook ADD COLUMN previous_secret TEXT;
   ALTER TABLE webhook ADD COLUMN previous_until_ms INTEGER;
   ALTER TABLE webhook ADD COLUMN held TEXT;
   CREATE TABLE dropped (
     webhook TEXT NOT NULL REFERENCES webhook (id) ON DELETE CASCADE,
     row_id INTEGER NOT NULL,
     change INTEGER NOT NULL,
     is_replayed INTEGER NOT NULL DEFAULT 0,
     PRIMARY KEY (webhook, row_id, change)
   ) STRICT, WITHOUT ROWID;`,
  `CREATE TABLE self_chat (
     one INTEGER PRIMARY KEY CHECK (one = 1),
     address TEXT NOT NULL,
     chat TEXT NOT NULL,
     proved_ms INTEGER NOT NULL
   ) STRICT;
   CREATE TABLE self_chat_request (
     guid TEXT PRIMARY KEY,
     approval TEXT NOT NULL,
     text_hmac TEXT NOT NULL
   ) STRICT;`,
  `CREATE TABLE fleet (
     one INTEGER PRIMARY KEY CHECK (one = 1),
     mac TEXT NOT NULL,
     epoch TEXT NOT NULL,
     stream TEXT
   ) STRICT;`,
  'ALTER TABLE change_detection ADD COLUMN prints_version INTEGER NOT NULL DEFAULT 1',
  // Earlier versions did not record which held requests had an Idempotency-Key. A request without a key could be held
  // twice, so a request that was held twice is marked as having none. All others are treated as if they had one.
  `CREATE INDEX audit_of_all_asks ON audit (at_ms) WHERE action = 'send' AND ask IS NOT NULL;
   ALTER TABLE approval ADD COLUMN has_key INTEGER NOT NULL DEFAULT 1;
   UPDATE approval SET has_key = 0 WHERE ask IN (SELECT ask FROM approval GROUP BY ask HAVING count(*) > 1);
   CREATE INDEX approval_by_expiry ON approval (expires_ms);
   CREATE TABLE self_chat_message (
     key TEXT PRIMARY KEY,
     at_ms INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;`,
  `CREATE TABLE row_age (
     row_id INTEGER PRIMARY KEY,
     age_s INTEGER NOT NULL,
     seen_ms INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX row_age_by_sighting ON row_age (seen_ms);
   CREATE TABLE watched_span (
     from_ms INTEGER NOT NULL,
     to_ms INTEGER NOT NULL
   ) STRICT;`,
  `ALTER TABLE sent_part ADD COLUMN service_reason TEXT;
   ALTER TABLE approval ADD COLUMN options TEXT NOT NULL DEFAULT '{}';`,
  `CREATE INDEX sent_part_by_key ON sent_part (idempotency_key) WHERE idempotency_key IS NOT NULL;`,
  `ALTER TABLE api_key ADD COLUMN callback_hosts TEXT NOT NULL DEFAULT '[]';
   ALTER TABLE webhook ADD COLUMN wire TEXT;`,
  `CREATE TABLE subscription (
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
   ) STRICT;`,
  `CREATE TABLE statistic (
     kind TEXT NOT NULL,
     span TEXT NOT NULL,
     at_ms INTEGER NOT NULL,
     subject TEXT NOT NULL,
     name TEXT NOT NULL,
     count INTEGER NOT NULL,
     PRIMARY KEY (kind, span, at_ms, subject, name)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX statistic_by_age ON statistic (span, at_ms);
   CREATE TABLE statistic_time (
     one INTEGER PRIMARY KEY CHECK (one = 1),
     since_ms INTEGER NOT NULL,
     asked_ms INTEGER NOT NULL
   ) STRICT;`,
  `CREATE TABLE oauth_client (
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
     spent_hash TEXT
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX oauth_grant_by_access ON oauth_grant (access_hash);`,
  'ALTER TABLE api_key ADD COLUMN max_wait_s INTEGER NOT NULL DEFAULT 50',
  `UPDATE oauth_grant SET spent_hash = '';
   ALTER TABLE oauth_grant RENAME COLUMN spent_hash TO family_hash;`,
  // The tables of two options, which since then have migrations of their own. Bun refuses a text without a statement.
  'SELECT 1',
  'ALTER TABLE sent_part ADD COLUMN key_id TEXT',
  `DROP INDEX audit_of_asks; CREATE INDEX audit_of_asks ON audit (key_id, at_ms, is_new) WHERE ask IS NOT NULL;
   DROP INDEX audit_of_all_asks; CREATE INDEX audit_of_all_asks ON audit (at_ms) WHERE ask IS NOT NULL;`,
  `CREATE TABLE feature (
     name TEXT PRIMARY KEY,
     version INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;`,
  // From when on the events are complete; null until those of before the counting are counted too.
  'ALTER TABLE statistic_time ADD COLUMN events_ms INTEGER',
];
