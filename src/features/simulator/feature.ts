import { hostName, nonEmpty, portNumber, SERVICE_COMMANDS, servesUntilStopped } from '../../core/cli/declaration.ts';
import { feature } from '../../core/feature.ts';
import { declareDemoCommands } from './demo-commands.ts';

/** Runs the service on a simulated Mac. */
export const simulator = feature({
  name: 'simulator',
  commands(program) {
    const demo = servesUntilStopped(program.command('demo'))
      .helpGroup(SERVICE_COMMANDS)
      .description('Run the service on a simulated Mac with a few simulated people. Your own messages are not touched.')
      .option('--dir <folder>', 'folder of the simulated Mac', nonEmpty)
      .option('--port <number>', 'the TCP port, instead of the one in its config.toml', portNumber)
      .option('--quiet', 'after the two-minute story, the people only answer what you send')
      .option('--host <address>', 'the address to listen on, instead of 127.0.0.1', hostName)
      .option('--allow-network', 'allow a --host that other machines can reach')
      .examples('postern demo --port 3002', 'postern demo --host 0.0.0.0 --allow-network')
      .runs(async () => (await import('./demo-command.ts')).demo);
    declareDemoCommands(demo);
    servesUntilStopped(program.command('run', { hidden: true }))
      .description('Write the configuration if there is none, then serve; without Messages, run the demo.')
      .examples('postern run')
      .runs(async () => (await import('./run-command.ts')).run);
  },
});
