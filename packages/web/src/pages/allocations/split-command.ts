/** Splits a command line at spaces outside quotes. The command runs without a shell. */
export function splitCommand(line: string): string[] {
  const words = line.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? []
  return words.map((word) => word.replaceAll(/"([^"]*)"|'([^']*)'/g, '$1$2'))
}
