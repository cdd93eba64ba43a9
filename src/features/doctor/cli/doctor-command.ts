import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { layoutOf } from '../../../../installer/install-layout.ts';
import { installLine } from '../../../../installer/install-line.ts';
import type { Machine } from '../../../../installer/machine.ts';
import { portState } from '../../../../installer/port.ts';
import { PosternClient } from '../../../client/postern-client.ts';
import type { HostContext } from '../../../core/cli/client-context.ts';
import { type Context, EXIT, type FolderOptions, folderOf } from '../../../core/cli/context.ts';
import { isDemoRunning } from '../../../core/cli/demo-running.ts';
import { copyable } from '../../../core/cli/invocation.ts';
import { json, printable, UNBROKEN, wrapped } from '../../../core/cli/output/text.ts';
import { thisMachine } from '../../../core/cli/this-machine.ts';
import { readConfig } from '../../../core/config/config-file.ts';
import { trustedSocketOf, urlOf } from '../../../core/config/service-address.ts';
import { described } from '../../../core/mac/port-listeners.ts';
import { type Finding, fault, finding, ok } from '../../../core/model/finding.ts';
import { pause } from '../../../core/runtime/clock.ts';
import { checkHere, checkInChild, type DatabaseChecker } from './database-check.ts';
import { chatDatabase, configuration, diskSpace, fileModes, stateDatabase } from './file-findings.ts';
import { macFindings } from './mac-findings.ts';
import { askService } from './service-probe.ts';

export interface DoctorOptions extends FolderOptions {
  readonly json?: boolean;
  /** Allows macOS to prompt the user for missing permissions. */
  readonly prompt?: boolean;
}

const ANSWER_LIMIT_MS = 5000;
const SIGNS = { ok: '✓', warning: '!', problem: '✗', unknown: '?' } as const;
const STYLES = { ok: 'green', warning: 'yellow', problem: 'red', unknown: 'yellow' } as const;
/** Indentation of advice and of continued lines. */
const ADVICE = '    ';

/** `postern doctor`: checks everything that could keep the gateway from working. Exits with 1 if it finds a problem. */
export async function runDoctor(
  options: DoctorOptions,
  context: HostContext,
  machine = thisMachine(context),
  check: DatabaseChecker = checkHere,
): Promise<number> {
  context.progress('Checking');
  const findings = await examine(options, context, machine, check);
  context.progress(undefined);
  if (options.json === true) context.stdout(json({ findings }, 2));
  else for (const found of findings) context.stdout(...lines(found, context));
  return findings.some(({ state }) => state === 'problem') ? EXIT.failed : EXIT.ok;
}

/** `postern doctor` as the command line runs it: chat.db is checked in a child process. */
export function doctorCommand(options: DoctorOptions, context: HostContext): Promise<number> {
  return runDoctor(options, context, thisMachine(context), checkInChild);
}

/** Runs all of doctor's checks. Prints nothing. */
export async function examine(
  options: DoctorOptions,
  context: HostContext,
  machine: Machine,
  check: DatabaseChecker = checkHere,
): Promise<readonly Finding[]> {
  // Text for people is wrapped later; `UNBROKEN` spaces keep each command on one line. JSON is not wrapped.
  const space = options.json === true ? ' ' : UNBROKEN;
  const complete = (text: string): string => copyable(text, options, context, space);
  return (await findingsOf(options, context, machine, check)).map((found) => ({
    ...found,
    sentence: complete(found.sentence),
    what_to_do: found.what_to_do && complete(found.what_to_do),
  }));
}

async function findingsOf(
  options: DoctorOptions,
  context: HostContext,
  machine: Machine,
  check: DatabaseChecker,
): Promise<readonly Finding[]> {
  const { environment, version } = context;
  const prompt = options.prompt ?? false;
  const folder = folderOf(options, context);
  const reading = readConfig(folder, environment);
  const findings: Finding[] = [ok('version', `Postern ${version} on Node ${process.versions.node}.`)];
  findings.push(
    ...configuration(reading),
    ...fileModes(folder),
    diskSpace([environment.homeFolder, folder].filter((one) => existsSync(one))),
  );
  // A demo needs neither the agent nor Messages.
  if (machine.platform === 'darwin' && options.demo !== true) findings.push(...(await macFindings(machine)));
  if (reading.state !== 'usable') return findings;

  const { server, auth, backend } = reading.config;
  const socket = trustedSocketOf(reading.config);
  if ('reason' in socket) {
    const checked = await check(backend.chatDbPath, machine);
    findings.push(notAsked(socket.reason, server), chatDatabase(backend.chatDbPath, false, checked));
    return findings;
  }
  const client = new PosternClient({ socketPath: socket.path, key: auth.apiKey, timeoutMs: ANSWER_LIMIT_MS });
  const asked = await askService(client, {
    address: socket.path,
    program: machine.platform === 'darwin' ? layoutOf(machine.home).executable : machine.execPath,
    start: startOf(options, machine),
    prompt,
    associatedRows: backend.associatedRows,
    configFile: join(folder, 'config.toml'),
    pauseMs: (ms) => pause(machine.clock, ms),
  });
  findings.push(...asked.findings);
  if (!asked.isUp) findings.push(...stateDatabase(folder, context.features));
  if (!asked.isUp && server.port !== 0) {
    const isDemo = options.demo !== true && options.configDir === undefined && (await isDemoRunning(context));
    findings.push(await port(machine, server.host, server.port, isDemo));
  }
  const checked = await check(backend.chatDbPath, machine);
  findings.push(chatDatabase(backend.chatDbPath, asked.isConnected, checked));
  const { isUp, status } = asked;
  const ofFeatures: Finding[] = [];
  for (const feature of context.features) {
    ofFeatures.push(...((await feature.findings?.({ config: reading.config, isUp, status })) ?? []));
  }
  // A feature may make a check that is also made above: a hub of a fleet has no database of Messages.
  const names = new Set(ofFeatures.map(({ name }) => name));
  return [...findings.filter(({ name }) => !names.has(name)), ...ofFeatures];
}

/**
 * Reports that the service was not asked, because its socket cannot be trusted. Never asks at the service's port
 * instead, because another program may have taken the port.
 */
function notAsked(reason: string, server: { readonly host: string; readonly port: number }): Finding {
  return finding(
    'problem',
    'service',
    `The service was not checked. ${reason}`,
    server.port === 0 ? null : `To check it at its port: postern status --url ${urlOf(server)}`,
  );
}

/** Explains how to start a service that is not running. */
function startOf({ demo, configDir }: DoctorOptions, { platform }: Machine): string {
  if (demo === true) return 'Start it: postern demo';
  return platform === 'darwin' && configDir === undefined
    ? `Run: postern start — or, if it was never installed: ${installLine()}`
    : 'Start it: `postern serve`';
}

async function port(machine: Machine, host: string, number: number, isDemo = false): Promise<Finding> {
  const state = await portState(machine.run, host, number);
  if (state.kind === 'free') return ok('port', `Port ${number} is free.`);
  if (state.kind === 'impossible') {
    return fault(
      'port',
      `Postern cannot listen on ${host}:${number} (${state.code}).`,
      'Change server.host or server.port.',
    );
  }
  return fault(
    'port',
    `Port ${number} is taken by ${described(state)}.`,
    isDemo
      ? 'It may be your running demo: postern doctor --demo examines it. To run both, set another server.port.'
      : 'Stop it, or set another server.port.',
  );
}

function lines(
  { state, name, sentence, what_to_do: whatToDo }: Finding,
  { paint, columns }: Context,
): readonly string[] {
  const text = printable(`${name.replaceAll('_', ' ')}: ${sentence}`);
  const [first = '', ...others] = wrapped(text, columns, ADVICE.length);
  return [
    `${paint(STYLES[state], SIGNS[state])} ${first.trimStart()}`,
    ...others,
    ...(whatToDo === null ? [] : wrapped(printable(whatToDo), columns, ADVICE.length)),
  ];
}
