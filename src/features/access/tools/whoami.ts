import * as z from 'zod';
import type { KeyRecord } from '../../../client/key-types.ts';
import type { NameOf } from '../../../core/tools/tool.ts';
import { textOutput, tool } from '../../../core/tools/tool.ts';
import { shortLine } from '../../../core/tools/visible.ts';
import { RIGHTS } from '../port.ts';

const MAX_LISTED = 50;

export const whoami = tool({
  name: 'whoami',
  title: 'What this key may do',
  description: 'Scopes of this key, whom it may read and write to, and what remains of its limits.',
  scope: undefined,
  input: z.object({}),
  output: textOutput,
  async run(_input, { caller, names }) {
    if (caller.key === undefined) {
      return { text: "This is the owner's key: it may read everything and send to everybody." };
    }
    return { text: linesOf(caller.port(RIGHTS).own(), await names()).join('\n') };
  },
});

function linesOf(key: KeyRecord, nameOf: NameOf): readonly string[] {
  const { name, scopes, read, send, approval, dry_run: dryRun, remaining, closed, expires_at: expires } = key;
  const may = (scope: KeyRecord['scopes'][number]): boolean => scopes.includes(scope);
  return [
    `Key "${shortLine(name, 60)}", valid ${expires === null ? 'until it is revoked' : `until ${expires}`}.`,
    `Scopes: ${scopes.join(', ')}.`,
    ...(may('read') || may('events') ? [`May read: ${listed(read, nameOf)}.`] : []),
    ...(may('send') ? [`May write to: ${listed(send, nameOf)}.`, APPROVALS[approval]] : []),
    ...(may('send') && dryRun ? ['Every send is a dry run: nothing goes out.'] : []),
    ...(may('send') && remaining !== null ? [`Left: ${leftOf(remaining)}.`] : []),
    ...closed.map(
      ({ conversation_id: id }) =>
        `You can no longer send to the group ${shortLine(id, 120)}, because somebody joined it.`,
    ),
  ];
}

const APPROVALS = {
  always: 'The owner approves each message before it goes out.',
  new: 'The owner approves messages to people they have never written to.',
  never: 'Messages go out without approval.',
} as const satisfies Record<KeyRecord['approval'], string>;

function listed(list: KeyRecord['read'], nameOf: NameOf): string {
  if (list === '*') return 'everybody';
  if (list.length === 0) return 'nobody';
  const shown = list.slice(0, MAX_LISTED).map((entry) => {
    const name = nameOf(entry);
    return name === undefined ? shortLine(entry, 120) : `${shortLine(name, 60)} (${shortLine(entry)})`;
  });
  return list.length > MAX_LISTED ? `${shown.join(', ')} and ${list.length - MAX_LISTED} more` : shown.join(', ');
}

function leftOf({
  per_minute: minute,
  per_day: day,
  new_contacts_per_day: contacts,
}: NonNullable<KeyRecord['remaining']>) {
  return `${minute} messages this minute, ${day} today, ${contacts} to new people today`;
}
