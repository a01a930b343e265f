/** Arguments as a line that a shell takes back into the same arguments. */
export function shellLine(args: readonly string[]): string {
  return args.map(shellWord).join(' ')
}

function shellWord(arg: string): string {
  if (/^[\w@%+=:,./-]+$/.test(arg)) return arg
  return `'${arg.replaceAll("'", `'\\''`)}'`
}
