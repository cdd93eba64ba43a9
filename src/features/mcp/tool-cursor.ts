import { AppError } from '../../core/model/errors.ts';

/** Encodes a cursor as text that is opaque to clients. */
export function cursorText(value: Readonly<Record<string, string | undefined>>): string {
  return Buffer.from(JSON.stringify(value), 'utf8').toString('base64url');
}

/** Decodes the text of `cursorText`. Throws `invalidCursor` for any other text. */
export function readToolCursor(text: string): Readonly<Record<string, string | undefined>> {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    if (typeof value === 'object' && value !== null && Object.values(value).every((part) => typeof part === 'string')) {
      return value as Record<string, string>;
    }
  } catch {
    // Not ours.
  }
  throw invalidCursor();
}

export function invalidCursor(): AppError {
  return new AppError('invalid_cursor', 'Invalid cursor.', {
    status: 400,
    hint: 'Use the "next" from an earlier answer of the same tool, or omit the cursor.',
  });
}
