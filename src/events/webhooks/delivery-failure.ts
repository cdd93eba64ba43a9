import { errorCode } from '../../domain/errors.ts';
import { localNetworkAdvice } from '../../domain/local-network.ts';

const SENTENCES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The receiver refused the connection.',
  ECONNRESET: 'The receiver closed the connection without an answer.',
  EPIPE: 'The receiver closed the connection without an answer.',
  ETIMEDOUT: 'The receiver did not accept the connection in time.',
  ENOTFOUND: 'The host name of the receiver is unknown.',
  EAI_AGAIN: 'The host name of the receiver could not be looked up.',
  EHOSTUNREACH: 'The receiver cannot be reached.',
  ENETUNREACH: 'The network of the receiver cannot be reached.',
};

/**
 * What went wrong with a try that got no answer, as one sentence. Never holds the url: its path may be a secret
 * (decision A6). Names Local Network where macOS may be the one that refused.
 */
export function failureSentence(error: unknown, url = ''): string {
  const code = errorCode(error) ?? 'unknown';
  const advice = localNetworkAdvice(code, [url]);
  return advice === undefined ? sentenceFor(code) : `${sentenceFor(code)} ${advice}`;
}

function sentenceFor(code: string): string {
  const sentence = SENTENCES[code];
  if (sentence !== undefined) return sentence;
  if (code.startsWith('HPE_')) return `The answer of the receiver is not HTTP (${code}).`;
  if (/CERT|SIGNED|ERR_TLS|ERR_SSL|EPROTO/.test(code)) return `The TLS connection failed (${code}).`;
  return `The request failed (${code}).`;
}

/** What an answer outside 2xx means, as one sentence. */
export function refusalSentence(status: number): string {
  const what = `The receiver answered ${status}`;
  return status >= 300 && status < 400 ? `${what}; redirects are not followed.` : `${what}.`;
}
