export function switchOff(environment: Readonly<Record<string, string>>): void;
