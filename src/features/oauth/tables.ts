/** The tables of programs that sign in, and of their tokens. */
export const OAUTH_TABLES = `
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
  CREATE INDEX oauth_grant_by_access ON oauth_grant (access_hash);`;
