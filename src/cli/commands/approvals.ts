import type { Approval, ApprovalState, PosternClient } from '../../client/postern-client.ts';
import { visible } from '../../domain/visible.ts';
import { systemClock } from '../../runtime/clock.ts';
import { type ClientContext, EXIT } from '../context.ts';
import { stateStyle } from '../output/style.ts';
import { type Column, sayTable } from '../output/table.ts';
import { json, oneLine, printable } from '../output/text.ts';
import { shownTime } from '../output/time.ts';
import { type ConnectionOptions, Refusal, withService } from '../service-connection.ts';
import { typedLine } from '../typed-line.ts';

const APPROVALS: readonly Column[] = [
  { title: 'ID' },
  { title: 'STATE', style: stateStyle },
  { title: 'ASKED', style: () => 'dim' },
  { title: 'TO', isFlexible: true, least: 12 },
  { title: 'TEXT', isFlexible: true, least: 20 },
];
const SHORT_ID = 8;

export function listApprovals(
  options: ConnectionOptions & { readonly state?: ApprovalState; readonly all?: boolean },
  context: ClientContext,
): Promise<number> {
  return withService(options, context, async ({ client }) => {
    const state = options.state ?? (options.all === true ? undefined : 'held');
    const approvals = await client.approvals.list(state === undefined ? {} : { state });
    if (options.json === true) context.stdout(json(approvals, 2));
    else {
      const rows = approvals.map(({ id, state: now, created_at: at, to, text }) => [
        context.columns === undefined ? id : id.slice(0, SHORT_ID),
        now,
        shownTime(at, systemClock.now()),
        to,
        oneLine(text ?? ''),
      ]);
      sayTable(context, APPROVALS, rows, 'Nothing waits for a decision.');
    }
    return EXIT.ok;
  });
}

export function showApproval(given: string, options: ConnectionOptions, context: ClientContext): Promise<number> {
  return withService(options, context, async ({ client }) => {
    const approval = await approvalOf(client, given);
    context.stdout(...(options.json === true ? [json(approval, 2)] : description(approval)));
    return EXIT.ok;
  });
}

/** Shows exactly what would be sent, and asks at the terminal whether to approve it. */
export function approve(
  given: string,
  options: ConnectionOptions & { readonly yes?: boolean },
  context: ClientContext,
): Promise<number> {
  return withService(options, context, async ({ client }) => {
    const approval = await approvalOf(client, given);
    const { id, shown } = approval;
    if (shown === undefined) throw new Refusal(EXIT.refusedInput, `It was decided already: it is ${approval.state}.`);
    if (options.yes !== true) {
      context.stderr(...description(approval), '', 'Send it? Type yes and press Return.');
      if ((await typedLine(context.input())) !== 'yes') {
        context.stderr('Nothing was decided.');
        return EXIT.crash;
      }
    }
    context.progress('Sending');
    await client.approvals.approve(id, shown);
    const end = await client.approvals.get(id, { wait: 40 });
    context.stdout(
      options.json === true ? json(end, 2) : `It is ${end.state}${end.problem === null ? '' : ` (${end.problem})`}.`,
    );
    return ['sent', 'pending', 'approved'].includes(end.state) ? EXIT.ok : EXIT.crash;
  });
}

export function deny(given: string, options: ConnectionOptions, context: ClientContext): Promise<number> {
  return withService(options, context, async ({ client }) => {
    const { id } = await approvalOf(client, given);
    const approval = await client.approvals.deny(id);
    context.stdout(options.json === true ? json(approval, 2) : `Denied: nothing is sent.`);
    return EXIT.ok;
  });
}

/** Finds the approval with this id, or the only one whose id begins with it. */
async function approvalOf(client: PosternClient, given: string): Promise<Approval> {
  const found = (await client.approvals.list()).filter(({ id }) => id.startsWith(given));
  const [only] = found;
  if (only !== undefined && (found.length === 1 || only.id === given)) return only;
  throw new Refusal(
    EXIT.refusedInput,
    only === undefined
      ? `There is no approval ${given}.`
      : `${found.length} approvals have an id that begins with ${given}.`,
    'postern approvals list --all shows them.',
  );
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
