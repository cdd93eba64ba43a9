/** The file name in a Content-Disposition header from Node; undefined if there is none. */
export function fileNameIn(header: string): string | undefined {
  const extended = /;\s*filename\*\s*=\s*UTF-8'[\w-]*'([^\s;]+)/i.exec(header)?.[1];
  if (extended !== undefined) {
    try {
      return decodeURIComponent(extended);
    } catch {
      return undefined;
    }
  }
  const [, quoted, plain] = /;\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s";]+))/i.exec(header) ?? [];
  const name = quoted?.replaceAll(/\\(["\\])/g, '$1') ?? plain;
  return name === undefined || name === '' ? undefined : inUtf8(name);
}

/** Node decodes header bytes as Latin-1; clients write UTF-8. */
function inUtf8(latin1: string): string {
  const bytes = Buffer.from(latin1, 'latin1');
  const text = bytes.toString('utf8');
  return text.includes('\uFFFD') ? latin1 : text;
}
