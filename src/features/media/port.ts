// The part of media that other features use.
export { Conversions } from './conversions.ts';
export { MediaCache } from './media-cache.ts';
