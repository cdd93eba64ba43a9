import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';

const BLOCK = /-----BEGIN (?:TRUSTED )?CERTIFICATE-----[^-]*-----END (?:TRUSTED )?CERTIFICATE-----/g;

/** The certificates of a file in PEM, or what is wrong with the file. */
export type Certificates = { readonly certificates: readonly string[] } | { readonly mistake: string };

/**
 * Reads the certificates in a PEM file; there are none without a file. Reports the first one that cannot be read, by
 * its place in the file.
 */
export function certificatesIn(path: string): Certificates {
  if (path === '') return { certificates: [] };
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    return { mistake: `the file cannot be read (${(error as Error).message})` };
  }
  const certificates = text.match(BLOCK) ?? [];
  if (certificates.length === 0) {
    return { mistake: 'the file contains no certificate in PEM, which begins with -----BEGIN CERTIFICATE-----' };
  }
  for (const [index, certificate] of certificates.entries()) {
    try {
      new X509Certificate(certificate);
    } catch {
      return { mistake: `certificate ${index + 1} of ${certificates.length} in the file is damaged` };
    }
  }
  return { certificates };
}
