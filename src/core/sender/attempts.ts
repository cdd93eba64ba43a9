import { addressOf, normalAddress, withoutTags } from '../model/address.ts';
import type { Attempt, KnownChat, RunOutcome } from '../model/ports/sending-ports.ts';
import { SERVICES, type Service, serviceNamed } from '../model/send-service.ts';
import { NOTHING_SENT } from './send-failure.ts';

/** A chat id such as `iMessage;-;+15550100`: prefix, style (`-` for one person, `+` for a group) and identifier. */
const TYPED_ID = /^([^;]*);([-+]);(.+)$/s;
/** Prefixes of a group's id: `any` since macOS 26, the name of the service in earlier versions. */
const GROUP_PREFIXES = ['any', ...SERVICES] as const;

/** The attempts to send to one recipient, in the order in which they are made (decision T1). */
export interface Plan {
  readonly attempts: readonly Attempt[];
  /** `style;identifier` of the chat in which the row will appear; null if no known chat matches (decision D5). */
  readonly address: string | null;
  /**
   * For groups only: the attempt that is made if all others fail. It looks up the group's chat in Messages' own list of
   * chats, by the end of the chat's id (`suffix`).
   */
  readonly liveChat: { readonly suffix: string; readonly attempt: Attempt } | null;
}

/**
 * Reports whether a run failed with an error that proves that nothing was sent, so that the next attempt may follow.
 * Any other outcome is final.
 */
export function leadsToNext(outcome: RunOutcome): boolean {
  return outcome.kind === 'failed' && outcome.number !== null && NOTHING_SENT.includes(outcome.number);
}

/**
 * Reports whether a send goes to a group. The best of the matching chats decides, or the typed id if no chat matches.
 */
export function isGroup(typed: string, [best]: readonly KnownChat[]): boolean {
  return best === undefined ? typedId(typed).style === '+' : best.guid.includes(';+;');
}

/** Returns the service that a typed chat id has as its prefix; undefined if it has no such prefix. */
export function typedService(typed: string): Service | undefined {
  return serviceNamed(typedId(typed).prefix);
}

/** Returns the plan for a typed address or chat id. `chats` are the chats that match it, best first. */
export function plan(typed: string, chats: readonly KnownChat[]): Plan {
  const [best] = chats;
  const { prefix, style } = typedId(typed);
  const address = best === undefined ? null : addressOf(best.conversation ?? best.guid);
  if (!isGroup(typed, chats)) {
    return { attempts: forPerson(identifierOf(typed), prefix, chats), address, liveChat: null };
  }
  // Joined groups may have other members in their older chats, so that only the chat of `best` is tried.
  const isAsTyped = style === '+' && best?.conversation === undefined;
  const recipient = isAsTyped || best === undefined ? typed : best.guid;
  const service = serviceNamed(best?.service) ?? serviceNamed(prefix) ?? 'iMessage';
  const attempts = groupIds(recipient, chats).map((chatId) => ({ recipient, chatId, service }));
  const suffix = recipient.slice(recipient.indexOf(';'));
  return { attempts, address, liveChat: { suffix, attempt: { recipient, chatId: null, service } } };
}

/**
 * Returns one more attempt for a group after all planned ones: with the id that Messages itself lists for it
 * (`liveIds`). Returns undefined if the list lacks the group or that id was already tried.
 */
export function liveAttempt({ attempts, liveChat }: Plan, liveIds: readonly string[]): Attempt | undefined {
  const tried = new Set(attempts.map(({ chatId }) => chatId));
  const chatId = liveIds.find((id) => liveChat !== null && id.endsWith(liveChat.suffix) && !tried.has(id));
  return liveChat === null || chatId === undefined ? undefined : { ...liveChat.attempt, chatId };
}

/**
 * Returns the plan for a send to a person by exactly this service (decision X3). Tries only conversations of the
 * service, then its account.
 */
export function planBy(service: Service, typed: string, chats: readonly KnownChat[]): Plan {
  const recipient = identifierOf(typed);
  const ids = chats
    .filter((chat) => serviceNamed(chat.service ?? prefixOf(chat.guid)) === service)
    .flatMap(({ guid }) => [guid, `${service};${addressOf(guid)}`]);
  const attempts = [...distinct(ids), null].map((chatId) => ({ recipient, chatId, service }));
  const [best] = chats;
  return { attempts, address: best === undefined ? null : addressOf(best.guid), liveChat: null };
}

/**
 * Returns the attempts for a person. If the typed id names a service, every attempt uses it, and none falls back to
 * SMS.
 */
function forPerson(address: string, prefix: string | undefined, chats: readonly KnownChat[]): readonly Attempt[] {
  const typedService = serviceNamed(prefix);
  const isAnyPrefix = prefix === undefined || prefix.toLowerCase() === 'any';
  const service = typedService ?? serviceNamed(chats[0]?.service) ?? 'iMessage';
  const ids = personIds(address, typedService, chats);
  return [
    ...ids.map((chatId) => ({ recipient: address, chatId, service: serviceNamed(prefixOf(chatId)) ?? service })),
    { recipient: address, chatId: null, service },
    ...(service === 'iMessage' && isAnyPrefix ? [{ recipient: address, chatId: null, service: null }] : []),
  ];
}

function personIds(address: string, typedService: string | undefined, chats: readonly KnownChat[]): readonly string[] {
  const [best, ...others] = chats;
  if (best === undefined) return [];
  const spelled = (prefix: string): string => `${prefix};-;${address}`;
  const ownIds = ({ guid, service }: KnownChat): string[] => {
    const name = serviceNamed(service);
    return name === undefined ? [guid] : [guid, spelled(name)];
  };
  if (typedService === undefined) return distinct([best.guid, spelled('any'), ...[best, ...others].flatMap(ownIds)]);
  const stored = chats.map(({ guid }) => guid);
  const stays = (id: string): boolean => ['any', typedService.toLowerCase()].includes(prefixOf(id).toLowerCase());
  return distinct([...stored.filter(stays), spelled(typedService)]);
}

/**
 * Returns the chat ids to try for a group. Builds none with `;-;`, the style of one person, because Messages would
 * create a row that is in no chat (openclaw/imsg #90).
 */
function groupIds(recipient: string, chats: readonly KnownChat[]): readonly string[] {
  const stored = chats.map(({ guid }) => guid);
  const prefix = prefixOf(recipient).toLowerCase();
  const isKnown = GROUP_PREFIXES.some((name) => name.toLowerCase() === prefix);
  const rest = recipient.slice(recipient.indexOf(';'));
  return distinct([...stored, recipient, ...(isKnown ? GROUP_PREFIXES.map((name) => name + rest) : [])]);
}

function typedId(typed: string): { readonly prefix?: string; readonly style?: string } {
  const [, prefix, style] = TYPED_ID.exec(typed) ?? [];
  return { ...(prefix !== undefined && { prefix }), ...(style !== undefined && { style }) };
}

/** Returns the address to send to, in its normal form. The id of a business keeps its case. */
function identifierOf(typed: string): string {
  const address = TYPED_ID.exec(typed)?.[3] ?? typed;
  const normal = normalAddress(address);
  return normal.startsWith('urn:') ? withoutTags(address) : normal;
}

function prefixOf(chatId: string): string {
  return chatId.slice(0, chatId.indexOf(';'));
}

/** Removes duplicates, and ids with control characters, which must never enter an environment (decision D1). */
function distinct(ids: readonly string[]): readonly string[] {
  return [...new Set(ids)].filter((id) => !/[\p{Cc}\u2028\u2029]/u.test(id));
}
