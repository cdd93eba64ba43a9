export function onThisMac(command: string): string;
