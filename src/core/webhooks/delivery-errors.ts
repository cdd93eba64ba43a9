import { DELIVERY_ERRORS, type DeliveryError, type DeliveryErrorCounts } from '../model/delivery-error.ts';
import { errorCode } from '../model/errors.ts';
import { hostClassOf, localNetworkAdvice } from '../model/local-network.ts';
import { lookupTable } from '../model/lookup-table.ts';

/**
 * Counts failed attempts by the class of the receiver's host (loopback, private or other) and by a code from the fixed
 * list `DELIVERY_ERRORS`. No host, path or answer is kept.
 */
export class DeliveryErrors {
  readonly #counts: Record<keyof DeliveryErrorCounts, Partial<Record<DeliveryError, number>>> = {
    loopback: {},
    private: {},
    other: {},
  };

  /** Counts a failed attempt. `failure` is the status of an answer outside 2xx, or the code of the error. */
  note(url: string, failure: number | string): void {
    const counts = this.#counts[hostClassOf(url)];
    const error = deliveryErrorOf(failure);
    counts[error] = (counts[error] ?? 0) + 1;
  }

  /** The counts since the service started. */
  get counts(): DeliveryErrorCounts {
    return structuredClone(this.#counts);
  }
}

function deliveryErrorOf(failure: number | string): DeliveryError {
  const code = typeof failure === 'number' ? `${Math.floor(failure / 100)}xx` : failure;
  const known = DELIVERY_ERRORS.find((one) => one === code);
  if (known !== undefined) return known;
  if (code.startsWith('HPE_')) return 'http';
  return isTlsFailure(code) ? 'tls' : 'other';
}

function isTlsFailure(code: string): boolean {
  return /CERT|SIGNED|ERR_TLS|ERR_SSL|EPROTO/.test(code);
}

export const OWN_PORT_REFUSAL = 'A webhook of a limited key may not post to Postern itself.';

/** Codes of certificates that no known authority has signed. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

const SENTENCES: Readonly<Record<string, string>> = lookupTable({
  ECONNREFUSED: 'The receiver refused the connection.',
  ECONNRESET: 'The receiver closed the connection without an answer.',
  EPIPE: 'The receiver closed the connection without an answer.',
  ETIMEDOUT: 'The receiver did not accept the connection in time.',
  ENOTFOUND: 'The host name of the receiver is unknown.',
  EAI_AGAIN: 'The host name of the receiver could not be looked up.',
  EHOSTUNREACH: 'The receiver cannot be reached.',
  ENETUNREACH: 'The network of the receiver cannot be reached.',
  private_address: 'The host name of the receiver resolves to a private address.',
  interim_answers: 'The receiver sends interim answers (1xx) without end.',
  own_address: OWN_PORT_REFUSAL,
});

/**
 * Returns one sentence about an attempt that got no answer. The sentence never contains the URL, whose path may be a
 * secret (decision A6). It mentions the local network if macOS may have blocked the attempt.
 */
export function failureSentence(error: unknown, url = ''): string {
  const code = errorCode(error) ?? 'unknown';
  const advice = localNetworkAdvice(code, [url]);
  return advice === undefined ? sentenceFor(code, error) : `${sentenceFor(code, error)} ${advice}`;
}

function sentenceFor(code: string, error: unknown): string {
  const sentence = SENTENCES[code];
  if (sentence !== undefined) return sentence;
  // The error of the time limit in `poster.ts`. Its message states how long the attempt waited.
  if (code === 'no_answer' && error instanceof Error) return error.message;
  if (code.startsWith('HPE_')) return `The answer of the receiver is not HTTP (${code}).`;
  if (UNTRUSTED.has(code)) {
    return `The certificate of the receiver is not trusted (${code}). \`webhooks.ca_file\` can name the certificate of its authority.`;
  }
  if (isTlsFailure(code)) return `The TLS connection failed (${code}).`;
  return `The request failed (${code}).`;
}

/** Returns one sentence about an answer outside 2xx. */
export function refusalSentence(status: number): string {
  const what = `The receiver answered ${status}`;
  return status >= 300 && status < 400 ? `${what}; redirects are not followed.` : `${what}.`;
}
