/** The tables of a Mac that is a member of a fleet. */
export const FLEET_TABLES = `
  CREATE TABLE fleet_agent (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    own TEXT NOT NULL,
    member TEXT,
    machine TEXT,
    since_ms INTEGER,
    created TEXT,
    subject TEXT,
    sequence INTEGER NOT NULL DEFAULT 0,
    late INTEGER NOT NULL DEFAULT 0
  ) STRICT;`;
