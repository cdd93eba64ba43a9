/**
 * Modules that stand alone outside the bundles, each with everything that it needs. The release contains no other
 * modules.
 */
export const STANDALONE = [
  'src/reader-worker',
  'src/client/postern-client',
  'src/core/mac/open-once',
  'src/features/simulator/messages-process',
  'installer/proof',
];
