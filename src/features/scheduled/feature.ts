import { Option } from 'commander';
import { connected, nonEmpty } from '../../core/cli/declaration.ts';
import { feature } from '../../core/feature.ts';
import { isoSecond } from '../../core/model/iso-second.ts';
import type { Sqlite } from '../../core/runtime/sqlite.ts';
import { SCHEDULED_PROBLEMS } from './problems.ts';
import { SCHEDULED_STATES } from './scheduled.ts';

/** Sends messages at a set time, and lists those that the owner scheduled on the phone. */
export const scheduled = feature({
  name: 'scheduled',
  tables: `CREATE TABLE scheduled (
     number INTEGER PRIMARY KEY AUTOINCREMENT,
     id TEXT NOT NULL UNIQUE,
     key_id TEXT NOT NULL,
     state TEXT NOT NULL,
     recipient TEXT NOT NULL,
     members TEXT,
     is_approved INTEGER NOT NULL,
     text TEXT,
     attachments TEXT NOT NULL,
     options TEXT NOT NULL,
     request_id TEXT,
     send_at_ms INTEGER NOT NULL,
     send_until_ms INTEGER NOT NULL,
     created_ms INTEGER NOT NULL,
     begun_ms INTEGER,
     ended_ms INTEGER,
     message_id TEXT,
     problem TEXT
   ) STRICT;
   CREATE INDEX scheduled_by_state ON scheduled (state, send_at_ms);`,
  problems: SCHEDULED_PROBLEMS,
  routes: {
    listScheduled: { method: 'GET', path: '/scheduled', key: 'header', access: ['send'] },
    getScheduled: { method: 'GET', path: '/scheduled/{id}', key: 'header', access: ['send'] },
    cancelScheduled: { method: 'DELETE', path: '/scheduled/{id}', key: 'header', access: ['send'] },
  },
  handlers: async () => (await import('./handlers.ts')).HANDLERS,
  document: async () => (await import('./document.ts')).DOCUMENT,
  tools: async () => (await import('./tools.ts')).TOOLS,
  commands(program) {
    const command = program
      .command('scheduled')
      .description('List and cancel scheduled messages.')
      .examples('postern scheduled list', 'postern scheduled cancel 5a1f');
    connected(command.command('list'))
      .description('List pending messages, soonest first, including those scheduled in Messages itself.')
      .addOption(new Option('--state <state>', 'only those in this state').choices(SCHEDULED_STATES))
      .examples('postern scheduled list --state missed')
      .asks(async () => (await import('./commands.ts')).listScheduled);
    connected(command.command('cancel'))
      .description('Cancel a scheduled message; fails if it is too late.')
      .argument('<id>', 'its id, or the beginning of it', nonEmpty)
      .examples('postern scheduled cancel 5a1f')
      .asks(async () => (await import('./commands.ts')).cancelScheduled);
  },
  replaced: (state) => state.exec('UPDATE scheduled SET message_id = NULL'),
  restored: (state, nowMs) => endRestored(state, nowMs),
  open: async (core) => (await import('./open.ts')).openScheduled(core),
});

/**
 * Ends scheduled sends that may have been sent since the backup (decision X1). A send whose time has passed becomes
 * `missed`. A send that was in progress during the backup becomes `unknown`.
 */
function endRestored(state: Sqlite, nowMs: number): readonly string[] {
  const due = "state = 'scheduled' AND send_at_ms <= ?";
  const missed = state
    .prepare(`SELECT send_at_ms, recipient FROM scheduled WHERE ${due} ORDER BY send_at_ms`)
    .all(nowMs);
  state.exec('PRAGMA secure_delete = ON');
  const end = "text = NULL, ended_ms = ?, problem = 'restored'";
  state.prepare(`UPDATE scheduled SET state = 'missed', ${end} WHERE ${due}`).run(nowMs, nowMs);
  state.prepare(`UPDATE scheduled SET state = 'unknown', ${end} WHERE state = 'sending'`).run(nowMs);
  const left = Number(state.prepare("SELECT count(*) FROM scheduled WHERE state = 'scheduled'").get()?.[0]);
  return [
    ...missed.map(
      ([atMs, to]) =>
        `Will not be sent: the message to ${String(to)}, which was due at ${isoSecond(Number(atMs))}. It may have been sent before the restore.`,
    ),
    ...(left === 0
      ? []
      : [`Postern will send ${left} scheduled ${left === 1 ? 'message' : 'messages'}: \`postern scheduled list\``]),
  ];
}
