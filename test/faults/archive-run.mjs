// Runs one export, for a test that kills it: node archive-run.mjs CHAT_DB FOLDER

import { AttachmentFiles } from '../../dist/src/core/chatdb/attachment-files.js';
import { Connection } from '../../dist/src/core/chatdb/connection.js';
import { systemClock } from '../../dist/src/core/runtime/clock.js';
import { ArchiveSource } from '../../dist/src/features/archive/archive-source.js';
import { exportArchive } from '../../dist/src/features/archive/export.js';

const [path, folder] = process.argv.slice(2);
const SILENT = { debug() {}, info() {}, warn() {}, error() {}, child: () => SILENT };
const connection = new Connection({ path, home: '/home/nobody', log: SILENT });
process.stdout.write('begins\n');
await exportArchive({
  folder,
  source: new ArchiveSource(connection),
  attachments: 'copy',
  files: new AttachmentFiles(connection),
  names: { nameOf: () => undefined },
  html: true,
  timeZone: 'UTC',
  clock: systemClock,
  version: '0.0.0',
  mac: 'a-mac',
  signal: new AbortController().signal,
  onProgress: () => {},
});
process.stdout.write('ended\n');
