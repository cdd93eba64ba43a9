// The server in the MCPB bundle: `postern mcp` without the rest of the program.
import { mcp } from './commands/mcp-command.ts';
import { outputWritten, processContext } from './process-context.ts';

declare const POSTERN_VERSION: string;

const exitCode = await mcp({}, processContext(POSTERN_VERSION));
await outputWritten();
process.exit(exitCode);
