import { type AgentOrder, controlAgent } from '../../../installer/agent-control.ts';
import type { Context } from '../../core/cli/context.ts';
import { thisMachine } from '../../core/cli/this-machine.ts';
import { reportErrors, settingsIn } from './on-this-machine.ts';

/** `postern start|stop|restart`: controls the agent that launchd runs. */
export function control(order: AgentOrder, _options: object, context: Context): Promise<number> {
  return reportErrors(
    controlAgent(thisMachine(context), order, (configDir) => settingsIn(configDir, context.environment)),
    context,
  );
}
