import type { Attempt, KnownChat, RunOutcome } from '../../domain/ports/sending.ts';

/** Services an account can have, in Messages' own spelling. */
const SERVICES = ['iMessage', 'SMS', 'RCS'] as const;
/** What a group's id may begin with: `any` since macOS 26, the service before. */
const GROUP_PREFIXES = ['any', ...SERVICES] as const;
/** No such object, bad index, cannot be coerced: Messages raises these before it sends anything. */
const NOTHING_SENT: readonly number[] = [-1728, -1719, -1700];

/** Everything that may be tried for one recipient, in order (decision T1). */
export interface Plan {
  readonly attempts: readonly Attempt[];
  /** `style;identifier` of the chat that the row will be in; null when no known chat was meant (decision D5). */
  readonly address: string | null;
  /** Of a group: when every attempt failed, Messages' own list is searched for an id that ends like this. */
  readonly liveChat: { readonly suffix: string; readonly attempt: Attempt } | null;
}

/** True when nothing went out and the next attempt may do better. Any other end is final. */
export function leadsToNext(outcome: RunOutcome): boolean {
  return outcome.kind === 'failed' && outcome.number !== null && NOTHING_SENT.includes(outcome.number);
}

/** The attempts for what was typed, which is an address or a chat id, and the chats it means, best first. */
export function plan(typed: string, chats: readonly KnownChat[]): Plan {
  const [best] = chats;
  const typedId = /^([^;]*);([-+]);(.+)$/s.exec(typed);
  const [, prefix, style, identifier = typed] = typedId ?? [];
  const isGroup = best === undefined ? style === '+' : best.guid.includes(';+;');
  const address = best === undefined ? null : best.guid.slice(best.guid.indexOf(';') + 1);
  if (!isGroup) return { attempts: forPerson(identifier, prefix, chats), address, liveChat: null };
  const recipient = style === '+' || best === undefined ? typed : best.guid;
  const service = known(best?.service) ?? known(prefix) ?? 'iMessage';
  const attempts = groupIds(recipient, chats).map((chatId) => ({ recipient, chatId, service }));
  const suffix = recipient.slice(recipient.indexOf(';'));
  return { attempts, address, liveChat: { suffix, attempt: { recipient, chatId: null, service } } };
}

/** The attempt for a group that was found in Messages' own list, undefined when it is not there or was tried. */
export function liveAttempt({ attempts, liveChat }: Plan, liveIds: readonly string[]): Attempt | undefined {
  const tried = new Set(attempts.map(({ chatId }) => chatId));
  const chatId = liveIds.find((id) => liveChat !== null && id.endsWith(liveChat.suffix) && !tried.has(id));
  return liveChat === null || chatId === undefined ? undefined : { ...liveChat.attempt, chatId };
}

/** A typed service is never left, and no other is chosen: there is no fallback to SMS. */
function forPerson(address: string, prefix: string | undefined, chats: readonly KnownChat[]): readonly Attempt[] {
  const typedService = known(prefix);
  const isAnyPrefix = prefix === undefined || prefix.toLowerCase() === 'any';
  const service = typedService ?? known(chats[0]?.service) ?? 'iMessage';
  const ids = personIds(address, typedService, chats);
  return [
    ...ids.map((chatId) => ({ recipient: address, chatId, service: known(prefixOf(chatId)) ?? service })),
    { recipient: address, chatId: null, service },
    ...(service === 'iMessage' && isAnyPrefix ? [{ recipient: address, chatId: null, service: null }] : []),
  ];
}

function personIds(address: string, typedService: string | undefined, chats: readonly KnownChat[]): readonly string[] {
  const [best, ...others] = chats;
  if (best === undefined) return [];
  const spelled = (prefix: string): string => `${prefix};-;${address}`;
  const ownIds = ({ guid, service }: KnownChat): string[] => {
    const name = known(service);
    return name === undefined ? [guid] : [guid, spelled(name)];
  };
  if (typedService === undefined) return distinct([best.guid, spelled('any'), ...[best, ...others].flatMap(ownIds)]);
  const stored = chats.map(({ guid }) => guid);
  const stays = (id: string): boolean => ['any', typedService.toLowerCase()].includes(prefixOf(id).toLowerCase());
  return distinct([...stored.filter(stays), spelled(typedService)]);
}

/** Never `;-;`: Messages takes that for a person and makes a row in no chat (openclaw/imsg #90). */
function groupIds(recipient: string, chats: readonly KnownChat[]): readonly string[] {
  const stored = chats.map(({ guid }) => guid);
  const prefix = prefixOf(recipient).toLowerCase();
  const isKnown = GROUP_PREFIXES.some((name) => name.toLowerCase() === prefix);
  const rest = recipient.slice(recipient.indexOf(';'));
  return distinct([...stored, recipient, ...(isKnown ? GROUP_PREFIXES.map((name) => name + rest) : [])]);
}

function known(service: string | null | undefined): string | undefined {
  return SERVICES.find((name) => name.toLowerCase() === service?.toLowerCase());
}

function prefixOf(chatId: string): string {
  return chatId.slice(0, chatId.indexOf(';'));
}

/** Control characters never enter an environment (decision D1). */
function distinct(ids: readonly string[]): readonly string[] {
  return [...new Set(ids)].filter((id) => !/[\p{Cc}\u2028\u2029]/u.test(id));
}
