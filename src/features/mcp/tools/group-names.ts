import type { Conversation } from '../../../core/model/conversation.ts';
import type { Message } from '../../../core/model/message.ts';
import type { MessageReader } from '../../../core/model/ports/reading-ports.ts';

export function isGroupId(id: string): boolean {
  return id.includes(';+;');
}

/**
 * Looks up the names of the groups that the rows belong to. The resulting function returns null for a group without a
 * name, and undefined for a conversation that is not a group.
 */
export async function groupNames(
  rows: readonly Pick<Message, 'conversation_id'>[],
  reader: MessageReader,
): Promise<(id: string) => string | null | undefined> {
  const ids = new Set(rows.map((row) => row.conversation_id).filter(isGroupId));
  const found = await Promise.all([...ids].map(async (id) => [id, await reader.conversation(id)] as const));
  const groups = new Map<string, Conversation | undefined>(found);
  return (id) => (isGroupId(id) ? (groups.get(id)?.display_name ?? null) : undefined);
}
