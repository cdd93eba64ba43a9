/** The tables of the proof and of the questions in the self-chat. */
export const SELF_CHAT_TABLES = `
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
  CREATE TABLE self_chat_message (
    key TEXT PRIMARY KEY,
    at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;`;
