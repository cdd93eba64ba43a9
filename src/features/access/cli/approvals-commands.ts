import type { Approval, ApprovalState, PosternClient } from '../../../client/postern-client.ts';
import type { ConnectionOptions } from '../../../core/cli/context.ts';
import { EXIT } from '../../../core/cli/context.ts';
import { withName } from '../../../core/cli/output/event-line.ts';
import { stateStyle } from '../../../core/cli/output/style.ts';
import type { Column } from '../../../core/cli/output/table.ts';
import { oneLine, printable } from '../../../core/cli/output/text.ts';
import { shownTime } from '../../../core/cli/output/time.ts';
import { Refusal, type Served } from '../../../core/cli/service-connection.ts';
import { shortId, withId } from '../../../core/cli/shown-names.ts';
import { typedLine } from '../../../core/cli/typed-line.ts';
import { visible } from '../../../core/model/visible.ts';
import { systemClock } from '../../../core/runtime/clock.ts';
import { keyNames } from './key-names.ts';

const APPROVALS: readonly Column[] = [
  { title: 'ID' },
  { title: 'STATE', style: stateStyle },
  { title: 'ASKED', style: () => 'dim' },
  { title: 'KEY', isFlexible: true, least: 8 },
  { title: 'TO', isFlexible: true, least: 12 },
  { title: 'TEXT', isFlexible: true, least: 20 },
];
/** The columns of `APPROVALS` and the time of sending, for lists that contain a scheduled send. */
const WITH_SEND_AT: readonly Column[] = APPROVALS.toSpliced(3, 0, { title: 'SEND AT' });
/** States of an approved send that has gone well so far. */
const GOOD_STATES: ReadonlySet<ApprovalState> = new Set(['sent', 'pending', 'approved', 'scheduled']);

export async function listApprovals(
  options: ConnectionOptions & { readonly state?: ApprovalState; readonly all?: boolean },
  { client, columns, list }: Served,
): Promise<void> {
  const state = options.state ?? (options.all === true ? undefined : 'held');
  const approvals = await client.approvals.list({ ...(state !== undefined && { state }), include: 'contacts' });
  const keys = approvals.length === 0 ? new Map<string, string>() : await keyNames(client);
  const nowMs = systemClock.now();
  const isAnyLater = approvals.some(({ send_at: sendAt }) => sendAt !== undefined);
  const rows = approvals.map((approval) => {
    const { id, state: now, created_at: at, key_id: key, send_at: sendAt, text } = approval;
    const shownId = columns === undefined ? id : shortId(id);
    const later = isAnyLater ? [sendAt === undefined ? '' : shownTime(sendAt, nowMs)] : [];
    const others = [keys.get(key) ?? key, recipient(approval), text ?? ''].map(shownInRow);
    return [shownId, now, shownTime(at, nowMs), ...later, ...others];
  });
  list(approvals, isAnyLater ? WITH_SEND_AT : APPROVALS, rows, 'No send is waiting for a decision.');
}

export async function showApproval(given: string, _options: object, { client, answer }: Served): Promise<void> {
  const approval = await approvalOf(client, given);
  answer(approval, ...description(approval, await keyNames(client)));
}

/** Shows exactly what would be sent, and asks at the terminal whether to approve it. */
export async function approve(
  given: string,
  options: { readonly yes?: boolean },
  { client, input, stderr, progress, answer }: Served,
): Promise<number> {
  const approval = await approvalOf(client, given);
  const { id, shown } = approval;
  if (shown === undefined) {
    throw new Refusal(EXIT.refusedInput, `This send has already been decided. Its state is ${approval.state}.`);
  }
  if (options.yes !== true) {
    stderr(...description(approval, await keyNames(client)), '', 'Send it? Type yes and press Return.');
    if ((await typedLine(input())) !== 'yes') {
      stderr('Nothing was decided.');
      return EXIT.failed;
    }
  }
  progress('Sending');
  await client.approvals.approve(id, shown);
  const end = await client.approvals.get(id, { wait: 40 });
  const time = end.state === 'scheduled' ? ` for ${sendTime(end)}` : '';
  answer(end, `It is ${end.state}${time}${end.problem === null ? '' : ` (${end.problem})`}.`);
  return GOOD_STATES.has(end.state) ? EXIT.ok : EXIT.failed;
}

export async function deny(given: string, _options: object, { client, answer }: Served): Promise<void> {
  const { id } = await approvalOf(client, given);
  answer(await client.approvals.deny(id), 'Denied: nothing is sent.');
}

async function approvalOf(client: PosternClient, given: string): Promise<Approval> {
  return withId(
    await client.approvals.list({ include: 'contacts' }),
    given,
    'approval',
    'postern approvals list --all',
  );
}

/** Returns the time of a scheduled send: first in this time zone, then as it was written in the request. */
function sendTime({ send_at: at = '', send_until: until }: Approval): string {
  const nowMs = systemClock.now();
  return `${shownTime(at, nowMs)} (${at})${until === undefined ? '' : `, at the latest ${shownTime(until, nowMs)}`}`;
}

/**
 * Returns the recipient as a name and `to`, if only one person would read the message and that person has a name.
 * Otherwise returns `to` alone.
 */
function recipient({ to, members, names = {} }: Approval): string {
  const [only = ''] = members;
  const name = members.length === 1 ? names[only] : undefined;
  return name === undefined ? to : `${name} (${to})`;
}

/** Describes the send: first the person, then the exact text with invisible characters made visible. */
function description(approval: Approval, keys: ReadonlyMap<string, string>): readonly string[] {
  const { id, key_id: keyId, state, to, members, names = {}, text, attachments, expires_at: expires } = approval;
  const key = keys.get(keyId);
  return [
    `To: ${shown(recipient(approval))}`,
    ...(members.length === 1 && (members[0] === to || names[members[0] ?? ''] !== undefined)
      ? []
      : [`Read by: ${members.map((member) => shown(withName(member, names))).join(', ')}`]),
    ...(approval.send_at === undefined ? [] : [`Sent later: ${sendTime(approval)}`]),
    ...(approval.new_contact === true ? ['You have never written to this recipient.'] : []),
    `Text: ${text === null ? '(erased, because the send has ended)' : ''}`,
    ...(text === null ? [] : text.split('\n').map((line) => `  ${shown(line)}`)),
    ...attachments.map(({ name, bytes, sha256 }) => `File: ${shown(name)}, ${bytes} bytes, sha256 ${sha256}`),
    `Requested by key ${key === undefined ? keyId : `${shown(key)} (${keyId})`}; ${state}, expires ${expires} (approval ${id})`,
  ];
}

function shownInRow(text: string): string {
  return oneLine(visible(text));
}

function shown(text: string): string {
  return printable(visible(text));
}
