import type { Mistake } from '../model/errors.ts';
import { OWNER } from '../model/owner.ts';
import type { Deferral } from '../model/ports/deferral-ports.ts';
import type { CallerSender, MessageSender, SendAnswer, SendRequest } from '../model/ports/sending-ports.ts';
import { problem } from '../model/problems.ts';

interface OwnerSendsParts {
  readonly sender: MessageSender;
  readonly deferral: Deferral;
}

/** Sends for the owner. Allows every send. A feature may make the sends itself, to record them. */
export class OwnerSends implements CallerSender {
  readonly #parts: OwnerSendsParts;
  #through: CallerSender | undefined;

  constructor(parts: OwnerSendsParts) {
    this.#parts = parts;
  }

  /** Makes every send go through `sender`. */
  through(sender: CallerSender): void {
    this.#through = sender;
  }

  attachmentMistakes(paths: readonly string[]): Promise<readonly Mistake[]> {
    return this.#parts.sender.attachmentMistakes(paths);
  }

  async send(request: SendRequest): Promise<SendAnswer> {
    if (this.#through !== undefined) return this.#through.send(request);
    if (request.dryRun === true) throw problem('not_available', { what: 'dry runs' });
    const { sender, deferral } = this.#parts;
    if (request.sendAtMs === undefined) return { kind: 'sent', ...(await sender.send(request)) };
    const deferred = await deferral.add(request, { keyId: OWNER });
    return { kind: 'deferred', deferred, replayed: deferred.replayed };
  }
}
