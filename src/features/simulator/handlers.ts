import type { Handler } from '../../core/http/router.ts';
import { invalidRequest } from '../../core/model/problems.ts';
import { readBody } from '../../core/schema/mistakes.ts';
import { type Command, reactionNamed } from './commands.ts';
import { demoReactBody, demoReadBody, demoSayBody } from './demo-request.ts';
import type { SimulatedMac } from './mac.ts';

/** Returns the handlers with which a demo's console controls the simulated people. Only a demo has them. */
export function demoHandlers(mac: Pick<SimulatedMac, 'command'>): Readonly<Record<string, Handler>> {
  const perform = async (command: Command): Promise<{ readonly row?: number }> => {
    try {
      return await mac.command(command);
    } catch (error) {
      if (!(error instanceof Error) || 'code' in error) throw error;
      const message = `The simulated Messages cannot do that: ${error.message}.`;
      throw invalidRequest([{ pointer: '', message }]);
    }
  };
  return {
    async sayInDemo(exchange) {
      const { from, text, conversation_id: chat } = readBody(demoSayBody, await exchange.json());
      const { row } = await perform({ do: 'receive', from, text, ...(chat !== undefined && { chat }) });
      return { status: 201, body: { id: String(row) } };
    },

    async readInDemo(exchange) {
      await perform({ do: 'open_chat', chat: readBody(demoReadBody, await exchange.json()).conversation_id });
      return { status: 204 };
    },

    async reactInDemo(exchange) {
      const body = readBody(demoReactBody, await exchange.json());
      const { from, message_id: to, reaction, take_back: isTakenBack } = body;
      const { row } = await perform({ do: 'react', to: Number(to), from, ...reactionNamed(reaction, isTakenBack) });
      return { status: 201, body: { id: String(row) } };
    },
  };
}
