import { connected, groupOf, nonEmpty } from '../../core/cli/declaration.ts';
import type { Setting } from '../../core/config/setting.ts';
import { feature } from '../../core/feature.ts';
import { rightsAddress } from '../../core/model/address.ts';
import { forgetSelfChat } from './ended.ts';
import { SELF_CHAT_PROBLEMS } from './problems.ts';

/** The section [self] of config.toml. */
const SELF_CHAT_SETTINGS = {
  address: {
    name: 'self.address',
    title: 'Your own address',
    about:
      'In the conversation with yourself at this address, you approve or reject by tapback what agents want to send, and the push canary is sent there. Empty: off. After setting it, run "postern approvals prove" to prove that the conversation is yours.',
    allowed: 'a number such as "+15550100" or a lowercase e-mail address, or empty',
    defaultValue: () => '',
    read: (written) =>
      typeof written === 'string' && (written === '' || rightsAddress(written) === written) ? written : undefined,
  } satisfies Setting<string>,
};

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
  open: async (core, { address }) => (await import('./open.ts')).openSelfChat(core, address),
});
