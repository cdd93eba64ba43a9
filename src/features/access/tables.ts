/** The tables of keys, of the sends that wait, and of the audit log. */
export const ACCESS_TABLES = `
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
    revoked_at TEXT,
    callback_hosts TEXT NOT NULL DEFAULT '[]',
    max_wait_s INTEGER NOT NULL DEFAULT 50
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
    problem TEXT,
    has_key INTEGER NOT NULL DEFAULT 1,
    options TEXT NOT NULL DEFAULT '{}'
  ) STRICT;
  CREATE INDEX approval_by_state ON approval (state, key_id, expires_ms);
  CREATE INDEX approval_by_ask ON approval (ask, created_ms);
  CREATE INDEX approval_by_expiry ON approval (expires_ms);
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
  CREATE INDEX audit_by_ask ON audit (ask, at_ms) WHERE ask IS NOT NULL;
  CREATE TABLE secret (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  -- The caps of a send are counted in these indexes alone.
  CREATE INDEX audit_of_asks ON audit (key_id, at_ms, action, outcome, is_new) WHERE ask IS NOT NULL;
  CREATE INDEX audit_of_all_asks ON audit (at_ms, action, outcome) WHERE ask IS NOT NULL;`;
