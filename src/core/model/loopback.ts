const OCTET = String.raw`(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`;
const LOOPBACK = new RegExp(String.raw`^(?:localhost|\[::1\]|::1|127(?:\.${OCTET}){3})$`, 'i');

/** Reports whether a host, as URLs or settings spell it, is a loopback name or address. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}
