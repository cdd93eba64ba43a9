/** Returns the path of an answer's next page, relative to the API; undefined on the last page. */
export function nextOf({ url, headers }: { readonly url: string; readonly headers: Headers }): string | undefined {
  const [, link] = /^<([^<>]+)>; rel="next"$/.exec(headers.get('link') ?? '') ?? [];
  return link && new URL(link, url).href.replace(/^.*?\/api\/v1/, '');
}
