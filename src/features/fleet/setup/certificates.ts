import { copyFileSync, existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { AppError } from '../../../core/model/errors.ts';
import type { CommandResult, RunCommand } from '../../../core/runtime/command.ts';

const AUTHORITY_DAYS = '3650';
const SERVER_DAYS = '825';

const AUTHORITY_EXTENSIONS = `[req]
distinguished_name = name
x509_extensions = authority
prompt = no
[name]
CN = Postern fleet
[authority]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
`;

/** The files of a certificate and its key. */
export interface CertificatePaths {
  readonly certificate: string;
  readonly key: string;
}

/**
 * Makes a certificate for each host with this machine's openssl. If there is no authority, makes one first. If a
 * certificate cannot be made, replaces no file and throws AppError `certificates_not_made`.
 */
export async function makeCertificates(
  authority: CertificatePaths,
  servers: readonly (CertificatePaths & { readonly host: string })[],
  folder: string,
  run: RunCommand,
): Promise<void> {
  const work = mkdtempSync(join(folder, '.certificates-'));
  const file = (name: string, text: string): string => {
    writeFileSync(join(work, name), text, { mode: 0o600 });
    return join(work, name);
  };
  const openssl = async (...args: readonly string[]): Promise<void> => {
    const result = await run('openssl', args, { cwd: work });
    if (result.code !== 0) throw failure(result);
  };
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  try {
    if (existsSync(authority.key)) {
      copyFileSync(authority.key, join(work, 'ca.key'));
      copyFileSync(authority.certificate, join(work, 'ca.pem'));
    } else {
      // Creates each key file with mode 0600 first, so that openssl never creates one that others can read.
      file('ca.key', '');
      await openssl(
        ...['req', '-x509', ...newKey, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', AUTHORITY_DAYS],
        ...['-sha256', '-config', file('ca.cnf', AUTHORITY_EXTENSIONS)],
      );
    }
    for (const [index, { host }] of servers.entries()) {
      const key = file(`${index}.key`, '');
      // A common name has at most 64 characters. It may be cut off, because clients read the alternative name.
      const name = `[name]\nCN = ${host.slice(0, 64)}\n`;
      const request = file('request.cnf', `[req]\ndistinguished_name = name\nprompt = no\n${name}`);
      const extensions = file('server.cnf', extensionsFor(host));
      await openssl('req', '-new', ...newKey, '-keyout', key, '-out', 'server.csr', '-config', request);
      await openssl(
        ...['x509', '-req', '-in', 'server.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial'],
        ...['-out', `${index}.pem`, '-days', SERVER_DAYS, '-sha256', '-extfile', extensions],
      );
    }
    for (const [index, { certificate, key }] of servers.entries()) {
      renameSync(join(work, `${index}.key`), key);
      renameSync(join(work, `${index}.pem`), certificate);
    }
    renameSync(join(work, 'ca.key'), authority.key);
    renameSync(join(work, 'ca.pem'), authority.certificate);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Returns the extensions of a server's certificate. In a cluster, each server is also a client of the others. */
function extensionsFor(host: string): string {
  return [
    'basicConstraints = CA:FALSE',
    'keyUsage = critical, digitalSignature',
    'extendedKeyUsage = serverAuth, clientAuth',
    `subjectAltName = ${isIP(host) === 0 ? 'DNS' : 'IP'}:${host}`,
    '',
  ].join('\n');
}

function failure({ trouble, stderr }: CommandResult): AppError {
  const why =
    trouble === 'missing' ? 'openssl is not installed' : `openssl failed: ${stderr.trim().split('\n').at(-1)}`;
  return new AppError('certificates_not_made', `No certificates were made, because ${why}.`, {
    hint: 'Install openssl, and run the command again.',
  });
}
