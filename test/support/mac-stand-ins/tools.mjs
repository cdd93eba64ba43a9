// Small programs of macOS.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { clearFlag, hasFlag, readJson, readPlist, readText } from './state.mjs';

const OPENS =
  /^(tell\b(?!.*\bto\b)|try\b|repeat\b|if\b.*\bthen$|on\b(?! error)|using terms\b|with timeout\b|considering\b|ignoring\b)/;

/**
 * Compiles nothing, but refuses an open block and words that this macOS does not know (the flag `unknown-words`). It
 * names the line, whereas osascript counts characters (jeroenbegyn/VLCControl #1 shows both).
 */
export function osacompile(args, environment) {
  const output = args[args.indexOf('-o') + 1];
  const script = args.at(-1);
  if (!existsSync(script))
    return { code: 1, stderr: `osacompile: couldn't read file ${script}: No such file or directory` };
  if (!existsSync(dirname(output))) return { code: 1, stderr: `osacompile: ${output}: No such file or directory` };
  const unknown = readText(environment, 'unknown-words').split('\n').filter(Boolean);
  const lines = readFileSync(script, 'utf8').split('\n');
  let open = 0;
  for (const [index, line] of lines.entries()) {
    const text = line.replace(/--.*$/, '').trim();
    if (OPENS.test(text)) open += 1;
    if (/^end\b/.test(text)) open -= 1;
    if (open < 0) return refused(script, index, 'Expected end of script but found "end".');
    if (unknown.some((word) => text.includes(word))) {
      return refused(script, index, 'Expected end of line, etc. but found identifier.');
    }
  }
  if (open > 0) return refused(script, lines.length - 1, 'Expected "end" but found end of script.');
  writeFileSync(output, '');
  return { code: 0 };
}

function refused(script, index, words) {
  return { code: 1, stderr: `${script}:${index + 1}: error: ${words} (-2741)` };
}

/** `-lint FILE`, and `-extract KEY xml1 -o - FILE`, which every macOS since 10.12 knows; `raw` came with 12. */
export async function plutil([verb, ...rest]) {
  const file = rest.at(-1);
  if (verb === '-extract') return extracted(file, rest[0]);
  try {
    await readPlist(file);
    return { code: 0, stdout: `${file}: OK` };
  } catch {
    return { code: 1, stdout: `${file}: Unexpected character at line 1` };
  }
}

async function extracted(file, key) {
  try {
    const value = (await readPlist(file))[key];
    if (value === undefined) {
      return { code: 1, stderr: `${file}: Could not extract value, error: No value at that key path: ${key}` };
    }
    return { code: 0, stdout: `<?xml version="1.0"?>\n<plist version="1.0">\n<string>${value}</string>\n</plist>` };
  } catch {
    return { code: 1, stderr: `${file}: file does not exist or is not readable or is not a regular file` };
  }
}

/** `-cr` removes every attribute, `-dr NAME` that one; here they are flags of the whole Mac. */
export function xattr([option, name], environment) {
  if (option === '-cr') clearFlag(environment, 'finder-info');
  if (option === '-cr' || name === 'com.apple.quarantine') clearFlag(environment, 'quarantine');
  return { code: 0 };
}

export function csrutil() {
  return { code: 0, stdout: 'System Integrity Protection status: enabled.' };
}

export function sysctl() {
  return { code: 0, stdout: '1' };
}

export function swVers(_, environment) {
  return { code: 0, stdout: readText(environment, 'macos-version') || '15.6.1' };
}

/** SwiftBar's folder of plugins is the only setting that anybody reads. */
export function defaults(_, environment) {
  const folder = readText(environment, 'swiftbar-folder');
  return { code: folder === '' ? 1 : 0, stdout: folder };
}

/**
 * Without developer tools, xcode-select exits with 2 and this sentence (xcode-select(1), macOS 13 to 26), without a
 * dialog.
 */
export function xcodeSelect(_, environment) {
  if (!hasFlag(environment, 'no-compiler')) return { code: 0, stdout: '/Library/Developer/CommandLineTools' };
  const sentence =
    'xcode-select: error: unable to get active developer directory, use `xcode-select --switch` to set one';
  return { code: 2, stderr: sentence };
}

/** On a Mac without developer tools, otool opens a dialog and waits for the user. */
export function otool() {
  return { code: 72 };
}

export function pgrep(_, environment) {
  return hasFlag(environment, 'messages-closed') ? { code: 1 } : { code: 0, stdout: '4711' };
}

export function open() {
  return { code: 0 };
}

export function osascript() {
  return { code: 0 };
}

/** Without root, lsof lists only this user's processes: here, those that a test stored, or else the agent. */
export function lsof(args, environment) {
  if (hasFlag(environment, 'lsof')) return { code: 0, stdout: readText(environment, 'lsof') };
  const pid = Number(readText(environment, 'ready'));
  const { port } = readJson(environment, 'gateway.json', {});
  if (!isAlive(pid) || !args.includes(`-iTCP:${port}`)) return { code: 1 };
  return { code: 0, stdout: `p${pid}\ncPostern\nn127.0.0.1:${port}` };
}

function isAlive(pid) {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The converters write to their last argument, or to the one after `--out`. */
export function converter(args) {
  const place = args.indexOf('--out');
  writeFileSync(place === -1 ? args.at(-1) : args[place + 1], 'converted');
  return { code: 0, stdout: args.join(' ') };
}

/** Prints lines of `pmset -g log`: time, zone, domain and message (pmset(1), macOS 13 to 26). */
export function pmset() {
  const now = new Date();
  const two = (value) => String(value).padStart(2, '0');
  const today = `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
  const line = (day, domain, text) => `${day} 07:30:01 +0100 ${domain.padEnd(20)}\t${text}`;
  return {
    code: 0,
    stdout: [
      line('2001-01-01', 'Wake', 'Wake from Deep Idle [CDNVA] : due to EC.LidOpen'),
      line(today, 'Sleep', "Entering Sleep state due to 'Clamshell Sleep'"),
      line(today, 'DarkWake', 'DarkWake from Deep Idle [CDNP] : due to RTC/Maintenance'),
      line(today, 'Wake', 'Wake from Deep Idle [CDNVA] : due to EC.LidOpen'),
    ].join('\n'),
  };
}
