/** The tables of counters. */
export const OVERVIEW_TABLES = `
  CREATE TABLE statistic (
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
    asked_ms INTEGER NOT NULL,
    events_ms INTEGER
  ) STRICT;`;
