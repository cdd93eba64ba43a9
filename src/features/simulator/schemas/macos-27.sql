-- chat.db schema, macOS 27 -- NOT a dump and NOT SEEN ON A MAC: that of macOS 26.5.2 with two columns of `message`.
-- Source of the difference: imessage-exporter, pull request 797, which reads both columns or neither; filter_action is
--   0 none, 1 allowed, 2 junk, 3 promotion, 4 transaction. The types are inferred from its reading them as integers.
-- Not known: the values of filter_sub_action, whether either column has a default or an index, the columns that name the
--   source of an attachment, and whatever else came with 27.
-- @base 26
ALTER TABLE message ADD COLUMN filter_action INTEGER DEFAULT 0;
ALTER TABLE message ADD COLUMN filter_sub_action INTEGER DEFAULT 0;
