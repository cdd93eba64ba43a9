// LaunchServices' register of bundles, and the privacy settings (TCC), which look up bundles in it.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readJson, readPlist, wholeMac, writeJson } from './state.mjs';

export async function lsregister([option, app], environment) {
  if (option === '-dump') {
    const known = Object.entries(readJson(environment, 'launch-services.json', {}));
    return { code: 0, stdout: known.map(([id, path]) => `path: ${path} (0x1a4)\nidentifier: ${id}`).join('\n') };
  }
  if (option === '-u') {
    // A bundle that is removed without this call stays in the register.
    const others = Object.entries(readJson(environment, 'launch-services.json', {})).filter(([, path]) => path !== app);
    writeJson(environment, 'launch-services.json', Object.fromEntries(others));
    return { code: 0 };
  }
  const file = join(app ?? '', 'Contents', 'Info.plist');
  if (option !== '-f' || !existsSync(file)) return { code: 1, stderr: `failed to scan ${app}: -10811` };
  const { CFBundleIdentifier } = await readPlist(file);
  const registered = readJson(environment, 'launch-services.json', {});
  writeJson(environment, 'launch-services.json', { ...registered, [CFBundleIdentifier]: app });
  return { code: 0 };
}

/**
 * Grants are kept as `service: cdhash`: TCC keeps the hash of a bundle that was removed or replaced. Full Disk Access is
 * one entry for all accounts, in /Library/Application Support/com.apple.TCC, and `tccutil` removes it without sudo
 * (burrow #181, breeze #3380, chat-on-steroids #258); at worst it does so for every account.
 */
export function tccutil([verb, service, id], environment) {
  if (verb !== 'reset') return { code: 64, stderr: 'tccutil: Usage: tccutil reset SERVICE [BUNDLE_ID]' };
  // trycua/cua #2376: a bundle has an identifier only if LaunchServices has seen it and it still exists.
  const app = readJson(environment, 'launch-services.json', {})[id];
  if (app === undefined || !existsSync(app)) {
    const reason = "The operation couldn't be completed. (OSStatus error -10814.)";
    return { code: 70, stderr: `tccutil: No such bundle identifier "${id}": ${reason}` };
  }
  const [place, file] =
    service === 'SystemPolicyAllFiles' ? [wholeMac(environment), 'tcc-of-all.json'] : [environment, 'tcc.json'];
  const { [service]: _, ...others } = readJson(place, file, {});
  writeJson(place, file, others);
  return { code: 0, stdout: `Successfully reset ${service} approval status for ${id}` };
}

/** Prints lines as tccd writes them for one question about Messages (formats from agterm #396 and burrow #181). */
export function log(args, environment) {
  if (args[0] !== 'show') return { code: 64, stderr: 'log: Unrecognized subcommand' };
  const line = (text) => `2026-01-05 11:42:30.123 Df tccd[173:1f2] [com.apple.TCC:access] ${text}`;
  const binary = `${environment.HOME}/Applications/Postern.app/Contents/MacOS/Postern`;
  const responsible = `{TCCDProcess: identifier=local.postern, pid=41, auid=501, euid=501, binary_path=${binary}}`;
  const requesting = '{TCCDProcess: identifier=com.apple.osascript, pid=42, auid=501, binary_path=/usr/bin/osascript}';
  return {
    code: 0,
    stdout: [
      'Timestamp               Ty Process[PID:TID]',
      line(
        `AUTHREQ_ATTRIBUTION: msgID=9.1, attribution={requesting={TCCDProcess: identifier=com.example.other, pid=7}}`,
      ),
      line(`AUTHREQ_RESULT: msgID=9.1, authValue=2, authReason=4, authVersion=1, error=(null),`),
      line(`AUTHREQ_ATTRIBUTION: msgID=41.7, attribution={responsible=${responsible}, requesting=${requesting}, },`),
      line(`AUTHREQ_SUBJECT: msgID=41.7, subject=local.postern,`),
      line(
        `AUTHREQ_PROMPTING: msgID=41.7, service=kTCCServiceAppleEvents, subject=Sub:{local.postern}Resp:${responsible},`,
      ),
      line(`AUTHREQ_RESULT: msgID=41.7, authValue=2, authReason=3, authVersion=1, error=(null),`),
    ].join('\n'),
  };
}
