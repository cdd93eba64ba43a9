// Does one piece of work in its own process and prints its cost: `node archive-run.mjs WORK CHAT_DB FOLDER`.
import { closeSync, mkdirSync, openSync, readdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { Connection } from '../dist/src/core/chatdb/connection.js';
import { withDetails } from '../dist/src/core/chatdb/message-details.js';
import { ChatLog } from '../dist/src/core/chatdb/message-log.js';
import { systemClock } from '../dist/src/core/runtime/clock.js';
import { preferLittleGarbage } from '../dist/src/core/runtime/memory.js';
import { ArchiveSource } from '../dist/src/features/archive/archive-source.js';
import { exportArchive } from '../dist/src/features/archive/export.js';
import { verifyArchive } from '../dist/src/features/archive/verify.js';
import { DECODERS } from '../dist/src/features/rows.js';

const [work, path, folder] = process.argv.slice(2);
const SILENT = { debug() {}, info() {}, warn() {}, error() {}, child: () => SILENT };
const NEVER = new AbortController().signal;
const open = () => new Connection({ path, home: '/home/nobody', log: SILENT, decoders: DECODERS });
const ignore = () => undefined;

const WORKS = {
  /** Exports as `postern export` does, without attachments. */
  export: (html) => async () => {
    preferLittleGarbage();
    const { rows } = await exportArchive({
      ...{ folder, html, timeZone: 'UTC', attachments: 'none', files: { open: async () => undefined } },
      ...{ source: new ArchiveSource(open()), names: { nameOf: ignore }, clock: systemClock, signal: NEVER },
      ...{ version: '0.0.0', mac: 'bench', onProgress: ignore },
    });
    return rows;
  },
  verify: () => async () => (await verifyArchive({ folder, signal: NEVER, onProgress: ignore })).lines,
  /** Makes the API's JSON of each row and drops it. */
  details: () => () => {
    const connection = open();
    const log = new ChatLog(connection);
    let rows = 0;
    for (let after = { rowId: 0 }; ; ) {
      const entries = log.entries(after, { rowId: Number.MAX_SAFE_INTEGER }, 500);
      if (entries.length === 0) return rows;
      connection.read((snapshot) => {
        for (const { event } of entries) {
          JSON.stringify(event.type.startsWith('message') ? withDetails(snapshot, event.data) : event.data);
        }
      });
      rows += entries.length;
      after = { rowId: entries.at(-1).rowId };
    }
  },
  /** Writes only the columns of each message, as JSON lines in one file. */
  sql: () => () => {
    const sqlite = new Sqlite(path, { readonly: true });
    const file = openSync(folder, 'w');
    let rows = 0;
    for (const row of sqlite.prepare(PLAIN).iterate()) {
      writeSync(file, `${JSON.stringify(row)}\n`);
      rows += 1;
    }
    closeSync(file);
    return rows;
  },
  /** Does what a quickly written script does: reads each conversation into memory and writes it to its own file. */
  naive: () => () => {
    mkdirSync(folder, { recursive: true });
    const sqlite = new Sqlite(path, { readonly: true });
    const messages = sqlite.prepare(`${PLAIN} JOIN chat_message_join j ON j.message_id = m.ROWID
      WHERE j.chat_id = ? ORDER BY m.date`);
    const attachments = sqlite.prepare(`SELECT a.filename, a.mime_type FROM attachment a
      JOIN message_attachment_join j ON j.attachment_id = a.ROWID WHERE j.message_id = ?`);
    const reactions = sqlite.prepare(`SELECT associated_message_type, handle_id FROM message
      WHERE associated_message_guid = 'p:0/' || ?`);
    let rows = 0;
    for (const { ROWID: chat } of sqlite.prepare('SELECT ROWID FROM chat').all()) {
      const all = messages.all(chat).map((message) => ({
        ...message,
        attachments: attachments.all(message.ROWID),
        reactions: reactions.all(message.guid),
      }));
      const file = openSync(join(folder, `${chat}.json`), 'w');
      writeSync(file, JSON.stringify(all));
      closeSync(file);
      rows += all.length;
    }
    return rows;
  },
};
const PLAIN = `SELECT m.ROWID, m.guid, m.text, hex(m.attributedBody) AS body, m.date, h.id AS sender, m.is_from_me
  FROM message m LEFT JOIN handle h ON h.ROWID = m.handle_id`;

const [name, option] = work.split(':');
const run = WORKS[name](option === 'html');
const before = process.cpuUsage();
const rows = await run();
const { user, system } = process.cpuUsage(before);
const files = name === 'export' ? readdirSync(folder, { recursive: true }).length : 0;
process.stdout.write(
  JSON.stringify({ rows, files, cpuS: (user + system) / 1e6, mb: (process.resourceUsage().maxRSS * 1024) / 1e6 }),
);
process.exit(0);
