import * as z from 'zod';
import { textOutput, tool } from './tool.ts';

export const whoami = tool({
  name: 'whoami',
  title: 'What this key may do',
  description: 'Scopes of this key, whom it may read and write to, and what is left of its limits.',
  scope: undefined,
  input: z.object({}),
  output: textOutput,
  async run(_input, { caller }) {
    const { key } = caller;
    if (key === undefined) return { text: "This is the owner's key: it may read everything and send to everybody." };
    return { text: `Key ${key.id}. Scopes: ${key.scopes.join(', ')}.` };
  },
});
