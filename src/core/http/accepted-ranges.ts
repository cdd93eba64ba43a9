/** A range of media types in an Accept header, or an encoding in Accept-Encoding, in lower case, without parameters. */
interface AcceptedRange {
  readonly range: string;
  /** False for a quality of 0, which refuses the range. */
  readonly isAccepted: boolean;
}

/** Returns what an Accept or Accept-Encoding header lists (RFC 9110, 12.5), in its order. */
export function acceptedRanges(accept: string): readonly AcceptedRange[] {
  return accept.split(',').map((part) => {
    const [range = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    const quality = parameters.map((one) => /^q\s*=\s*([\d.]+)$/.exec(one)?.[1]).find((one) => one !== undefined);
    return { range, isAccepted: quality === undefined || Number(quality) > 0 };
  });
}
