import type { ChatTarget } from '../domain/ports/sending.ts';

/** Services an account can have, in Messages' own spelling. */
const SERVICES = ['iMessage', 'SMS', 'RCS'] as const;

/** Whom to send to, in the words of one run. */
export interface Route {
  readonly recipient: string;
  readonly chatIds: readonly string[];
  readonly service: string;
  /** `style;identifier` of the chat its row will be in; null when no known chat was meant (decision D5). */
  readonly address: string | null;
}

/** Turns what was typed, and the chat it means if one is known, into a route (decisions D1, D2). */
export function route(typed: string, target: ChatTarget | undefined): Route {
  const guid = /^([^;]*);([-+]);(.+)$/s.exec(typed);
  const typedService = guid?.[1];
  const isTypedGroup = guid?.[2] === '+';
  const isGroup = target === undefined ? isTypedGroup : target.guid.includes(';+;');
  return {
    recipient: isGroup ? (isTypedGroup ? typed : (target?.guid ?? typed)) : (guid?.[3] ?? typed),
    // A group has no other way than its id, so one that is not known here is tried as it was typed.
    chatIds: (target?.chatIds ?? (isTypedGroup ? [typed] : [])).filter(fitsOnOneLine),
    service: known(target?.service) ?? known(typedService) ?? 'iMessage',
    address: target === undefined ? null : target.guid.slice(target.guid.indexOf(';') + 1),
  };
}

function known(service: string | null | undefined): string | undefined {
  return SERVICES.find((name) => name.toLowerCase() === service?.toLowerCase());
}

/** The script splits the list into lines, and AppleScript breaks a line at U+2028 and U+2029 too. */
function fitsOnOneLine(chatId: string): boolean {
  return !/[\p{Cc}\u2028\u2029]/u.test(chatId);
}
