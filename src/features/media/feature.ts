import { feature } from '../../core/feature.ts';

/** Converts attachments, on request, to a form that every client can show or play. */
export const media = feature({
  name: 'media',
  open: async (core) => (await import('./open.ts')).openMedia(core),
});
