import { join } from 'node:path';
import { examples } from '../../src/core/http/openapi/examples.ts';
import type { RunCommand } from '../../src/core/runtime/command.ts';
import { type MacReport, macReport, type ReportParts } from '../../src/features/doctor/cli/mac-report.ts';
import type { ReportClient } from '../../src/features/doctor/cli/report-client.ts';
import { PARTS } from '../../src/features/doctor/cli/send-to-me.ts';
import { diagnosticsExample } from '../../src/features/doctor/document.ts';
import type { StandInMac } from './stand-in-mac.ts';

/** Replaces npm, which takes half a second and prints only a version here. */
export const withQuickNpm =
  (run: RunCommand): RunCommand =>
  (command, args, options) =>
    command === 'npm'
      ? Promise.resolve({ code: 0, stdout: '10.9.2\n', stderr: '', trouble: null })
      : run(command, args, options);

/** A client of a service in which everything works. */
export const reportClient: ReportClient = {
  health: () => Promise.resolve({ status: 'ok', backend: { connected: true, message: null } }),
  // With a member that a feature adds.
  status: () => Promise.resolve(Object.assign({ contacts: { state: 'loaded', message: null } }, examples.status)),
  checkPermissions: () => Promise.resolve(examples.permissions),
  diagnostics: () => Promise.resolve(diagnosticsExample),
  send: () => Promise.resolve({ ...examples.sent, id: '1207' }),
  message: () => Promise.resolve({ ...examples.sent, body: Object.values(PARTS).join(' / ') }),
};

/** Returns the report of this Mac, with all optional parts unless said otherwise. */
export function reportOf(
  mac: StandInMac,
  changes: Partial<ReportParts> & { readonly run?: RunCommand; readonly platform?: string } = {},
): Promise<MacReport> {
  const { run = mac.run, platform = 'darwin', ...options } = changes;
  const machine = mac.machine({ run: withQuickNpm(run), platform });
  return macReport({
    version: '0.1.0',
    probes: {
      machine,
      layout: mac.layout,
      scripts: join(mac.layout.current, 'dist/src'),
      port: mac.port,
      messagesApp: mac.messagesApp,
    },
    client: reportClient,
    findings: [{ name: 'agent', state: 'ok', sentence: 'It runs.', what_to_do: null }],
    prompt: true,
    watchSeconds: 30,
    sendToMe: undefined,
    ...options,
  });
}
