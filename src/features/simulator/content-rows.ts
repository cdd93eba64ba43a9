import { readFileSync } from 'node:fs';

/**
 * An invented row with one kind of content, as Messages writes it: the columns of its message, and of its attachment if
 * it has one. Blobs are base64. The tests' content-vectors.json has more rows, each with its meaning.
 */
export interface SimulatedContent {
  readonly name: string;
  readonly columns: Readonly<Record<string, string | number>>;
  readonly blobs: Readonly<Record<string, string>>;
  readonly attachment?: {
    readonly columns: Readonly<Record<string, string | number>>;
    readonly blobs: Readonly<Record<string, string>>;
  };
}

export const CONTENT_ROWS = readFileSync(new URL('./content-rows.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as SimulatedContent);

/** `payload_data` of a vote for the first option of the content `poll with a title`, in base64. */
export const VOTE_PAYLOAD =
  'YnBsaXN0MDDUAQIDBAUGODtZJGFyY2hpdmVyWCRvYmplY3RzVCR0b3BYJHZlcnNpb25fEA9OU0tleWVkQXJjaGl2ZXKvEBAHCBkaGxwdHh8gIScoLjI1VSRudWxs0wkKCwwNE1YkY2xhc3NXTlMua2V5c1pOUy5vYmplY3RzgA+lDg8QERKAAoADgASABYAGpRQVFhcYgAeACIAJgAqADVJhblZsZHRleHRac2VuZEFzVGV4dFNVUkxfEBFzZXNzaW9uSWRlbnRpZmllclVQb2xsc1tTZW50IGEgcG9sbAnTCSIjJCUmV05TLmJhc2VbTlMucmVsYXRpdmWADIAAgAtfEOZkYXRhOixleUoyWlhKemFXOXVJam9nTVN3Z0ltbDBaVzBpT2lCN0luWnZkR1Z6SWpvZ1czc2lkbTkwWlU5d2RHbHZia2xrWlc1MGFXWnBaWElpT2lBaU1EQXdNREF3TXpNdE1EQXdNQzAwTURBd0xUZ3dNREF0TURBd01EQXdNREF3TURNeklpd2dJbkJoY25ScFkybHdZVzUwU0dGdVpHeGxJam9nSWlzeE5UVTFNREV3TVNJc0lDSnpaWEoyWlhKV2IzUmxWR2x0WlNJNklEZ3dNREF3TURBd01DNDFmVjE5ZlE9PdIpKissWCRjbGFzc2VzWiRjbGFzc25hbWWiLC1VTlNVUkxYTlNPYmplY3TSCS8wMVxOUy51dWlkYnl0ZXOADk8QEAAAAAAAAAAAAAAAAAAAAADSKSozNKI0LVZOU1VVSUTSKSo2N6I3LVxOU0RpY3Rpb25hcnnROTpUcm9vdIABEgABhqAACAARABsAJAApADIARABXAF0AZABrAHMAfgCAAIYAiACKAIwAjgCQAJYAmACaAJwAngCgAKMAqgC1ALkAzQDTAN8A4ADnAO8A+wD9AP8BAQHqAe8B+AIDAgYCDAIVAhoCJwIpAjwCQQJEAksCUAJTAmACYwJoAmoAAAAAAAACAQAAAAAAAAA8AAAAAAAAAAAAAAAAAAACbw==';
