import { install as installOn } from '../../../installer/install.ts';
import type { ClientContext } from '../../core/cli/client-context.ts';
import { thisMachine } from '../../core/cli/this-machine.ts';
import { typedLine } from '../../core/cli/typed-line.ts';
import { projectRoot } from '../../core/runtime/project-folder.ts';
import { reportErrors, settingsIn } from './on-this-machine.ts';

export interface InstallCommandOptions {
  /** True to replace the private Node. macOS then asks for the permissions again. */
  readonly renewRuntime?: boolean;
  /** False to check the permissions only once, without waiting until the user grants them. */
  readonly wait?: boolean;
}

const PERMISSIONS_LIMIT_MS = 10 * 60_000;

/** `postern install`: makes this Mac run the gateway at every login. */
export function install({ renewRuntime, wait }: InstallCommandOptions, context: ClientContext): Promise<number> {
  return reportErrors(
    installOn(thisMachine(context), {
      root: projectRoot(),
      version: context.version,
      renewRuntime: renewRuntime ?? false,
      permissionsLimitMs: wait === false ? 0 : PERMISSIONS_LIMIT_MS,
      async confirm(question) {
        if (!context.isTerminal) return false;
        context.stdout(question);
        return /^y(?:es)?$/i.test(await typedLine(context.input()));
      },
      readSettings: (configDir) => settingsIn(configDir, context.environment),
    }),
    context,
  );
}
