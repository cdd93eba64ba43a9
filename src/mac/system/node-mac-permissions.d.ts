// The module exists for macOS only, so its own types are not there elsewhere. What is used of it, read from 2.5.0:
declare module 'node-mac-permissions' {
  const permissions: {
    getAuthStatus(type: 'full-disk-access'): 'authorized' | 'denied' | 'restricted' | 'not determined';
  };
  export default permissions;
}
