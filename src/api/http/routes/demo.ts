import type { DemoPeople } from '../../../domain/ports/demo.ts';
import { invalidRequest } from '../../../domain/problems.ts';
import { checkBody } from '../../../schema/mistakes.ts';
import type { DemoHandlers } from '../router.ts';

/** The routes with which a demo's console controls its people. Other services lack them. */
export function demoRoutes(people: DemoPeople): DemoHandlers {
  return {
    async sayInDemo(exchange) {
      const { demoSayBody } = await import('../../../schema/demo.ts');
      const checked = checkBody(demoSayBody, await exchange.json());
      if (!checked.ok) throw invalidRequest(checked.mistakes);
      const { from, text, conversation_id: conversationId } = checked.value;
      return { status: 201, body: await people.say({ from, text, conversationId }) };
    },

    async reactInDemo(exchange) {
      const { demoReactBody } = await import('../../../schema/demo.ts');
      const checked = checkBody(demoReactBody, await exchange.json());
      if (!checked.ok) throw invalidRequest(checked.mistakes);
      const { from, message_id: messageId, reaction, take_back: isTakenBack } = checked.value;
      return { status: 201, body: await people.react({ from, messageId, reaction, isTakenBack }) };
    },
  };
}
