import { uninstall as uninstallFrom } from '../../../installer/uninstall.ts';
import type { Context } from '../../core/cli/context.ts';
import { thisMachine } from '../../core/cli/this-machine.ts';
import { reportErrors } from './on-this-machine.ts';

export interface UninstallCommandOptions {
  /** Also removes the configuration, state, logs and granted permissions. */
  readonly purge?: boolean;
}

/** `postern uninstall`: removes the gateway from this Mac. */
export function uninstall({ purge }: UninstallCommandOptions, context: Context): Promise<number> {
  return reportErrors(uninstallFrom(thisMachine(context), { purge: purge ?? false }), context);
}
