import { feature } from '../../core/feature.ts';
import { declareClientCommands } from './commands.ts';

/** The commands that read, send and follow messages, and manage webhooks, through the running service. */
export const clientCommands = feature({ name: 'client-commands', commands: declareClientCommands });
