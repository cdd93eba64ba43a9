// The server in the MCPB bundle: `postern mcp` without the rest of the program.

import { outputWritten, processContext } from '../../../core/cli/process-context.ts';
import { mcpCommand } from './mcp-command.ts';

declare const POSTERN_VERSION: string;

const exitCode = await mcpCommand({}, processContext(POSTERN_VERSION));
await outputWritten();
process.exit(exitCode);
