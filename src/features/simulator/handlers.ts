import type { Handler } from '../../core/http/router.ts';
import { readBody } from '../../core/schema/mistakes.ts';
import type { DemoPeople } from './demo-ports.ts';
import { demoReactBody, demoReadBody, demoSayBody } from './demo-request.ts';

/** Returns the handlers with which a demo's console controls the simulated people. Only a demo has them. */
export function demoHandlers(people: DemoPeople): Readonly<Record<string, Handler>> {
  return {
    async sayInDemo(exchange) {
      const { from, text, conversation_id: conversationId } = readBody(demoSayBody, await exchange.json());
      return { status: 201, body: await people.say({ from, text, conversationId }) };
    },

    async readInDemo(exchange) {
      await people.read(readBody(demoReadBody, await exchange.json()).conversation_id);
      return { status: 204 };
    },

    async reactInDemo(exchange) {
      const body = readBody(demoReactBody, await exchange.json());
      const { from, message_id: messageId, reaction, take_back: isTakenBack } = body;
      return { status: 201, body: await people.react({ from, messageId, reaction, isTakenBack }) };
    },
  };
}
