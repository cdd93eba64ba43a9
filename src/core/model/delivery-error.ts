import type { HostClass } from './local-network.ts';

/**
 * Reasons why a delivery to a webhook failed. `no_answer`: Postern's own time limit ended the attempt. `http`: the
 * answer is not HTTP.
 */
export const DELIVERY_ERRORS = [
  'EACCES',
  'EADDRNOTAVAIL',
  'EAI_AGAIN',
  'EAI_NONAME',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENODATA',
  'ENOTFOUND',
  'EPERM',
  'EPIPE',
  'ETIMEDOUT',
  '3xx',
  '4xx',
  '5xx',
  'http',
  'tls',
  'no_answer',
  'other',
] as const;
export type DeliveryError = (typeof DELIVERY_ERRORS)[number];
export type DeliveryErrorCounts = Readonly<Record<HostClass, Readonly<Partial<Record<DeliveryError, number>>>>>;
