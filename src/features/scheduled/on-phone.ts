import { type Connection, isScheduled, messageOf, perSchema } from '../../core/chatdb/public.ts';
import type { ScheduledSend } from './scheduled.ts';

const MAX_LISTED = 200;

/**
 * SQL for the rows of Send Later that Messages has not sent yet, soonest first. Such rows have `schedule_state` 1 or 2;
 * other values are unknown. All values are literals, because SQLite uses the partial index only with literals.
 * Undefined before macOS 15.
 */
const waitingSql = perSchema((schema) =>
  schema.hasColumn('message', 'schedule_type') && schema.hasColumn('message', 'schedule_state')
    ? `SELECT m.ROWID FROM ${schema.messagesByIndex} m WHERE ${isScheduled(schema)}
       ORDER BY m.date LIMIT ${MAX_LISTED}`
    : undefined,
);

/**
 * Returns the messages of Send Later, which Messages itself will send: the soonest `MAX_LISTED`. Throws AppError
 * `chat_db_unavailable`.
 */
export function scheduledOnPhone(connection: Connection): readonly ScheduledSend[] {
  return connection.read((snapshot) => {
    const sql = waitingSql(snapshot.database.schema);
    if (sql === undefined) return [];
    return snapshot.database.all(sql).flatMap(([rowId]) => {
      const message = messageOf(snapshot, rowId as number);
      if (message === undefined) return [];
      return [
        {
          id: `phone-${message.id}`,
          source: 'phone' as const,
          key_id: null,
          state: 'scheduled' as const,
          to: message.conversation_id,
          text: message.body,
          attachments: [],
          send_at: message.timestamp,
          send_until: null,
          created_at: null,
          ended_at: null,
          message_id: message.id,
          problem: null,
        },
      ];
    });
  });
}
