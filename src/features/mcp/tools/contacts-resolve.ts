import * as z from 'zod';
import type { Named } from '../../../core/model/ports/names-ports.ts';
import { textOutput, tool } from '../../../core/tools/tool.ts';
import { shortLine } from '../../../core/tools/visible.ts';
import { CONTACTS } from '../../contacts/port.ts';

const MAX_PEOPLE = 20;

export const contactsResolve = tool({
  name: 'contacts_resolve',
  title: 'Find a person',
  description: 'Addresses of a person, by name. If several people match, all are listed: ask which one is meant.',
  scope: 'read',
  isOffered: (caller) => caller.port(CONTACTS).isOn,
  input: z.object({ name: z.string().min(1).max(200) }),
  output: textOutput,
  async run({ name }, { caller }) {
    const exact = await caller.naming.named(name);
    const people = exact.length > 0 ? exact : await caller.port(CONTACTS).search(name, MAX_PEOPLE);
    if (people.length === 0) return { text: 'Nobody with this name is known.' };
    const lines = people.slice(0, MAX_PEOPLE).map(contactLine);
    if (people.length === 1) return { text: lines.join('\n') };
    return { text: ['Several people match; ask which one is meant:', ...lines].join('\n') };
  },
});

/** Returns a contact as one line: the name, then the addresses. */
export function contactLine({ name, nickname, organization, addresses }: Named): string {
  const more = [nickname, organization].flatMap((part) => (part === null || part === '' ? [] : [shortLine(part, 60)]));
  const about = more.length === 0 ? '' : ` (${more.join(', ')})`;
  return `${shortLine(name, 60)}${about}: ${addresses.map((address) => shortLine(address)).join(', ')}`;
}
