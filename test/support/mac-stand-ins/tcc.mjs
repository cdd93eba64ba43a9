// LaunchServices' register of bundles and the privacy settings (TCC), which look bundles up in it.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'plist';
import { readJson, writeJson } from './state.mjs';

export function lsregister([option, app], environment) {
  const file = join(app ?? '', 'Contents', 'Info.plist');
  if (option !== '-f' || !existsSync(file)) return { code: 1, stderr: `failed to scan ${app}: -10811` };
  const registered = readJson(environment, 'launch-services.json', {});
  writeJson(environment, 'launch-services.json', {
    ...registered,
    [parse(readFileSync(file, 'utf8')).CFBundleIdentifier]: app,
  });
  return { code: 0 };
}

/** Grants are kept as `service: cdhash`: TCC goes on keeping the hash of a bundle that was removed or replaced (F5). */
export function tccutil([verb, service, id], environment) {
  if (verb !== 'reset') return { code: 64, stderr: 'tccutil: Usage: tccutil reset SERVICE [BUNDLE_ID]' };
  // F6, trycua/cua #2376: only a bundle that LaunchServices has seen and that is still there has an identifier.
  const app = readJson(environment, 'launch-services.json', {})[id];
  if (app === undefined || !existsSync(app)) {
    const reason = "The operation couldn't be completed. (OSStatus error -10814.)";
    return { code: 70, stderr: `tccutil: No such bundle identifier "${id}": ${reason}` };
  }
  const { [service]: _, ...others } = readJson(environment, 'tcc.json', {});
  writeJson(environment, 'tcc.json', others);
  return { code: 0, stdout: `Successfully reset ${service} approval status for ${id}` };
}
