import { connected, groupOf, nonEmpty } from '../../core/cli/declaration.ts';
import { feature } from '../../core/feature.ts';
import { forgetSelfChat } from './ended.ts';
import { SELF_CHAT_PROBLEMS } from './problems.ts';
import { SELF_CHAT_SETTINGS } from './settings.ts';

/** The owner's conversation with themselves: proved by a code, and where the owner's tapbacks decide. */
export const selfChat = feature({
  name: 'self-chat',
  settings: SELF_CHAT_SETTINGS,
  tables: `
  CREATE TABLE self_chat (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    address TEXT NOT NULL,
    chat TEXT NOT NULL,
    proved_ms INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE self_chat_request (
    guid TEXT PRIMARY KEY,
    approval TEXT NOT NULL,
    text_hmac TEXT NOT NULL
  ) STRICT;
  CREATE TABLE self_chat_message (
    key TEXT PRIMARY KEY,
    at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;`,
  problems: SELF_CHAT_PROBLEMS,
  routes: {
    getSelfChat: { method: 'GET', path: '/self-chat', key: 'header', access: 'owner' },
    sendSelfChatCode: { method: 'POST', path: '/self-chat/code', key: 'header', access: 'owner' },
    proveSelfChat: { method: 'POST', path: '/self-chat/prove', key: 'header', access: 'owner' },
  },
  handlers: async () => (await import('./handlers.ts')).HANDLERS,
  document: async () => (await import('./document.ts')).DOCUMENT,
  commands(program) {
    // Among the commands that decide.
    connected(groupOf(program, 'approvals').command('prove'))
      .description('Prove that a conversation is with yourself, so that you can approve sends there with a tapback.')
      .argument(
        '[code]',
        'the code that Postern sent there; without it, Postern sends a code and asks for it',
        nonEmpty,
      )
      .examples('postern approvals prove', 'postern approvals prove 482913')
      .asks(async () => (await import('./prove-command.ts')).proveSelfChat);
  },
  replaced: (state) => forgetSelfChat(state),
  async open(core, { address }) {
    const { openSelfChat } = await import('./open.ts');
    return openSelfChat(core, address);
  },
});
