import { chatIdentity, groupId, isUnanswerable, withoutTags } from './address.ts';
import { problem } from './problems.ts';

/** Reports whether a recipient is the name of a person or of a sender such as AXISBK-S, and no id. */
export function isName(recipient: string): boolean {
  return chatIdentity(recipient) === undefined && groupId(recipient) === undefined && isUnanswerable(recipient);
}

/**
 * Throws `recipient_is_name` for a name (decision AB9), and `invalid_request` for the id of a person whom nobody can
 * answer (decision AB3): Messages would make a conversation that reaches nobody.
 */
export function assertAnswerable(recipient: string): void {
  if (isName(recipient)) throw problem('recipient_is_name');
  const { style, identifier } = chatIdentity(recipient) ?? {};
  if (style !== '-' || identifier === undefined) return;
  if (groupId(recipient) !== undefined || !isUnanswerable(identifier)) return;
  const shown = withoutTags(identifier);
  const message = `${shown} is the name of a sender and no number or e-mail address, so it cannot be answered.`;
  throw problem(
    'invalid_request',
    { summary: 'This message cannot be sent.' },
    { mistakes: [{ pointer: '/recipient', message }] },
  );
}
