// The module exists only for macOS, so its own types are missing elsewhere. The part in use, from 2.5.0:
declare module 'node-mac-permissions' {
  const permissions: {
    getAuthStatus(type: 'full-disk-access'): 'authorized' | 'denied' | 'restricted' | 'not determined';
  };
  export default permissions;
}
