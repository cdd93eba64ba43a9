import type { Setting } from '../../core/config/setting.ts';
import { ownAddress, SELF_ADDRESS } from '../../core/config/settings.ts';
import { feature } from '../../core/feature.ts';
import { CANARY_LENGTH, CANARY_START } from './text.ts';

/**
 * Sends a short message to the owner's own address every six hours, to see whether Apple's push still works. Lists
 * leave these messages out.
 */
export const canary = feature({
  name: 'canary',
  // The conversation with oneself is proved there.
  needs: ['self-chat'],
  settings: {
    selfAddress: {
      name: 'canary.self',
      title: 'Push canary',
      about:
        'Your own address, to which Postern sends a message every six hours to see whether Apple\'s push still works. Empty: off. After setting it, run "postern approvals prove" to prove that the conversation is yours.',
      allowed: SELF_ADDRESS,
      defaultValue: () => '',
      read: ownAddress,
    } satisfies Setting<string>,
  },
  check({ selfAddress }, { features }) {
    const other = features['self-chat']?.selfAddress;
    if (!selfAddress || !other || selfAddress === other) return {};
    return {
      mistakes: [
        'approval.self and canary.self are different; they must be the same address, because only one conversation with yourself can be proved.',
      ],
    };
  },
  hides: ({ selfAddress: chat }) => (chat === '' ? undefined : { chat, start: CANARY_START, length: CANARY_LENGTH }),
  tables: `CREATE TABLE IF NOT EXISTS canary (
     address TEXT NOT NULL,
     number TEXT NOT NULL,
     sent_ms INTEGER NOT NULL,
     outcome TEXT NOT NULL,
     problem TEXT,
     arrived_ms INTEGER,
     delay_ms INTEGER,
     dead_since_ms INTEGER,
     lost INTEGER NOT NULL DEFAULT 0
   ) STRICT;`,
  document: async () => ({ operations: {}, status: (await import('./document.ts')).canarySchema }),
  shown: async () => (await import('./shown.ts')).shownCanary,
  async open(core, { selfAddress: address }) {
    if (address === '') return undefined;
    const { openCanary } = await import('./canary.ts');
    return openCanary(core, address);
  },
});
