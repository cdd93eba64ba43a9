import type { ProblemText } from './problem-text.ts';

const CHAT_DB = { status: 503, mayHaveBeenSent: false, code: 'chat_db_unavailable' } as const;
const MESSAGES = { status: 503, mayHaveBeenSent: false, code: 'messages_unavailable' } as const;

const UNKNOWN_OUTCOME = {
  code: 'send_outcome_unknown',
  detail: 'It is not known whether the message was sent.',
  hint: 'Check in Messages before sending it again.',
} as const;

/** Problems with sends, with Messages, with its database, and with osascript, which drives Messages. */
export const MESSAGES_PROBLEMS = {
  send_in_progress: {
    status: 409,
    mayHaveBeenSent: true,
    detail: 'A send with this Idempotency-Key is still running.',
    hint: 'Repeat the request with the same key in a few seconds.',
  },
  send_interrupted: { status: 409, mayHaveBeenSent: true, ...UNKNOWN_OUTCOME },
  send_never_appeared: {
    ...UNKNOWN_OUTCOME,
    status: 409,
    mayHaveBeenSent: true,
    detail: 'Messages accepted the message, but it did not appear in chat.db within 10 minutes.',
  },
  send_queue_full: {
    status: 503,
    mayHaveBeenSent: false,
    detail: 'The queue is full: {max} sends are waiting.',
    hint: 'Nothing was sent. Try again later.',
    example: { max: 100 },
  },
  send_outcome_unknown: { status: 504, mayHaveBeenSent: true, ...UNKNOWN_OUTCOME, extra: { messages_error: -1712 } },
  send_failed: {
    status: 502,
    mayHaveBeenSent: false,
    detail: 'Messages refused to send{number}.',
    hint: 'Check the recipient, and that Messages is signed in to the service that reaches it.',
    example: { number: ' (error -1728)' },
    extra: { messages_error: -1728 },
  },
  misdirected: {
    status: 502,
    mayHaveBeenSent: true,
    detail: 'Messages put the message into a new conversation instead of the group, so the group did not get it.',
    hint: 'Before you send the message again, look at the new conversation in Messages and delete it.',
    extra: { message_id: '1207', conversation_id: 'any;-;chat123' },
  },
  service_not_possible: {
    status: 400,
    detail: '{reason}',
    hint: 'Nothing was sent. Leave out `service` and `fallback`, and Postern chooses the service.',
    pointer: '/service',
    example: { reason: 'The service of a group cannot be chosen.' },
  },
  attachment_not_copied: {
    status: 502,
    mayHaveBeenSent: false,
    code: 'send_failed',
    detail: 'An attachment could not be copied ({reason}).',
    hint: 'Nothing was sent. Check that there is room on the disk.',
    example: { reason: 'ENOSPC' },
  },
  chat_db_missing: {
    ...CHAT_DB,
    detail: 'There is no Messages database at the configured path.',
    hint: 'Open Messages and sign in once, or set backend.chat_db_path.',
  },
  chat_db_not_permitted: {
    ...CHAT_DB,
    detail: 'Postern has no permission to open the Messages database.',
    hint: 'On a Mac, open System Settings > Privacy & Security > Full Disk Access, switch on Postern. The installed service notices; start any other again.',
  },
  chat_db_locked: {
    ...CHAT_DB,
    detail: 'The Messages database is locked by another program.',
    hint: 'Postern continues by itself as soon as the lock is gone.',
  },
  chat_db_damaged: {
    ...CHAT_DB,
    detail: 'The file at backend.chat_db_path is damaged or not an SQLite database.',
    hint: 'Check backend.chat_db_path, and whether Messages itself still shows its conversations. postern doctor names the damage.',
  },
  chat_db_read_only_folder: {
    ...CHAT_DB,
    detail:
      'The Messages database lies in a folder that cannot be written, where SQLite cannot read it together with its -wal.',
    hint: 'Copy chat.db, with chat.db-wal if there is one, into a folder of yours, and set backend.chat_db_path to the copy.',
  },
  chat_db_index_in_progress: {
    ...CHAT_DB,
    detail: 'The Messages database has no index on chat_message_join(message_id), and a temporary one is being made.',
    hint: 'Try again in a few seconds.',
  },
  index_missing: {
    status: 503,
    mayHaveBeenSent: false,
    detail:
      'The Messages database has no index on {table}(message_id), and a temporary one could not be made ({reason}).',
    hint: 'Make room on the disk that holds temporary files. Messages itself adds the index: open it with this database once.',
    example: { table: 'chat_message_join', reason: 'SQLITE_FULL' },
  },
  chat_db_is_pipe: {
    ...CHAT_DB,
    detail: 'backend.chat_db_path is a named pipe, not a file.',
    hint: 'Set backend.chat_db_path to the chat.db of Messages.',
  },
  chat_db_is_folder: {
    ...CHAT_DB,
    detail: 'backend.chat_db_path is a folder, not a file.',
    hint: 'Set backend.chat_db_path to the chat.db of Messages, with its file name.',
  },
  chat_db_empty: {
    ...CHAT_DB,
    detail: 'The file at backend.chat_db_path is empty.',
    hint: 'Open Messages and sign in once, or set backend.chat_db_path.',
  },
  chat_db_incomplete: {
    ...CHAT_DB,
    detail: 'The Messages database has no {what}.',
    hint: 'Check that backend.chat_db_path is the chat.db of Messages.',
    example: { what: 'table chat' },
  },
  chat_db_unreadable: {
    ...CHAT_DB,
    detail: 'The Messages database cannot be read ({reason}).',
    hint: 'Postern keeps trying.',
    example: { reason: 'SQLITE_IOERR' },
  },
  automation_not_allowed: {
    ...MESSAGES,
    detail: 'Postern is not allowed to control Messages.',
    hint: 'In System Settings, under Privacy & Security > Automation, switch on Messages below Postern.',
    extra: { messages_error: -1743 },
  },
  automation_pending: {
    ...MESSAGES,
    detail: 'Nothing can be sent while macOS is asking on the screen whether Postern may control Messages.',
    hint: 'Click Allow (or OK) on the Mac, then send the message again.',
  },
  messages_not_running: {
    ...MESSAGES,
    detail: 'Messages cannot be started.',
    hint: 'Log in at the Mac, open Messages and sign in.',
    extra: { messages_error: -600 },
  },
  staging_not_permitted: {
    ...MESSAGES,
    detail: 'Postern has no permission to copy an attachment to {folder}.',
    hint: 'Nothing was sent. In System Settings, under Privacy & Security > Full Disk Access, switch on Postern.',
    example: { folder: '~/Library/Messages/Attachments/Postern' },
  },
  osascript_not_started: {
    ...MESSAGES,
    detail: 'The program osascript could not be started ({reason}).',
    hint: 'Check backend.osascript_path in config.toml.',
    example: { reason: 'ENOENT' },
  },
} as const satisfies Readonly<Record<string, ProblemText>>;
