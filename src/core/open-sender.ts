import { join } from 'node:path';
import type { Config } from './config/config.ts';
import type { CoreBase, CoreEvents, CoreMac } from './core.ts';
import { untilPublished } from './log/published.ts';
import type { Log } from './model/ports/host-ports.ts';
import type { AttachmentRules } from './sender/checked-attachments.ts';
import { KeptCopies } from './sender/kept-files.ts';
import { osascript } from './sender/osascript.ts';
import { Sender } from './sender/sender.ts';

function attachmentRulesOf({ send, backend, dir }: Config): AttachmentRules {
  return { roots: send.attachmentRoots, chatDbPath: backend.chatDbPath, configDir: dir };
}

/** Creates the sender, which drives Messages and then looks for the sent rows in chat.db. */
export function openSender(core: CoreBase & CoreMac & CoreEvents): Sender {
  const { config, host, permissions, idempotency, sentRows: rows, feed, publisher, messages } = core;
  // It stops while the Mac sleeps, so that sleep does not use up the time limit of a running script.
  const clock = core.awake;
  return new Sender({
    messages: osascript({ path: config.backend.osascriptPath, clock, permission: permissions }),
    rows,
    idempotency,
    clock,
    log: host.log,
    attachments: attachmentRulesOf(config),
    details: (message) => messages.details(message),
    published: (rowId) => untilPublished(rowId, { feed, clock, publish: () => publisher.publishPending() }),
    ...(host.platform === 'darwin' && {
      stagingFolder: join(host.homeFolder, 'Library/Messages/Attachments/Postern'),
    }),
  });
}

/** Opens the store for copies of the files that held and deferred sends attach. */
export function openKeptFiles(config: Config, log: Log): KeptCopies {
  return new KeptCopies({ rules: attachmentRulesOf(config), log });
}
