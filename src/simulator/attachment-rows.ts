import { randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { appleDate, TRANSFER } from './apple.ts';
import type { ChatDatabase } from './chat-database.ts';
import type { Written } from './message-rows.ts';

export interface NewAttachment {
  /** Stands in the message's body, too. */
  readonly guid: string;
  /** As the other side sees it. */
  readonly name: string;
  readonly isOwn: boolean;
  /** Nothing to show: the payload of a balloon. */
  readonly isHidden?: boolean;
  /** Absolute, while an own file is on its way. */
  readonly sourcePath?: string;
  readonly bytes: number;
  readonly atMs: number;
}

const TYPES: Readonly<Record<string, readonly [uti: string, mimeType: string]>> = {
  '.caf': ['com.apple.coreaudio-format', 'audio/x-caf'],
  '.gif': ['com.compuserve.gif', 'image/gif'],
  '.heic': ['public.heic', 'image/heic'],
  '.jpeg': ['public.jpeg', 'image/jpeg'],
  '.jpg': ['public.jpeg', 'image/jpeg'],
  '.m4a': ['com.apple.m4a-audio', 'audio/x-m4a'],
  '.mov': ['com.apple.quicktime-movie', 'video/quicktime'],
  '.pdf': ['com.adobe.pdf', 'application/pdf'],
  '.png': ['public.png', 'image/png'],
  '.txt': ['public.plain-text', 'text/plain'],
  '.vcf': ['public.vcard', 'text/vcard'],
};

export function attachmentGuid(messageGuid: string, part: number): string {
  return `at_${part}_${messageGuid}`;
}

/** The row with its join; neither the path nor the file is there yet. */
export function addAttachment(database: ChatDatabase, message: Written, attachment: NewAttachment): void {
  const { guid, name, isOwn, isHidden = false, sourcePath, bytes, atMs } = attachment;
  const [uti, mimeType] = TYPES[extname(name).toLowerCase()] ?? ['public.data', null];
  database.tables.atomically(() => {
    const rowId = database.tables.insert('attachment', {
      guid,
      original_guid: guid,
      created_date: appleDate(atMs) / 1_000_000_000n,
      filename: sourcePath ?? null,
      uti,
      mime_type: mimeType,
      transfer_state: sourcePath === undefined ? TRANSFER.waiting : TRANSFER.running,
      is_outgoing: isOwn ? 1 : 0,
      transfer_name: name,
      total_bytes: bytes,
      hide_attachment: isHidden ? 1 : 0,
    });
    database.tables.insert('message_attachment_join', { message_id: message.rowId, attachment_id: rowId });
  });
}

/** How a transfer ends. `missing`: the row says it is finished, and there is no file. */
export type TransferEnd = 'finished' | 'missing' | 'failed';

/** The path beneath the Attachments folder, and first the file. */
export function finishTransfer(database: ChatDatabase, guid: string, end: TransferEnd, content: Uint8Array): void {
  const row = database.tables.get('SELECT ROWID, transfer_name FROM attachment WHERE guid = ?', guid);
  if (row === undefined) return;
  const [rowId, name] = row;
  if (end === 'failed') {
    database.tables.update('attachment', Number(rowId), { transfer_state: TRANSFER.failed });
    return;
  }
  const [first, second] = randomBytes(2);
  const folder = `${twoDigits(first)}/${twoDigits(second)}/${randomUUID().toUpperCase()}`;
  const path = `Library/Messages/Attachments/${folder}/${basename(String(name))}`;
  if (end === 'finished') {
    const file = join(homeOf(database), path);
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, content, { mode: 0o600 });
  }
  database.tables.update('attachment', Number(rowId), {
    filename: `~/${path}`,
    transfer_state: TRANSFER.finished,
    total_bytes: content.length,
  });
}

/** chat.db lies in `Library/Messages` of the person's home. */
function homeOf(database: ChatDatabase): string {
  return dirname(dirname(dirname(database.path)));
}

function twoDigits(byte = 0): string {
  return byte.toString(16).padStart(2, '0');
}
