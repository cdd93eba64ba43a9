/** The tables of subscriptions of MCP. */
export const MCP_TABLES = `
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
  ) STRICT;`;
