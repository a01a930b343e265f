type Directories = Readonly<Record<string, string>>

/** Replaces an alias in the first directory of a path by Reeve's name. */
export function canonicalPath(directories: Directories, path: string): string {
  for (const alias in directories)
    if (isBelow(path, alias)) return `${directories[alias]}${path.slice(alias.length)}`
  return path
}

/** Returns a canonical path with the directory name that the request for `requested` used. */
export function pathAsRequested(directories: Directories, path: string, requested: string): string {
  for (const alias in directories) {
    const directory = directories[alias]
    if (directory !== undefined && isBelow(requested, alias) && isBelow(path, directory))
      return `${alias}${path.slice(directory.length)}`
  }
  return path
}

function isBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`)
}
