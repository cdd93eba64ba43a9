-- chat.db schema, macOS 15 Sequoia -- NOT a dump: that of macOS 14 with the columns that came with 15.
-- Source of the difference: as for macOS 14; the types are those of the dump of macOS 26.
-- Not known: which tables, indexes and triggers came with 15; here they are those of 13. The index on
--   associated_message_guid is message_idx_associated_message up to 14 and a partial one on 26.
-- @base 14
ALTER TABLE message ADD COLUMN associated_message_emoji TEXT;
ALTER TABLE message ADD COLUMN is_pending_satellite_send INTEGER DEFAULT 0;
ALTER TABLE message ADD COLUMN needs_relay INTEGER DEFAULT 0;
ALTER TABLE message ADD COLUMN schedule_type INTEGER DEFAULT 0;
ALTER TABLE message ADD COLUMN schedule_state INTEGER DEFAULT 0;
ALTER TABLE message ADD COLUMN sent_or_received_off_grid INTEGER DEFAULT 0;
ALTER TABLE attachment ADD COLUMN emoji_image_content_identifier TEXT;
ALTER TABLE attachment ADD COLUMN emoji_image_short_description TEXT;
