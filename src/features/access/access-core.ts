import type { Config } from '../../core/config/config.ts';
import type { Core } from '../../core/core.ts';
import type { Host } from '../../core/host.ts';
import type { MacCaller } from '../../core/model/caller.ts';
import type { MessageReader } from '../../core/model/ports/reading-ports.ts';
import type { MessageSender } from '../../core/model/ports/sending-ports.ts';

/** The parts of the core that limited keys use. */
export interface AccessCore
  extends Pick<
    Core,
    | 'state'
    | 'connection'
    | 'idempotency'
    | 'json'
    | 'deferrals'
    | 'keptFiles'
    | 'uploads'
    | 'ownListeners'
    | 'ports'
    | 'guests'
  > {
  readonly config: { readonly send: Pick<Config['send'], 'attachmentRoots'> };
  readonly host: Pick<Host, 'clock' | 'log' | 'features'>;
  /** The owner's caller, whose ports the callers of limited keys restrict. */
  readonly owner: MacCaller;
  /** Reads messages without the names of people. */
  readonly messages: MessageReader;
  readonly sender: MessageSender;
}
