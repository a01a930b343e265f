type Directories = Readonly<Record<string, string>>

/** The same path, in our words; as it is when no other word begins it. */
export function ownPath(directories: Directories, path: string): string {
  for (const other in directories)
    if (isBelow(path, other)) return `${directories[other]}${path.slice(other.length)}`
  return path
}

/** A path of ours in the words of a caller who asked for `asked`. */
export function askedPath(directories: Directories, path: string, asked: string): string {
  for (const other in directories) {
    const own = directories[other]
    if (own !== undefined && isBelow(asked, other) && isBelow(path, own))
      return `${other}${path.slice(own.length)}`
  }
  return path
}

function isBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`)
}
