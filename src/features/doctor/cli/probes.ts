import { existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { LSREGISTER } from '../../../../installer/grants.ts';
import { BUNDLE_ID, LABEL, type Layout } from '../../../../installer/install-layout.ts';
import { machSlicesOf } from '../../../../installer/mach-o.ts';
import type { Machine } from '../../../../installer/machine.ts';
import { portListeners } from '../../../core/mac/port-listeners.ts';
import type { CommandResult } from '../../../core/runtime/command.ts';
import { appXattrs, conversions, sleep, socket } from './data-probes.ts';
import { absent, found, guarded, type Observation, observe, type ReportedValue } from './observation.ts';
import { fields, knownWords, oneOf } from './redact.ts';
import { MESSAGES_TERMS, NEEDED_TERMS } from './scripting-terms.ts';

export interface ProbeContext {
  readonly machine: Machine;
  readonly layout: Layout;
  /** Folder with the AppleScripts of the running code. */
  readonly scripts: string;
  readonly port: number | null;
  readonly messagesApp: string;
}

/**
 * Collects the value of one field of the report. Returns only numbers, values of closed sets, and words that are known
 * to be harmless.
 */
type Probe = (context: ProbeContext) => Promise<Observation> | Observation;
type Read = (result: CommandResult) => Readonly<Record<string, ReportedValue>>;

const LSREGISTER_LIMIT_MS = 90_000;
const CDHASH = /[0-9a-f]{40}/;
const VERSION = /\d{1,6}(?:\.\d{1,6}){1,3}/;
const FLAGS = /(?:none|(?:adhoc|runtime|linker-signed|host|hard|kill|expires|restrict|library-validation|,)+)/;

/**
 * The probes for a Mac and its installation. Key: the key of the report. Value: how to observe it, and which values to
 * keep.
 */
export const MAC_PROBES = {
  macos: program('sw_vers', [], ({ stdout }) =>
    fields(stdout, {
      ProductName: /macOS|Mac OS X/,
      ProductVersion: /\d+(?:\.\d+){0,2}/,
      ProductVersionExtra: /\([a-z]\)/,
      BuildVersion: /\d{2}[A-Z]\d{1,5}[a-z]?/,
    }),
  ),
  machine: program('uname', ['-m'], ({ stdout }) => ({ arch: oneOf(['arm64', 'x86_64'], stdout.trim()) })),
  translated: program('sysctl', ['-in', 'sysctl.proc_translated'], ({ stdout }) => ({ value: digit(stdout) })),
  sip: program('csrutil', ['status'], ({ stdout }) => ({
    status: oneOf(['enabled', 'disabled', 'unknown'], /status: (\w+)/.exec(stdout)?.[1]),
  })),
  npm: program('npm', ['--version'], ({ stdout }) => fields(`version: ${stdout}`, { version: VERSION })),
  agent_node: ({ machine, layout }) =>
    existsSync(layout.executable)
      ? observe({ run: machine.run, command: layout.executable, args: ['--version'] }, ({ stdout }) =>
          fields(`version: ${stdout.replace(/^v/, '')}`, { version: VERSION }),
        )
      : absent('missing'),
  signature: ({ machine, layout }) =>
    observe({ run: machine.run, command: 'codesign', args: ['-dvvv', layout.app] }, signatureIn),
  requirement: ({ machine, layout }) =>
    observe({ run: machine.run, command: 'codesign', args: ['-d', '-r-', layout.app] }, requirementIn),
  signature_strict: ({ machine, layout }) =>
    observe({ run: machine.run, command: 'codesign', args: ['--verify', '--strict', layout.app] }),
  uuid: ({ layout }) =>
    found(
      machSlicesOf(layout.executable).map(({ arch, uuid, minimumMacos }) => ({
        arch,
        uuid,
        minimum_macos: minimumMacos,
      })),
    ),
  recorded_cdhash: ({ layout }) => {
    const { cdhash = null } = fields(`cdhash: ${readFileSync(layout.knownCdhash, 'utf8').trim()}`, { cdhash: CDHASH });
    return found({ cdhash });
  },
  launchctl_print: ({ machine, layout }) =>
    observe({ run: machine.run, command: 'launchctl', args: ['print', `gui/${machine.uid}/${LABEL}`] }, (result) =>
      jobIn(result, layout),
    ),
  launchctl_print_disabled: ({ machine }) =>
    observe(
      { run: machine.run, command: 'launchctl', args: ['print-disabled', `gui/${machine.uid}`] },
      ({ stdout }) => ({
        agent: /"local\.postern\.agent" => (disabled|enabled|true|false)\b/.exec(stdout)?.[1] ?? 'not_listed',
      }),
    ),
  launchctl_managername: program('launchctl', ['managername'], ({ stdout }) => ({
    name: oneOf(['Aqua', 'Background', 'LoginWindow', 'System', 'StandardIO'], stdout.trim()),
  })),
  property_list: ({ machine, layout }) =>
    observe({ run: machine.run, command: 'plutil', args: ['-lint', layout.plist] }, () => ({
      has_empty_node_options: /<key>NODE_OPTIONS<\/key>\s*<string(?:\/>|>\s*<\/string>)/.test(textOf(layout.plist)),
    })),
  launch_services: launchServices,
  scripts_compile: compile,
  dictionary,
  messages_process: program('pgrep', ['-x', 'Messages'], ({ code }) => ({ is_running: code === 0 })),
  socket,
  app_xattrs: appXattrs,
  sleep,
  conversions,
  installed: ({ layout }) =>
    found({
      version: installedVersion(layout.current),
      previous: installedVersion(layout.previous),
      has_bundle: existsSync(layout.app),
      has_property_list: existsSync(layout.plist),
    }),
  port_listeners: async ({ machine, port }) => {
    if (port === null) return absent('missing');
    const listeners = await portListeners(machine.run, port);
    return found(
      listeners.map(({ address, program: name }) => ({
        address: oneOf(['*', '0.0.0.0', '[::]', '127.0.0.1', '[::1]'], address) ?? 'other',
        program:
          oneOf(['Postern', 'node', 'bun', 'ruby', 'Python', 'python3', 'java', 'ControlCe'], name ?? '') ?? 'other',
      })),
    );
  },
} as const satisfies Readonly<Record<string, Probe>>;

export type MacProbeKey = keyof typeof MAC_PROBES;

/** Observes every key in turn. A failure becomes that key's observation. */
export async function macObservations(context: ProbeContext): Promise<Readonly<Record<MacProbeKey, Observation>>> {
  const isMac = context.machine.platform === 'darwin';
  const seen: [string, Observation][] = [];
  for (const [key, probe] of Object.entries<Probe>(MAC_PROBES)) {
    seen.push([key, isMac ? await guarded(() => probe(context)) : absent('not_macos')]);
  }
  return Object.fromEntries(seen) as Record<MacProbeKey, Observation>;
}

function program(command: string, args: readonly string[], read: Read): Probe {
  return ({ machine }) => observe({ run: machine.run, command, args }, read);
}

function signatureIn({ stderr }: CommandResult): Readonly<Record<string, ReportedValue>> {
  const [, flags] = /^CodeDirectory .*flags=0x[0-9a-f]+\(([^()]*)\)/m.exec(stderr) ?? [];
  return {
    ...fields(stderr, {
      Identifier: /local\.postern/,
      Format: /(?:app bundle with )?Mach-O (?:thin|universal) \((?:arm64|x86_64| )+\)/,
      Signature: /adhoc|size=\d{1,6}/,
      CDHash: CDHASH,
      TeamIdentifier: /not set/,
      'Sealed Resources version': /\d{1,9} rules=\d{1,9} files=\d{1,9}/,
      'Info.plist entries': /\d{1,3}/,
    }),
    ...fields(`flags: ${flags ?? ''}`, { flags: FLAGS }),
    authorities: stderr.match(/^Authority=/gm)?.length ?? 0,
  };
}

function requirementIn({ stdout, stderr }: CommandResult): Readonly<Record<string, ReportedValue>> {
  const [, text = ''] = /designated => (.*)/.exec(`${stdout}\n${stderr}`) ?? [];
  const [, cdhash] = /^cdhash H"([0-9a-f]{40})"/.exec(text) ?? [];
  if (cdhash !== undefined) return { kind: 'cdhash', cdhash };
  return { kind: text.includes(`identifier "${BUNDLE_ID}"`) ? 'identifier' : text === '' ? 'none' : 'other' };
}

function jobIn({ stdout }: CommandResult, { executable }: Layout): Readonly<Record<string, ReportedValue>> {
  return {
    ...fields(stdout, {
      state: /running|not running|waiting|exited|spawn scheduled/,
      'last exit code': /\(never exited\)|\d{1,3}(?:: EX_[A-Z]+)?/,
      'last terminating signal': /(?:Terminated|Killed|Abort trap|Segmentation fault|Bus error|Hangup): \d{1,2}/,
      runs: /\d{1,5}/,
      'spawn type': /(?:interactive|adaptive|background|daemon)(?: \(\d\))?/,
      'exit timeout': /\d{1,3}/,
      'minimum runtime': /\d{1,3}/,
    }),
    is_our_program: stdout.includes(`program = ${executable}\n`),
    properties: knownWords(/^[ \t]*properties = (.*)$/m.exec(stdout)?.[1] ?? ''),
    immediate_reason: knownWords(/^[ \t]*immediate reason = (.*)$/m.exec(stdout)?.[1] ?? ''),
  };
}

/**
 * Reports whether Launch Services lists Postern's app. Searches the dump of Launch Services while it arrives: the dump
 * has tens of megabytes, and `run` keeps only the end of a long output.
 */
async function launchServices({ machine }: ProbeContext): Promise<Observation> {
  let isListed = false;
  let rest = '';
  const onOutput = (text: string): void => {
    isListed ||= `${rest}${text}`.includes(BUNDLE_ID);
    rest = text.slice(-BUNDLE_ID.length);
  };
  const result = await machine.run(LSREGISTER, ['-dump'], { timeoutMs: LSREGISTER_LIMIT_MS, onOutput });
  if (result.trouble !== null) return absent(result.trouble);
  return found({ exit_code: result.code, is_listed: isListed || result.stdout.includes(BUNDLE_ID) });
}

async function compile({ machine, scripts }: ProbeContext): Promise<Observation> {
  const files = readdirSync(scripts, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.applescript'),
  );
  const output = mkdtempSync(join(machine.temporaryFolder, 'postern-report-'));
  try {
    const results: ReportedValue[] = [];
    for (const file of files.toSorted()) {
      const compiled = await observe(
        { run: machine.run, command: 'osacompile', args: ['-o', join(output, 'compiled.scpt'), join(scripts, file)] },
        ({ stderr }) => ({
          line: digit(/:(\d{1,4}): error/.exec(stderr)?.[1]),
          number: digit(/\((-\d{1,5})\)/.exec(stderr)?.[1]),
        }),
      );
      results.push({ script: basename(file, '.applescript'), ...compiled });
    }
    return found(results);
  } finally {
    rmSync(output, { recursive: true, force: true });
  }
}

/**
 * Reads the file of Messages' scripting dictionary. Does not run `sdef`: on a Mac without Xcode's developer tools,
 * `sdef` opens a dialog.
 */
async function dictionary({ machine, messagesApp }: ProbeContext): Promise<Observation> {
  const contents = join(messagesApp, 'Contents');
  const args = ['-extract', 'OSAScriptingDefinition', 'xml1', '-o', '-', join(contents, 'Info.plist')];
  const result = await machine.run('plutil', args, { timeoutMs: 15_000 });
  if (result.trouble !== null) return absent(result.trouble);
  const name = /<string>([\w.-]+\.sdef)<\/string>/.exec(result.stdout)?.[1];
  return name === undefined
    ? absent('missing')
    : found(wordsIn(readFileSync(join(contents, 'Resources', name), 'utf8')));
}

function wordsIn(dictionary: string): Readonly<Record<string, ReportedValue>> {
  const names = new Set([...dictionary.matchAll(/\bname="([^"]+)"/g)].map(([, name]) => name));
  const missing = (wanted: Readonly<Record<string, readonly string[]>>): readonly string[] =>
    Object.values(wanted)
      .flat()
      .filter((word) => !names.has(word));
  return { words: names.size, needed_missing: missing(NEEDED_TERMS), known_missing: missing(MESSAGES_TERMS) };
}

function installedVersion(link: string): string | null {
  if (lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return null;
  return /^versions\/(\d+\.\d+\.\d+)/.exec(readlinkSync(link))?.[1] ?? 'other';
}

function textOf(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

function digit(text: string | undefined): number | null {
  return /^-?\d{1,5}$/.test(text?.trim() ?? '') ? Number(text) : null;
}
