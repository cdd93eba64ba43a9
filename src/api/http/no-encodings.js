// Takes the place of iconv-lite in the bundle: half a megabyte of tables of encodings, for which raw-body would use it.
// Bodies are read as bytes.
export function getDecoder() {
  throw new Error('Bodies are read as bytes.');
}
