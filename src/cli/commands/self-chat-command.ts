import type { Served } from '../service-connection.ts';
import { typedLine } from '../typed-line.ts';

/** Sends a code to the conversation with oneself, and reads it from the user. With `code`, only checks that code. */
export async function proveSelfChat(
  code: string | undefined,
  _options: object,
  { client, input, stderr, answer }: Served,
): Promise<void> {
  let typed = code;
  if (typed === undefined) {
    const { address } = await client.approvals.sendSelfChatCode();
    stderr(
      `Postern wrote a code to ${address}.`,
      'Open that conversation in Messages. If anybody but you can read it, stop here (Ctrl+C) and correct the address in config.toml.',
      'Type the code that you read there, and press Return.',
    );
    typed = await typedLine(input());
  }
  const proved = await client.approvals.proveSelfChat(typed);
  answer(
    proved,
    `Proved. The conversation with ${proved.address} is yours.`,
    'With approval.self, what waits for you is written there: 👍 sends it, 👎 does not. ' +
      'With canary.self, a short message every six hours.',
  );
}
