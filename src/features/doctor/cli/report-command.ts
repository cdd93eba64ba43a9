import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { layoutOf } from '../../../../installer/install-layout.ts';
import { PosternClient } from '../../../client/postern-client.ts';
import type { HostContext } from '../../../core/cli/client-context.ts';
import { EXIT, folderOf } from '../../../core/cli/context.ts';
import { json } from '../../../core/cli/output/text.ts';
import { thisMachine } from '../../../core/cli/this-machine.ts';
import { readConfig } from '../../../core/config/config-file.ts';
import { trustedSocketOf } from '../../../core/config/service-address.ts';
import { projectRoot } from '../../../core/runtime/project-folder.ts';
import { type DoctorOptions, examine } from './doctor-command.ts';
import { type MacReport, macReport } from './mac-report.ts';

export interface ReportCommandOptions extends DoctorOptions {
  readonly macReport?: boolean;
  /** The user's own address to send a test to; `true` chooses one of the user's addresses. */
  readonly sendToMe?: string | true;
  /** Seconds to watch chat.db. */
  readonly watch?: number;
}

const MESSAGES_APP = '/System/Applications/Messages.app';
const WATCH_SECONDS = 30;
/**
 * Seconds to watch chat.db after a test send: Messages may write a failed delivery into its row up to a minute later.
 */
const WATCH_SECONDS_AFTER_SEND = 75;

/**
 * `postern doctor --mac-report`: prints one JSON document for a bug report. Exits with 1 if the service could not be
 * asked.
 */
export async function reportCommand(
  options: ReportCommandOptions,
  context: HostContext,
  machine = thisMachine(context),
): Promise<number> {
  const { sendToMe, prompt = false } = options;
  const watchSeconds = options.watch ?? (sendToMe === undefined ? WATCH_SECONDS : WATCH_SECONDS_AFTER_SEND);
  context.stderr(
    `This takes about ${watchSeconds + 10} seconds. Names, addresses, keys and texts are masked; read the report before you post it.`,
  );
  context.progress('Collecting the report');
  const reading = readConfig(folderOf(options, context), context.environment);
  const config = reading.state === 'usable' ? reading.config : undefined;
  const socket = config === undefined ? undefined : trustedSocketOf(config);
  const findings = await examine({ ...options, prompt: false, json: true }, context, machine);
  const report = await macReport({
    version: context.version,
    probes: {
      machine,
      layout: layoutOf(machine.home),
      scripts: scriptsFolder(),
      port: config?.server.port ?? null,
      messagesApp: MESSAGES_APP,
    },
    client:
      config !== undefined && socket !== undefined && 'path' in socket
        ? new PosternClient({ socketPath: socket.path, key: config.auth.apiKey })
        : undefined,
    findings,
    prompt,
    watchSeconds,
    sendToMe,
  });
  context.stdout(json(report, 2));
  return isServiceSeen(report) ? EXIT.ok : EXIT.failed;
}

function isServiceSeen({ keys }: MacReport): boolean {
  return 'found' in keys.service;
}

/**
 * Returns the folder of the compiled code if there is any, otherwise of the source code. Both contain the AppleScripts.
 */
function scriptsFolder(): string {
  const compiled = join(projectRoot(), 'dist', 'src');
  return existsSync(compiled) ? compiled : join(projectRoot(), 'src');
}
