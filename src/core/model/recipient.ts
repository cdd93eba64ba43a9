import { chatIdentity, groupId, isUnanswerable, withoutTags } from './address.ts';
import { invalidRequest, problem } from './problems.ts';

/** Reports whether a recipient is the name of a person or of a sender such as AXISBK-S, and no id. */
export function isName(recipient: string): boolean {
  return chatIdentity(recipient) === undefined && !isAnswerable(recipient);
}

/** Reports whether somebody can answer to a recipient: not a name, nor the id of a conversation with a name. */
export function isAnswerable(recipient: string): boolean {
  if (groupId(recipient) !== undefined) return true;
  const { style, identifier } = chatIdentity(recipient) ?? { style: '-', identifier: recipient };
  return style !== '-' || !isUnanswerable(identifier);
}

/**
 * Throws `recipient_is_name` for a name, and `invalid_request` for the id of a person whom nobody can answer (decision
 * AB3): Messages would make a conversation that reaches nobody.
 */
export function assertAnswerable(recipient: string): void {
  if (isName(recipient)) throw problem('recipient_is_name');
  if (isAnswerable(recipient)) return;
  const shown = withoutTags(chatIdentity(recipient)?.identifier ?? '');
  const message = `${shown} is the name of a sender and no number or e-mail address, so it cannot be answered.`;
  throw invalidRequest([{ pointer: '/recipient', message }]);
}
