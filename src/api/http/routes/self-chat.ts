import type { AccessService } from '../../../domain/ports/access.ts';
import { invalidRequest } from '../../../domain/problems.ts';
import { checkBody } from '../../../schema/mistakes.ts';
import { proveBody } from '../../../schema/self-chat.ts';
import type { Handlers } from '../router.ts';

/** The conversation in which the owner decides by tapback (decision L6). */
export function selfChatRoutes(
  access: () => Promise<AccessService>,
): Pick<Handlers, 'getSelfChat' | 'sendSelfChatCode' | 'proveSelfChat'> {
  return {
    async getSelfChat() {
      return { status: 200, body: (await access()).selfChat.get() };
    },

    async sendSelfChatCode() {
      return { status: 200, body: await (await access()).selfChat.sendCode() };
    },

    async proveSelfChat(exchange) {
      const checked = checkBody(proveBody, await exchange.json());
      if (!checked.ok) throw invalidRequest(checked.mistakes);
      return { status: 200, body: (await access()).selfChat.prove(checked.value.code) };
    },
  };
}
