import type { Setting } from '../../core/config/setting.ts';
import { ownAddress, SELF_ADDRESS } from '../../core/config/settings.ts';

/** The section [approval] of config.toml. */
export const SELF_CHAT_SETTINGS = {
  selfAddress: {
    name: 'approval.self',
    title: 'Decide by tapback',
    about:
      'Your own address. In the conversation with yourself, you can then approve or reject by tapback what agents want to send. Empty: off. After setting it, run "postern approvals prove" to prove that the conversation is yours.',
    allowed: SELF_ADDRESS,
    defaultValue: () => '',
    read: ownAddress,
  } satisfies Setting<string>,
};
