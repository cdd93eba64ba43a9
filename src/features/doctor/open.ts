import type { Core } from '../../core/core.ts';
import type { Running } from '../../core/feature.ts';
import { DiagnosticsRunner } from './diagnostics-runner.ts';
import { DIAGNOSTICS } from './port.ts';

/** Opens what collects the facts for a report, when it is asked to. */
export function openDiagnostics({ config, host, awake, poster, messagesAccounts, ports }: Core): Running {
  const { run, clock } = host;
  const runner = new DiagnosticsRunner({ ...config.backend, run, clock, awake, poster, messagesAccounts });
  ports.provide(DIAGNOSTICS, runner);
  return { close: () => runner.close() };
}
