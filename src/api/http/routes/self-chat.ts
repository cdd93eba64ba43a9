import type { AccessService } from '../../../domain/ports/access.ts';
import { readBody } from '../../../schema/mistakes.ts';
import { proveBody } from '../../../schema/self-chat.ts';
import type { Handlers } from '../router.ts';

/** The conversation in which the owner decides by tapback (decision L6). */
export function selfChatRoutes(access: () => Promise<AccessService>) {
  return {
    async getSelfChat() {
      return { status: 200, body: (await access()).selfChat.get() };
    },

    async sendSelfChatCode() {
      return { status: 200, body: await (await access()).selfChat.sendCode() };
    },

    async proveSelfChat(exchange) {
      const { code } = readBody(proveBody, await exchange.json());
      return { status: 200, body: (await access()).selfChat.prove(code) };
    },
  } satisfies Partial<Handlers>;
}
