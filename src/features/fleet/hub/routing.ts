import { isAppError } from '../../../core/model/errors.ts';
import { type QualifiedId, splitId } from '../../../core/model/fleet.ts';
import { invalidRequest, problem } from '../../../core/model/problems.ts';
import type { HubParts } from './hub-parts.ts';
import type { MacReads } from './mac-reads.ts';
import { type KnownMac, plainAddress } from './macs.ts';

/** The Mac or pair to send by, and the recipient as that Mac names it. */
export interface SendRoute {
  readonly member: string;
  readonly recipient: string;
}

/**
 * Returns the Mac or pair to send by (decision N1). The recipient sees the address of the sending Mac, so a hub never
 * guesses: unless the choice is clear, throws `from_required` with the candidates.
 */
export async function routeOfSend(
  { recipient, from }: { readonly recipient: string; readonly from?: string | undefined },
  parts: HubParts,
): Promise<SendRoute> {
  const of = splitId(recipient);
  const named = from === undefined ? undefined : memberNamed(from, parts);
  if (of !== undefined && parts.reads.isKnown(of.mac)) {
    const member = parts.macs.nameOf(of.mac).member;
    if (named !== undefined && named !== member) {
      const message = `\`from\` names another Mac than ${of.mac}, which has this conversation. Leave out \`from\`.`;
      throw invalidRequest([{ pointer: '/from', message }]);
    }
    return { member, recipient: of.id };
  }
  if (named !== undefined) return { member: named, recipient };
  return { member: await memberWithConversation(recipient, parts), recipient };
}

/**
 * Returns the id of the Mac or pair that `from` names. `from` is an id, or an address that only one Mac or pair
 * announces. Throws `mac_unknown` or `from_required`.
 */
function memberNamed(from: string, { macs }: HubParts): string {
  if (macs.get(from) !== undefined) return macs.nameOf(from).member;
  const address = plainAddress(from);
  const isOwn = ({ presence }: KnownMac): boolean | undefined =>
    presence?.addresses.some((own) => plainAddress(own) === address);
  const owners = macs.members().flatMap((member) => (member.macs.some(isOwn) ? [member.id] : []));
  const [owner, second] = owners;
  if (owner === undefined) throw problem('mac_unknown');
  if (second !== undefined) throw fromRequired(`the address in \`from\` belongs to ${owners.length} Macs`, owners);
  return owner;
}

async function memberWithConversation(recipient: string, { macs, reads }: HubParts): Promise<string> {
  const id = recipient.includes(';') ? recipient : `any;-;${plainAddress(recipient)}`;
  const known = macs.members();
  const all = known.map((member) => member.id);
  const found = await Promise.all(
    known.map(async (member) => (macs.isMemberAway(member) ? 'away' : asked({ mac: member.id, id }, reads))),
  );
  const having = all.filter((_, place) => found[place] === 'there');
  const away = all.filter((_, place) => found[place] === 'away');
  const [one, second] = having;
  if (second !== undefined) throw fromRequired(`${having.length} Macs have a conversation with the recipient`, having);
  // A Mac that cannot be asked may also have a conversation with the recipient.
  if (away.length > 0) throw fromRequired(`${away.join(', ')} cannot be asked for conversations now`, all);
  if (one === undefined) throw fromRequired('no Mac has a conversation with the recipient', all);
  return one;
}

/** Asks whether a Mac or pair has a conversation. Returns `away` if it does not answer. */
async function asked(of: QualifiedId, reads: MacReads): Promise<'there' | 'not_there' | 'away'> {
  try {
    const found = await reads.first(reads.placesOf(of), ({ mac, id }) => reads.ask(mac, 'conversation', { id }));
    return found === undefined ? 'not_there' : 'there';
  } catch (error) {
    if (!isAppError(error) || error.code === 'broker_away') throw error;
    return 'away';
  }
}

function fromRequired(reason: string, candidates: readonly string[]) {
  return problem('from_required', { reason }, { extra: { candidates } });
}
