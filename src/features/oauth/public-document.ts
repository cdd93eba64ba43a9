import type { IncomingMessage, RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { errorCode } from '../../core/model/errors.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import { type AddressRule, HostLookup } from '../../core/runtime/host-lookup.ts';
import { limitInterimAnswers } from '../../core/runtime/interim-answers.ts';
import { isPublicAddress } from '../../core/runtime/public-address.ts';

const MAX_BYTES = 64 * 1024;
const TIMEOUT_MS = 5000;

interface PublicDocumentParts {
  readonly clock: Clock;
  /** Decides which addresses may be connected to. Default: only public ones. */
  readonly isAddressAllowed?: AddressRule;
  readonly request?: (url: URL, options: RequestOptions) => ReturnType<typeof httpsRequest>;
}

/**
 * Reads a JSON document of at most 64 KB from a public https address within 5 s, without following redirects. Rejects
 * with the reason.
 */
export function readPublicDocument(url: URL, parts: PublicDocumentParts): Promise<unknown> {
  const isAllowed = parts.isAddressAllowed ?? ((_host, address) => isPublicAddress(address));
  const { request = httpsRequest, clock } = parts;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve, reject) => {
    // `HostLookup` checks only names that it looks up. An IP address in the URL needs no lookup, so it is checked here.
    if (isIP(host) !== 0 && !isAllowed(host, host)) {
      reject(new Error('its address is private'));
      return;
    }
    const { lookup } = new HostLookup(isAllowed);
    const asked = request(url, { lookup, headers: { Accept: 'application/json' }, agent: false });
    const cancel = clock.after(TIMEOUT_MS, () => asked.destroy(new Error('it did not answer within 5 s')));
    asked.once('close', cancel);
    limitInterimAnswers(asked, new Error('its server sends interim answers without end'));
    const fail = (error: Error): void => reject(obstacle(error));
    asked.on('error', fail);
    asked.once('response', (response) => void textOf(response).then(JSON.parse).then(resolve, fail));
    asked.end();
  });
}

/** Hides the addresses and ports in connection errors, because the client that named the document may be a stranger. */
function obstacle(error: Error): Error {
  const code = errorCode(error);
  if (code === 'private_address') return new Error('its address is private');
  return code === undefined ? error : new Error('it cannot be reached');
}

async function textOf(response: IncomingMessage): Promise<string> {
  if (response.statusCode !== 200) {
    response.destroy();
    throw new Error(`its server answered ${response.statusCode ?? 0}`);
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
    if (bytes > MAX_BYTES) {
      response.destroy();
      throw new Error('it is larger than 64 KB');
    }
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}
