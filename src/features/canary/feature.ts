import { flag } from '../../core/config/setting.ts';
import { feature } from '../../core/feature.ts';
import { ownAddressIn } from '../self-chat/port.ts';
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
    isEnabled: flag(
      {
        name: 'canary.enabled',
        title: 'Push canary',
        about:
          "Whether Postern sends a message to your own address, self.address, every six hours to see whether Apple's push still works.",
      },
      false,
    ),
  },
  check: ({ isEnabled }, config) =>
    isEnabled && ownAddressIn(config) === ''
      ? { mistakes: ['canary.enabled is true, but self.address is empty; set it to your own address.'] }
      : {},
  hides({ isEnabled }, { config, state }) {
    const sent = state.prepare('SELECT address FROM canary').all();
    const addresses = new Set([...(isEnabled ? [ownAddressIn(config)] : []), ...sent.map(([one]) => String(one))]);
    return [...addresses].map((chat) => ({ chat, start: CANARY_START, length: CANARY_LENGTH }));
  },
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
  async open(core, { isEnabled }) {
    if (!isEnabled) return undefined;
    return (await import('./canary.ts')).openCanary(core, ownAddressIn(core.config));
  },
});
