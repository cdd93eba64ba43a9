// node-mac-permissions is installed only on macOS, so its own types are missing elsewhere. Declares the part that
// Postern uses, as of version 2.5.0.
declare module 'node-mac-permissions' {
  const permissions: {
    getAuthStatus(type: 'full-disk-access'): 'authorized' | 'denied' | 'restricted' | 'not determined';
  };
  export default permissions;
}
