/**
 * Returns the text of a system error such as `ENOENT: no such file or directory, open '…'`, without
 * its code and path.
 */
export function systemErrorReason(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  return message.replace(/^[A-Z]+: /, '').replace(/, \w+( '.*')?$/, '')
}
