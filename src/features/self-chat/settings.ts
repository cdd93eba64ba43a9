import type { Setting } from '../../core/config/setting.ts';
import { rightsAddress } from '../../core/model/address.ts';

/** The section [self] of config.toml. */
export const SELF_CHAT_SETTINGS = {
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
