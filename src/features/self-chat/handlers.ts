import type { Handler } from '../../core/http/router.ts';
import { lookupTable } from '../../core/model/lookup-table.ts';
import { readBody } from '../../core/schema/mistakes.ts';
import { SELF_CHAT } from './port.ts';
import { proveBody } from './schema.ts';

/** The handlers for the proof that a conversation is the owner's with themselves (decision L6). */
export const HANDLERS: Readonly<Record<string, Handler>> = lookupTable({
  async getSelfChat({ caller }) {
    return { status: 200, body: caller.port(SELF_CHAT).chat.get() };
  },

  async sendSelfChatCode({ caller }) {
    return { status: 200, body: await caller.port(SELF_CHAT).chat.sendCode() };
  },

  async proveSelfChat(exchange) {
    const { code } = readBody(proveBody, await exchange.json());
    return { status: 200, body: exchange.caller.port(SELF_CHAT).chat.prove(code) };
  },
} satisfies Readonly<Record<string, Handler>>);
