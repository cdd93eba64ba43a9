import type { Served } from '../../core/cli/service-connection.ts';
import { typedLine } from '../../core/cli/typed-line.ts';

/**
 * Proves that the conversation with oneself is the owner's. Sends a code to that conversation, then reads the code that
 * the user types. With `code`, sends nothing and only checks that code.
 */
export async function proveSelfChat(
  code: string | undefined,
  _options: object,
  { client, input, stderr, answer }: Served,
): Promise<void> {
  let typed = code;
  if (typed === undefined) {
    const { address } = await client.approvals.sendSelfChatCode();
    stderr(
      `Postern sent a code to ${address}.`,
      'Open that conversation in Messages. If anybody but you can read it, stop here (Ctrl+C) and correct the address in config.toml.',
      'Type the code that you read there, and press Return.',
    );
    typed = await typedLine(input());
  }
  const proved = await client.approvals.proveSelfChat(typed);
  answer(
    proved,
    `Proved: the conversation with ${proved.address} is with yourself.`,
    'With self.address, Postern asks there about each message that waits for your approval: 👍 sends it, 👎 denies it.',
  );
}
