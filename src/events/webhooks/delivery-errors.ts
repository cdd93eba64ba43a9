import { DELIVERY_ERRORS, type DeliveryError, type DeliveryErrorCounts } from '../../domain/diagnostics.ts';
import { hostClassOf } from '../../domain/local-network.ts';

/** Counts failed attempts by the class of their host and a code of a closed set: no host, path or answer is kept. */
export class DeliveryErrors {
  readonly #counts: Record<keyof DeliveryErrorCounts, Partial<Record<DeliveryError, number>>> = {
    loopback: {},
    private: {},
    other: {},
  };

  /** `failure` is the status of an answer outside 2xx, or the code of the error. */
  note(url: string, failure: number | string): void {
    const counts = this.#counts[hostClassOf(url)];
    const error = deliveryErrorOf(failure);
    counts[error] = (counts[error] ?? 0) + 1;
  }

  /** Since the service started. */
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

export function isTlsFailure(code: string): boolean {
  return /CERT|SIGNED|ERR_TLS|ERR_SSL|EPROTO/.test(code);
}
