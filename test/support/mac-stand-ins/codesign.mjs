// codesign, for a bundle with one program. Signing replaces the Mach-O file by a script, so that it runs here.
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { hasFlag } from './state.mjs';

const MACH_O = 'cffaedfe';

export function codesign(args, environment) {
  const app = args.at(-1);
  const program = join(app, 'Contents', 'MacOS', 'Postern');
  if (args[0] === '--force') return sign(app, program, environment);
  const signature = readSignature(program);
  if (signature === undefined) return failed(`${app}: code object is not signed at all`);
  // An ad-hoc signature requires its own hash and nothing else.
  if (args[0] === '-d' && args[1] === '-r-') {
    return { code: 0, stdout: `# designated => cdhash H"${signature.cdhash}"`, stderr: `Executable=${program}` };
  }
  if (args[0] === '-dvvv') {
    const stderr = [
      `Executable=${program}`,
      'Identifier=local.postern',
      'Format=app bundle with Mach-O thin (arm64)',
      'CodeDirectory v=20400 size=514 flags=0x2(adhoc) hashes=13+3 location=embedded',
      `CDHash=${signature.cdhash}`,
      'Signature=adhoc',
      'Info.plist entries=13',
      'TeamIdentifier=not set',
      'Sealed Resources version=2 rules=13 files=1',
    ];
    return { code: 0, stderr: stderr.join('\n') };
  }
  if (sealOf(app, program) !== signature.seal) return failed(`${app}: a sealed resource is missing or invalid`);
  // Finder tags or a custom icon; only strict verification rejects them (Apple QA1940).
  if (args.includes('--strict') && hasFlag(environment, 'finder-info')) {
    return failed(`${app}: resource fork, Finder information, or similar detritus not allowed`);
  }
  return { code: 0 };
}

/** An ad-hoc signature has no time stamp: its hash depends only on the bytes of the bundle. */
function sign(app, program, environment) {
  if (hasFlag(environment, 'codesign-fails')) return failed(`${app}: errSecInternalComponent`);
  const bytes = readFileSync(program);
  if (bytes.subarray(0, 4).toString('hex') !== MACH_O)
    return failed(`${app}: main executable failed strict validation`);
  const seal = sealOf(app, program);
  const cdhash = createHash('sha256').update(bytes).update(seal).digest('hex').slice(0, 40);
  // Keeps a copy for tests that inspect what was signed.
  mkdirSync(join(environment.MAC_STAND_IN, 'signed'), { recursive: true });
  writeFileSync(join(environment.MAC_STAND_IN, 'signed', cdhash), bytes);
  writeFileSync(program, signedNode(cdhash, seal));
  chmodSync(program, 0o755);
  return { code: 0 };
}

/** Returns a Node, unless something in it was changed. */
function signedNode(cdhash, seal) {
  return `#!/bin/sh\n# cdhash ${cdhash}\n# seal ${seal}\nexec "${process.execPath}" "$@"\n`;
}

export function isSignedNode(program) {
  const signature = readSignature(program);
  return signature !== undefined && readFileSync(program, 'utf8') === signedNode(signature.cdhash, signature.seal);
}

export function readSignature(program) {
  const text = existsSync(program) ? readFileSync(program, 'latin1') : '';
  const cdhash = /^# cdhash (\w+)$/m.exec(text)?.[1];
  const seal = /^# seal (\w+)$/m.exec(text)?.[1];
  return cdhash === undefined || seal === undefined ? undefined : { cdhash, seal };
}

function sealOf(app, program) {
  const hash = createHash('sha256');
  const files = readdirSync(app, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => file !== program);
  for (const file of files.sort()) hash.update(`${relative(app, file)}\0`).update(readFileSync(file));
  return hash.digest('hex');
}

function failed(stderr) {
  return { code: 1, stderr };
}
