/** A range of media types in an Accept header, in lower case, without parameters. */
interface AcceptedRange {
  readonly range: string;
  /** False for a quality of 0, which refuses the range. */
  readonly isAccepted: boolean;
}

/** Returns the ranges in an Accept header (RFC 9110, 12.5.1), in their order. */
export function acceptedRanges(accept: string): readonly AcceptedRange[] {
  return accept.split(',').map((part) => {
    const [range = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    const quality = parameters.map((one) => /^q\s*=\s*([\d.]+)$/.exec(one)?.[1]).find((one) => one !== undefined);
    return { range, isAccepted: quality === undefined || Number(quality) > 0 };
  });
}
