import type { AppError } from '../../domain/errors.ts';
import { problem } from '../../domain/problems.ts';
import type { Confirmations, Expectation } from './confirm.ts';
import { contentHashes } from './content.ts';
import type { TolerantLookup } from './lookup.ts';

/**
 * Returns the error for a part of a send to a group whose row Messages put into a conversation that it made for it:
 * on macOS 26 a group can end up as a new one-to-one conversation with the group's identifier for a person
 * (openclaw/imsg #90). Nobody in the group got the message. Returns undefined for every other send. The row is
 * recorded as this send's, so that its origin is known.
 */
export function misdirected(
  expectation: Expectation,
  { lookup, confirmations }: { readonly lookup: TolerantLookup; readonly confirmations: Confirmations },
): AppError | undefined {
  const { rowId, afterRowId, chat, content } = expectation;
  if (rowId !== undefined || afterRowId === undefined || typeof chat === 'string') return undefined;
  if (!chat.address.startsWith('+;')) return undefined;
  const stray = lookup
    .ownRowsAbove(afterRowId)
    .find(
      (row) =>
        row.address !== null &&
        row.address !== chat.address &&
        contentHashes(row.body, row.attachmentNames).includes(content) &&
        lookup.isNewChat(row.rowId, afterRowId),
    );
  if (stray === undefined || stray.address === null) return undefined;
  confirmations.expectIn(expectation, { address: stray.address });
  confirmations.find(expectation);
  const conversationId = lookup.message(stray.rowId)?.conversation_id ?? '';
  return problem('misdirected', {}, { extra: { message_id: String(stray.rowId), conversation_id: conversationId } });
}
