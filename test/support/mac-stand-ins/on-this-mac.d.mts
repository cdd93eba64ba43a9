export function onThisMac(command: string): string;
export function isNode(command: string): boolean;
