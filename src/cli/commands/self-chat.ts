import { type ClientContext, EXIT } from '../context.ts';
import { json } from '../output/text.ts';
import { type ConnectionOptions, withService } from '../service-connection.ts';
import { typedLine } from '../typed-line.ts';

/** Sends a code to the conversation with oneself and asks for it. With `code`, only checks that code. */
export function proveSelfChat(
  code: string | undefined,
  options: ConnectionOptions,
  context: ClientContext,
): Promise<number> {
  return withService(options, context, async ({ client }) => {
    let typed = code;
    if (typed === undefined) {
      const { address } = await client.approvals.sendSelfChatCode();
      context.stderr(
        `Postern wrote a code to ${address}.`,
        'Open that conversation in Messages. If anybody but you can read it, stop here (Ctrl+C) and correct approval.self.',
        'Type the code that you read there, and press Return.',
      );
      typed = await typedLine(context.input());
    }
    const proved = await client.approvals.proveSelfChat(typed);
    context.stdout(
      ...(options.json === true
        ? [json(proved, 2)]
        : [`Proved. What waits for you is written to ${proved.address}: 👍 sends it, 👎 does not.`]),
    );
    return EXIT.ok;
  });
}
