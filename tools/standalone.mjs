/** Modules that stand alone outside the bundles, each with everything it needs. The release has no others. */
export const STANDALONE = [
  'src/app/reader-worker',
  'src/client/postern-client',
  'src/mac/system/open-once',
  'src/simulator/messages-process',
  'installer/proof',
];
