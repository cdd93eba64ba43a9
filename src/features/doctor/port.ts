import type { Port } from '../../core/model/port.ts';
import type { DiagnosticsRunner } from './diagnostics-runner.ts';

export interface DiagnosticsRequest {
  /** Time for which to watch chat.db. */
  readonly seconds: number;
  /** True to ask Messages too for its accounts and chats, which may make macOS prompt the user. */
  readonly asksMessages: boolean;
}

/** Only the owner has it: the answer names the owner's addresses. */
export const DIAGNOSTICS: Port<DiagnosticsRunner> = { name: 'diagnostics', narrow: () => undefined };
