type Directories = Readonly<Record<string, string>>

/** The path with an alias of its first directory replaced by Reeve's name. */
export function canonicalPath(directories: Directories, path: string): string {
  for (const other in directories)
    if (isBelow(path, other)) return `${directories[other]}${path.slice(other.length)}`
  return path
}

/** A canonical path under the directory name that the request for `requested` used. */
export function pathAsRequested(directories: Directories, path: string, requested: string): string {
  for (const other in directories) {
    const own = directories[other]
    if (own !== undefined && isBelow(requested, other) && isBelow(path, own))
      return `${other}${path.slice(own.length)}`
  }
  return path
}

function isBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`)
}
