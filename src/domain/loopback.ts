/** Reports whether a host, as URLs or settings spell it, is a loopback name or address. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|\[::1\]|::1|127(?:\.\d{1,3}){3})$/i.test(host);
}
