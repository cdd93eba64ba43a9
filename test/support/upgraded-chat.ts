import { encodeAttributedBody } from '../../src/features/simulator/typedstream.ts';
import type { ChatFixture } from './chat-fixture.ts';

/** The newest row that had been published when `state-version-24.sql` was stored. */
export const PUBLISHED_ROWS = 12;

const EDITED_AT = 700_000_000_000_000_000n;

/**
 * Fills the chat.db whose fingerprints are in `state-version-24.sql`: one row of each kind that versions may fingerprint
 * differently. The guids are fixed, because the stored cursor names one.
 */
export function fillUpgradedChat(fixture: ChatFixture): void {
  const chat = fixture.chat('any;-;+15550100', ['+15550100']);
  const handle = fixture.handle('+15550100');
  let rows = 0;
  const add = (columns: Parameters<ChatFixture['message']>[0] = {}): number => {
    rows += 1;
    return fixture.message({ chat, guid: `ROW-${rows}`, handle_id: handle, text: `text ${rows}`, ...columns });
  };
  const own = { is_from_me: 1, handle_id: 0 };
  add();
  add({ text: null, attributedBody: encodeAttributedBody('in the blob'), is_read: 1, date_read: 1 });
  add({ ...own, is_delivered: 1, date_delivered: 1 });
  add({ ...own, error: 22, is_sent: 0 });
  add({ date_edited: EDITED_AT, message_summary_info: Buffer.alloc(90, 'e') });
  // Unsent on macOS 26: only the date of an edit is set, and no text is left.
  add({ text: null, date_edited: EDITED_AT, part_count: 0, message_summary_info: Buffer.alloc(70, 'u') });
  add({ balloon_bundle_id: 'com.apple.messages.URLBalloonProvider', payload_data: Buffer.alloc(300, 'p') });
  const voice = add({ text: null, attributedBody: encodeAttributedBody('\uFFFC'), is_audio_message: 1 });
  fixture.attach(voice, '/voice.caf', { mime_type: 'audio/x-caf', user_info: Buffer.alloc(120, 'v') });
  const bundle = 'com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.messages.Polls';
  const poll = add({ text: null, balloon_bundle_id: bundle, payload_data: Buffer.alloc(200, 'q') });
  add({ associated_message_type: 4000, associated_message_guid: `ROW-${poll}` });
  add({ associated_message_type: 2000, associated_message_guid: 'p:0/ROW-1' });
  add();
}
