import type { Approval, ApprovalState, PosternClient } from '../../client/postern-client.ts';
import { visible } from '../../domain/visible.ts';
import { systemClock } from '../../runtime/clock.ts';
import { EXIT } from '../context.ts';
import { withId } from '../names.ts';
import { stateStyle } from '../output/style.ts';
import type { Column } from '../output/table.ts';
import { oneLine, printable } from '../output/text.ts';
import { shownTime } from '../output/time.ts';
import { type ConnectionOptions, Refusal, type Served } from '../service-connection.ts';
import { typedLine } from '../typed-line.ts';

const APPROVALS: readonly Column[] = [
  { title: 'ID' },
  { title: 'STATE', style: stateStyle },
  { title: 'ASKED', style: () => 'dim' },
  { title: 'TO', isFlexible: true, least: 12 },
  { title: 'TEXT', isFlexible: true, least: 20 },
];
const SHORT_ID = 8;

export async function listApprovals(
  options: ConnectionOptions & { readonly state?: ApprovalState; readonly all?: boolean },
  { client, columns, list }: Served,
): Promise<void> {
  const state = options.state ?? (options.all === true ? undefined : 'held');
  const approvals = await client.approvals.list(state === undefined ? {} : { state });
  const rows = approvals.map(({ id, state: now, created_at: at, to, text }) => [
    columns === undefined ? id : id.slice(0, SHORT_ID),
    now,
    shownTime(at, systemClock.now()),
    to,
    oneLine(text ?? ''),
  ]);
  list(approvals, APPROVALS, rows, 'Nothing waits for a decision.');
}

export async function showApproval(given: string, _options: object, { client, answer }: Served): Promise<void> {
  const approval = await approvalOf(client, given);
  answer(approval, ...description(approval));
}

/** Shows exactly what would be sent, and asks at the terminal whether to approve it. */
export async function approve(
  given: string,
  options: { readonly yes?: boolean },
  { client, input, stderr, progress, answer }: Served,
): Promise<number> {
  const approval = await approvalOf(client, given);
  const { id, shown } = approval;
  if (shown === undefined) throw new Refusal(EXIT.refusedInput, `It was decided already: it is ${approval.state}.`);
  if (options.yes !== true) {
    stderr(...description(approval), '', 'Send it? Type yes and press Return.');
    if ((await typedLine(input())) !== 'yes') {
      stderr('Nothing was decided.');
      return EXIT.crash;
    }
  }
  progress('Sending');
  await client.approvals.approve(id, shown);
  const end = await client.approvals.get(id, { wait: 40 });
  answer(end, `It is ${end.state}${end.problem === null ? '' : ` (${end.problem})`}.`);
  return ['sent', 'pending', 'approved'].includes(end.state) ? EXIT.ok : EXIT.crash;
}

export async function deny(given: string, _options: object, { client, answer }: Served): Promise<void> {
  const { id } = await approvalOf(client, given);
  answer(await client.approvals.deny(id), 'Denied: nothing is sent.');
}

async function approvalOf(client: PosternClient, given: string): Promise<Approval> {
  return withId(await client.approvals.list(), given, 'approval', 'postern approvals list --all');
}

/** The address first, then the exact text with invisible characters made visible. */
function description({
  id,
  key_id: key,
  state,
  to,
  members,
  text,
  attachments,
  expires_at: expires,
}: Approval): readonly string[] {
  return [
    `To: ${shown(to)}`,
    ...(members.length === 1 && members[0] === to ? [] : [`Read by: ${members.map(shown).join(', ')}`]),
    `Text: ${text === null ? '(erased, because it ended)' : ''}`,
    ...(text === null ? [] : text.split('\n').map((line) => `  ${shown(line)}`)),
    ...attachments.map(({ name, bytes, sha256 }) => `File: ${shown(name)}, ${bytes} bytes, sha256 ${sha256}`),
    `Asked by key ${key}; ${state}, expires ${expires} (approval ${id})`,
  ];
}

function shown(text: string): string {
  return printable(visible(text));
}
