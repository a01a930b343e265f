/** Of `ENOENT: no such file or directory, open '…'` only the words say something to a person. */
export function reasonOf(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  return message.replace(/^[A-Z]+: /, '').replace(/, \w+( '.*')?$/, '')
}
