/** Functions on paths as strings with `/` separators; they do not access the file system. */

/** The last element: `.` for an empty path, `/` for the root. */
export function baseName(path: string): string {
  if (path === '') return '.'
  return path.split('/').findLast((name) => name !== '') ?? '/'
}

/** The cleaned path without its last element. */
export function directoryName(path: string): string {
  return cleanPath(path.slice(0, path.lastIndexOf('/') + 1))
}

/** Removes empty elements, `.` and resolvable `..`; returns `.` for an empty result. */
export function cleanPath(path: string): string {
  const root = path.startsWith('/') ? '/' : ''
  const names: string[] = []
  for (const name of path.split('/')) {
    if (name === '' || name === '.') continue
    if (name !== '..') names.push(name)
    else if (names.length > 0 && names.at(-1) !== '..') names.pop()
    else if (root === '') names.push(name)
  }
  return root + names.join('/') || '.'
}

export function joinPath(directory: string, path: string): string {
  return cleanPath(`${directory}/${path}`)
}
