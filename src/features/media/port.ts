// What other features use of the conversions.
export { Conversions } from './conversions.ts';
export { MediaCache } from './media-cache.ts';
