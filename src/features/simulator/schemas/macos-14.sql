-- chat.db schema, macOS 14 Sonoma -- NOT a dump: that of macOS 13 with the columns that came with 14.
-- Source of the difference: the column history computed from the samples of BlueBubblesApp/bluebubbles-server
--   (macos/database/samples) and the fixtures of beeper/platform-imessage; the types are those of the dump of macOS 26.
-- Not known: which tables, indexes and triggers came with 14; here they are those of 13.
-- @base 13
ALTER TABLE message ADD COLUMN is_stewie INTEGER DEFAULT 0;
ALTER TABLE message ADD COLUMN is_kt_verified INTEGER DEFAULT 0;
ALTER TABLE message ADD COLUMN is_sos INTEGER DEFAULT 0;
ALTER TABLE message ADD COLUMN is_critical INTEGER DEFAULT 0;
ALTER TABLE message ADD COLUMN bia_reference_id TEXT;
ALTER TABLE message ADD COLUMN fallback_hash TEXT;
ALTER TABLE chat ADD COLUMN is_recovered INTEGER DEFAULT 0;
ALTER TABLE chat ADD COLUMN is_deleting_incoming_messages INTEGER DEFAULT 0;
