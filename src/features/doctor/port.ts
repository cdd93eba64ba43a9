import type { Diagnostics } from '../../client/diagnostics-types.ts';
import type { Port } from '../../core/model/port.ts';

export interface DiagnosticsRequest {
  /** Time for which to watch chat.db. */
  readonly seconds: number;
  /** True to ask Messages too for its accounts and chats, which may make macOS prompt the user. */
  readonly asksMessages: boolean;
}

/** Collects facts that only the program with the macOS permissions can find out. */
export interface DiagnosticsService {
  run(request: DiagnosticsRequest): Promise<Diagnostics>;
}

/** Only the owner has it: the answer names the owner's addresses. */
export const DIAGNOSTICS: Port<DiagnosticsService> = { name: 'diagnostics', narrow: () => undefined };
